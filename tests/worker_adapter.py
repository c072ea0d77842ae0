"""A worker adapter that does what its questions say. Run by a bare interpreter: no rejudge here.

say TEXT     answer TEXT          media     say what arrived     where    say where it runs
die          end the process      hang      never answer         raise    raise an error
as CODE      reply with the value of CODE, in which ``ask`` and ``np`` are known
wait         until a file of the test appears
sleep in C   hang without ever letting Python run, with a child that sleeps, too
"""

import ctypes
import os
import subprocess
import sys
import time
import wave
from pathlib import Path


class Scripted:
    def __init__(self, card):
        self.card = card
        self.max_batch = card.settings.get("max_batch", 1)

    def generate(self, asks):
        questions = "; ".join(ask.question for ask in asks)
        write(self.card.settings["log"], f"{len(asks)} {os.getpid()} {questions}\n")
        if len(asks) > 1 and any(ask.question == "too many" for ask in asks):
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return [self._answer(ask, ask.question) for ask in asks]

    def _answer(self, ask, question):
        if question == "die":
            print("about to die", file=sys.stderr, flush=True)
            os._exit(7)
        if question == "die by signal":
            os.kill(os.getpid(), 11)
        if question == "hang":
            time.sleep(3600)
        if question == "sleep in C":
            subprocess.Popen(["sleep", "3600"])
            write(self.card.settings["log"] + ".hung", "now")
            ctypes.PyDLL(None).sleep(3600)  # PyDLL keeps the interpreter's lock
        if question == "wait":
            write(self.card.settings["log"] + ".waits", "now")
            while not Path(self.card.settings["log"] + ".go").exists():
                time.sleep(0.01)
        if question == "raise":
            raise KeyError("no such tensor\nat all")
        if question == "exit":
            sys.exit("the library has had enough")
        if question == "garbage":
            os.write(self._pipe(), b"\x00\xff\xfe{garbage}\n")
        if question == "another's answer":
            os.write(
                self._pipe(), b'{"op": "replies", "replies": [{"id": 999, "outcome": "ok"}]}\n'
            )
        if question == "noise":
            print("noise on stdout", flush=True)
            os.system("echo noise of a child")
            os.write(1, b'{"op": "replies", "replies": []}\n')
        if question == "read stdin":
            return ask.reply(repr(sys.stdin.read()))
        if question == "say much":
            return ask.reply("\u00e9" * 2_000_000)
        if question == "say half a pair":
            return ask.reply("a\ud83d\ude00b\ud800c")
        if question.startswith("as "):
            import numpy as np

            return eval(question[3:], {"ask": ask, "np": np})
        if question.startswith("say "):
            return ask.reply(question[4:], input_tokens=11, output_tokens=2)
        if question == "too long":
            return ask.failed("context_overflow", "9999 tokens")
        if question == "nonsense outcome":
            return ask.failed("very_bad", "it is")
        if question == "long":
            return ask.reply("x", output_tokens=ask.max_tokens)
        if question == "where":
            return ask.reply(where())
        if question == "media":
            return ask.reply(self._media(ask))
        return ask.reply("done: " + question)

    def _media(self, ask):
        with wave.open(ask.sound.wav()) as file:
            heard = file.getframerate(), file.getnchannels(), file.getnframes()
        return repr(
            {
                "pixels": ask.video.pixels.tolist(),
                "times_s": ask.video.times_s,
                "samples": ask.sound.samples[:3].tolist(),
                "wav": heard,
                "sampling": (ask.temperature, ask.top_p, ask.max_tokens, ask.seed),
                "system": ask.system,
            }
        )

    def _pipe(self):
        # As a library would that writes to whatever is open: the pipe that answers go through.
        import json

        return json.loads(sys.argv[1])["answers"]


def write(path, text):
    with Path(path).open("a") as file:
        file.write(text)


def where():
    importable = []
    for name in ("msgspec", "infer", "serve", "numpy"):
        try:
            __import__(name)
            importable.append(name)
        except ImportError:
            pass
    return f"{sys.executable} {','.join(importable)} {os.environ.get('PYTHONPATH')}"


def load(card):
    script = card.settings
    write(script["log"], f"load {os.getpid()} {card.checkpoint} {card.trust_remote_code}\n")
    if script.get("die_at_load") == "always":
        print("segmentation fault, sort of", file=sys.stderr, flush=True)
        os._exit(9)
    if script.get("die_at_load") == "later" and Path(script["log"]).read_text().count("\n") > 1:
        os._exit(9)
    if script.get("hang_at_load"):
        time.sleep(3600)
    if script.get("fail_at_load"):
        raise OSError("the weights are not there")
    return Scripted(card)
