"""A decoder that crashes or hangs costs the item it decodes, and nothing else.

The child process finds a ``sitecustomize`` of these tests, which makes its decoder do by a file's
name what real ones do by a file's content: crash.mp4, hang.mp4 and so on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cache.request import Media, Message, Preprocessing, Request, Rung, Text
from infer.errors import EngineFailed
from infer.media import apart
from infer.media.apart import at_rung, prepare_apart, time_limit_s
from infer.media.decode import Prepared, prepare
from infer.media.sound import keep_chunks
from tests.clips import make_clip, read_number

ROOT = Path(__file__).parent.parent
DECODERS = textwrap.dedent("""
    import os, signal, sys, time

    def break_decoder():
        from infer.media import decode
        real = decode.prepare_media

        def breaking(media, asked, files, recent):
            path = next(iter(files.values()))
            name = os.path.basename(path)
            if name == "crash.mp4":
                os.kill(os.getpid(), signal.SIGSEGV)
            if name == "exit.mp4":
                os._exit(3)
            if name == "hang.mp4":
                time.sleep(1000)
            if name == "bug.mp4":
                raise IndexError("an index that is not there")
            if name == "once.mp4" and not os.path.exists(path + ".crashed"):
                open(path + ".crashed", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return real(media, asked, files, recent)

        decode.prepare_media = breaking

    if "infer.media.child" in sys.orig_argv:
        break_decoder()
""")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of clips whose names say what decoding them does."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(DECODERS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(hooks))
    monkeypatch.setattr(apart, "_child", apart.DecodingProcess())
    yield tmp_path
    apart._child.end()


def test_what_is_decoded_apart_is_what_is_decoded_here(tmp_path: Path) -> None:
    request, files = ask(make_clip(tmp_path / "clip.mp4"), kinds=("video", "audio"))

    there, here = prepare_apart(request, files), prepare(request, files)

    assert there.effective == here.effective
    assert np.array_equal(there.media[0].pixels, here.media[0].pixels)
    assert np.array_equal(there.media[1].samples, here.media[1].samples)
    there.media[0].pixels[0] = 0  # engines may work on it in place


@pytest.mark.parametrize(
    ("name", "happened"), [("crash.mp4", "SIGSEGV"), ("exit.mp4", "exit code 3")]
)
def test_a_crashing_decoder_costs_one_item_and_is_replaced(
    name: str, happened: str, folder: Path
) -> None:
    good = ask(make_clip(folder / "clip.mp4", frames=50))
    (folder / name).write_bytes(b"")

    before = prepare_apart(*good)
    crashed = prepare_apart(*ask(folder / name))
    after = prepare_apart(*good)

    assert crashed.error == f"{folder / name}: decoding it crashed twice ({happened})"
    assert (before.error, after.error) == ("", "")
    assert after.effective == before.effective


def test_a_hanging_decoder_costs_one_item_and_is_replaced(folder: Path) -> None:
    good = ask(make_clip(folder / "clip.mp4", frames=50))
    (folder / "hang.mp4").write_bytes(b"")

    hung = prepare_apart(*ask(folder / "hang.mp4"), timeout_s=0.5)
    after = prepare_apart(*good)

    expected = f"{folder / 'hang.mp4'}: decoding it took longer than 0.5 s and was ended"
    assert hung.error == expected
    assert hung.decode_s > 0.5
    assert after.error == ""


def test_a_crash_that_another_process_does_not_repeat_costs_nothing(folder: Path) -> None:
    make_clip(folder / "once.mp4", frames=50)

    assert prepare_apart(*ask(folder / "once.mp4")).error == ""
    assert (folder / "once.mp4.crashed").exists()


def test_an_error_nobody_thought_of_costs_one_item(folder: Path) -> None:
    (folder / "bug.mp4").write_bytes(b"")
    good = ask(make_clip(folder / "clip.mp4", frames=50))

    failed, after = prepare_apart(*ask(folder / "bug.mp4")), prepare_apart(*good)

    assert failed.error == f"{folder / 'bug.mp4'}: IndexError: an index that is not there"
    assert after.error == ""


def test_where_decoding_cannot_start_no_item_is_blamed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "hooks" / "av.py").write_text("raise ImportError('broken')", encoding="utf-8")

    with pytest.raises(EngineFailed, match="the decoding process did not start \\(exit code 1\\)"):
        prepare_apart(*ask(folder / "clip.mp4"))


def test_a_hanging_decoder_ends_with_the_process_that_started_it(folder: Path) -> None:
    script = textwrap.dedent(f"""
        import sys, threading, time
        sys.path.insert(0, {str(folder / "hooks")!r})
        from infer.media import apart
        from tests.test_infer_media_apart import ask
        from pathlib import Path
        asked = ask(Path({str(folder / "hang.mp4")!r}))
        threading.Thread(target=apart.prepare_apart, args=asked, daemon=True).start()
        while apart._child._process is None or not apart._lock.locked():
            time.sleep(0.01)
        time.sleep(1.0)
        print(apart._child._process.pid, flush=True)
        time.sleep(1000)
    """)
    (folder / "hang.mp4").write_bytes(b"")
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert is_running(child)

    parent.kill()
    parent.communicate()

    until = time.monotonic() + 20
    while is_running(child):
        assert time.monotonic() < until, "the child outlived its parent"
        time.sleep(0.05)


def test_the_limit_grows_with_what_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(b"")
    os.truncate(path, 50_000_000)
    media = Media(kind="video", sha256="a" * 64, start_s=100.0, end_s=280.0)
    whole = Media(kind="video", sha256="a" * 64)
    files = {"a" * 64: str(path)}

    assert time_limit_s((media,), files) == 60 + 180
    assert time_limit_s((whole,), files) == 60 + 500  # 50 MB at 100 kB a second


def test_a_rung_has_the_frames_that_asking_for_so_many_gives(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", tone_s=8.0)
    kinds = ("video", "audio")
    request, files = ask(path, kinds=kinds, frames=8, end_s=8.0)
    whole = prepare_apart(request, files)

    rung = at_rung(request, files, whole, Rung(frames=4, audio_chunks=None))
    direct = prepare_apart(*ask(path, frames=4, end_s=8.0))

    assert [read_number(frame) for frame in rung.media[0].pixels] == [25, 75, 125, 175]
    assert np.array_equal(rung.media[0].pixels, direct.media[0].pixels)
    assert rung.effective["video"] == direct.effective["video"]
    assert np.array_equal(rung.media[1].samples, whole.media[1].samples)


def test_a_rung_keeps_its_chunks_of_the_whole_sound(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=400, rate=10)
    request, files = ask(path, kinds=("video", "audio"), end_s=40.0)
    whole = prepare_apart(request, files)

    rung = at_rung(request, files, whole, Rung(frames=2, audio_chunks=2))

    kept, _ = keep_chunks(whole.media[1], 2)
    assert np.array_equal(rung.media[1].samples, kept.samples)
    facts = rung.effective["audio"][0]
    assert (facts["chunks"], facts["chunks_in_all"], facts["seconds"]) == ([0, 3], 4, 20.0)
    assert whole.effective["audio"][0]["seconds"] == 40.0


def test_a_request_without_media_is_prepared_without_a_process() -> None:
    message = Message(role="user", parts=(Text(text="?"),))
    request = Request(engine="e", model="m", messages=(message,))

    assert prepare_apart(request, {}) == Prepared()


def ask(
    path: Path, *, kinds: tuple[str, ...] = ("video",), frames: int = 4, end_s: float = 2.0
) -> tuple[Request, dict[str, str]]:
    parts = [Media(kind=kind, sha256="a" * 64, start_s=0.0, end_s=end_s) for kind in kinds]
    request = Request(
        engine="e",
        model="m",
        messages=(Message(role="user", parts=(Text(text="?"), *parts)),),
        preprocessing=Preprocessing(frames=frames),
    )
    return request, {"a" * 64: str(path)}


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that ended and waits for its parent to notice has no memory.
    return "VmRSS" in Path(f"/proc/{pid}/status").read_text(encoding="ascii")
