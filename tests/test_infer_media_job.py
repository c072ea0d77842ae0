"""A whole job on Ray, in which decoding one segment crashes and decoding another hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cache.record import Outcome
from cache.store import Store
from tests.scripted_engine import calls, write_card

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
# Two segments of the bundled benchmark about which one question each is asked.
CRASHES, HANGS = (15.0, 46.667), (20.0, 51.333)
DECODERS = textwrap.dedent(f"""
    import os, signal, sys, time

    if "infer.media.child" in sys.orig_argv:
        from infer.media import decode
        real = decode.prepare_media

        def breaking(media, *others):
            segment = media[0].start_s, media[0].end_s
            if segment == {CRASHES}:
                os.kill(os.getpid(), signal.SIGSEGV)
            if segment == {HANGS}:
                time.sleep(1000)
            return real(media, *others)

        decode.prepare_media = breaking
""")


def test_a_crashing_and_a_hanging_decoder_cost_one_item_each(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(DECODERS, encoding="utf-8")
    card, log = write_card(tmp_path)
    of_films = card.read_text().replace('"captions"', '"video"')
    card.write_text(of_films + "decode_timeout_s = 12\n[preprocessing]\nframes = 2\n")
    command = [sys.executable, "-m", "rejudge", "infer", "demo", "--model", str(card), "--json"]
    command += ["--task", "choice", "--store", str(tmp_path / "store")]
    paths = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))

    job = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert job.returncode == 1, job.stderr
    summary = json.loads(job.stdout)
    assert summary["outcomes"] == {"ok": summary["requested"] - 2, "decode_error": 2}
    assert len(calls(log)) == summary["requested"] - 2 > 20
    failed = {
        record.request.messages[-1].parts[0].start_s: record.response.error
        for record in Store(tmp_path / "store").scan()
        if record.outcome is Outcome.DECODE_ERROR
    }
    assert "decoding it crashed twice (SIGSEGV)" in failed[CRASHES[0]]
    assert "decoding it took longer than 12 s and was ended" in failed[HANGS[0]]
