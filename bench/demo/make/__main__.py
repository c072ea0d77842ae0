"""Makes the whole bundled benchmark: ``python -m bench.demo.make``.

Replaces ``bench/demo/sonic-o1``, ``bench/demo/omniassist`` and ``bench/demo/events.json``. It takes
about three minutes on one core.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.demo import EVENTS, OMNIASSIST, SONIC_O1
from bench.demo.make.annotate import write_annotations, write_events
from bench.demo.make.assistant import write_labels
from bench.demo.make.canvas import Canvas
from bench.demo.make.dialogues import DIALOGUES
from bench.demo.make.encode import write_audio, write_video
from bench.demo.make.scenes import SCENES
from bench.demo.make.script import Dialogue, Scene
from bench.demo.make.timeline import FRAME_RATE, Play, lay_out


def main() -> None:
    """Write every file of the demo: first beside the old ones, which are replaced at the end."""
    staged = [(s, lay_out(s.beats, s.cast, sound=s.has_sound)) for s in SCENES]
    with tempfile.TemporaryDirectory(dir=EVENTS.parent, prefix=".making-") as folder:
        fresh = {path: Path(folder) / path.name for path in (SONIC_O1, OMNIASSIST, EVENTS)}
        write_annotations(fresh[SONIC_O1], staged)
        write_events(fresh[EVENTS], staged)
        write_labels(fresh[OMNIASSIST] / "labels.csv", DIALOGUES)
        for scene, play in staged:
            _film_scene(fresh[SONIC_O1] / "dataset", scene, play)
        for dialogue in DIALOGUES:
            _film_dialogue(fresh[OMNIASSIST], dialogue)
        for path, made in fresh.items():
            if path.is_dir():
                shutil.rmtree(path)
            made.replace(path)


def frames(
    draw: Callable[[Canvas, Play, float], None], play: Play
) -> Iterator[npt.NDArray[np.uint8]]:
    """Draw every frame of a scene, (270, 480, 3) uint8 each."""
    canvas = Canvas()
    for number in range(play.n_frames):
        draw(canvas, play, number / FRAME_RATE)
        yield canvas.finish(number, FRAME_RATE)


def _film_scene(dataset: Path, scene: Scene, play: Play) -> None:
    print(f"{scene.topic}/{scene.number}: {play.duration_s:.1f} s", file=sys.stderr)
    sound = play.sound if scene.has_sound else None
    video = dataset / "videos" / scene.topic / f"video_{scene.number}.mp4"
    write_video(video, frames(scene.draw, play), sound)
    if sound is not None:
        write_audio(dataset / "audios" / scene.topic / f"audio_{scene.number}.m4a", sound)


def _film_dialogue(root: Path, dialogue: Dialogue) -> None:
    for name, beats in (
        {turn.name: turn.beats for turn in dialogue.turns} | dialogue.extras
    ).items():
        play = lay_out(beats, dialogue.cast)
        print(f"{name}: {play.duration_s:.1f} s", file=sys.stderr)
        write_video(root / f"{name}.mp4", frames(dialogue.draw, play), play.sound)


if __name__ == "__main__":
    main()
