"""SONIC-O1's own files from laid-out scenes: metadata, captions and the three task files.

Every rule that a question must keep is checked here, at making time: the right answer lies inside
the segment, and stands in the relation that the question claims.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.demo.make.script import Choice, Moment, Scene
from bench.demo.make.timeline import Event, Play

NO_EVIDENCE = "(E) Not enough evidence"
_QUESTIONS_PER_ENTRY = 3
_SOON_S = 2.5
"""What happens immediately after something starts within this time."""

Staged = tuple[Scene, Play]
Json = dict[str, Any]


def write_annotations(root: Path, staged: Sequence[Staged]) -> None:
    """Write all text files of the tree at ``root``; media are written elsewhere."""
    for topic, group in groupby(staged, key=lambda pair: pair[0].topic):
        films = list(group)
        _write_json(
            root / "dataset/videos" / topic / "metadata_enhanced.json",
            [_metadata(scene, play) for scene, play in films],
        )
        for task, entries in (
            ("task1_summarization", [_summary_entry(*film) for film in films]),
            ("task2_mcq", [e for film in films for e in _choice_entries(*film)]),
            ("task3_temporal_localization", [e for f in films for e in _moment_entries(*f)]),
        ):
            _write_json(root / "vqa" / task / f"{topic}.json", _task_file(topic, task, entries))
        for scene, play in films:
            if scene.has_captions:
                path = root / "dataset/captions" / topic / f"caption_{scene.number}.srt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(_captions(scene, play), encoding="utf-8")


def write_events(path: Path, staged: Sequence[Staged]) -> None:
    """Write what happens in every video, with its times."""
    videos = [
        {
            "topic": scene.topic,
            "video_number": scene.number,
            "title": scene.title,
            "duration_s": round(play.duration_s, 3),
            "cuts": [{"start_s": round(start, 3), "place": cut.place} for start, cut in play.cuts],
            "events": [_event_line(scene, event) for event in _in_order(play)],
        }
        for scene, play in staged
    ]
    _write_json(path, videos)


def _event_line(scene: Scene, event: Event) -> Json:
    return {
        "id": event.id,
        "kind": event.kind,
        "who": scene.cast[event.who].label if event.who else "",
        "what": event.what,
        "text": event.text,
        "start_s": round(event.start_s, 3),
        "end_s": round(event.end_s, 3),
    }


def _in_order(play: Play) -> list[Event]:
    return sorted(play.events.values(), key=lambda event: (event.start_s, event.end_s))


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _task_file(topic: str, task: str, entries: list[Json]) -> Json:
    number, name = topic.split("_", 1)
    return {
        "topic_id": int(number),
        "topic_name": name.replace("_", " "),
        "task": task,
        "num_entries": len(entries),
        "entries": entries,
    }


def _metadata(scene: Scene, play: Play) -> Json:
    people = scene.cast.values()
    return {
        "video_id": scene.video_id,
        "video_number": scene.number,
        "title": scene.title,
        "duration_seconds": round(play.duration_s, 3),
        "duration_category": "short",
        "topic_name": scene.topic,
        "demographics_detailed_reviewed": {
            "race": sorted({person.race for person in people}),
            "gender": sorted({person.gender for person in people}),
            "age": sorted({person.age for person in people}),
            "language": sorted({person.language for person in people}),
        },
    }


def _captions(scene: Scene, play: Play) -> str:
    kinds = {"speech", "sound"} if scene.has_sound else {"text"}
    blocks: list[str] = []
    for event in _in_order(play):
        if event.kind in kinds and event.text:
            text = f"[{event.text}]" if event.kind == "sound" else event.text
            span = f"{_srt_time(event.start_s)} --> {_srt_time(event.end_s)}"
            blocks.append(f"{len(blocks) + 1}\n{span}\n{text}\n")
    return "\n".join(blocks)


def _srt_time(time_s: float) -> str:
    ms = round(time_s * 1000)
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d},{ms % 1000:03d}"


def _clock(time_s: float) -> str:
    whole = int(time_s)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _people(scene: Scene, names: set[str]) -> Json:
    """The demographic fields for the characters called ``names``."""
    cast = [person for name, person in scene.cast.items() if name in names]
    groups = Counter((p.race, p.gender, p.age, p.language) for p in cast)
    fields = ("race", "gender", "age", "language", "count")
    labels = ", ".join(person.label for person in cast)
    return {
        "demographics": [dict(zip(fields, (*key, n), strict=True)) for key, n in groups.items()],
        "demographics_total_individuals": len(cast),
        "demographics_confidence": 1.0,
        "demographics_explanation": f"Seen or heard: {labels}.",
    }


def _head(scene: Scene) -> Json:
    return {"video_id": scene.video_id, "video_number": scene.number}


def _summary_entry(scene: Scene, play: Play) -> Json:
    summary = scene.summary
    timeline = [
        {
            "start": _clock(play.events[chapter.first].start_s),
            "end": _clock(play.events[chapter.last].end_s),
            "title": chapter.title,
            "note": chapter.note,
        }
        for chapter in summary.chapters
    ]
    return {
        **_head(scene),
        "summary_short": list(summary.short),
        "summary_detailed": " ".join(summary.detailed.split()),
        "timeline": timeline,
        "glossary": list(summary.glossary),
        **_people(scene, set(scene.cast)),
        "confidence": 0.95,
    }


def _segment(scene: Scene, play: Play, index: int) -> tuple[float, float]:
    start, end = scene.segments[index]
    last = round(play.duration_s, 3) if end is None else end
    if not 0 <= start < last <= play.duration_s + 1e-3:
        raise ValueError(f"{scene.title}: segment {index} is not inside {play.duration_s:.1f} s")
    return start, last


def _segment_head(scene: Scene, play: Play, index: int) -> Json:
    start, end = _segment(scene, play, index)
    return {**_head(scene), "segment": {"start": start, "end": end}}


def _choice_entries(scene: Scene, play: Play) -> list[Json]:
    return [_choice_entry(scene, play, choice) for choice in scene.choices]


def _choice_entry(scene: Scene, play: Play, choice: Choice) -> Json:
    texts = list(choice.wrong)
    index = "ABCDE".index(choice.letter)
    if choice.right:
        texts.insert(index, choice.right)
    if len(texts) != 4 or (index == 4) == bool(choice.right):
        raise ValueError(f"{scene.title}: {choice.question!r} needs four options and one answer")
    options = [f"({letter}) {text}" for letter, text in zip("ABCD", texts, strict=True)]
    return {
        **_segment_head(scene, play, choice.segment),
        "question": choice.question,
        "options": [*options, NO_EVIDENCE],
        "answer_index": index,
        "answer_letter": choice.letter,
        "rationale": choice.rationale,
        "evidence_tags": list(choice.tags),
        "requires_audio": choice.audio,
        **_people(scene, play.seen(*_segment(scene, play, choice.segment))),
        "confidence": 0.95,
    }


def _moment_entries(scene: Scene, play: Play) -> list[Json]:
    entries = []
    for segment, group in groupby(scene.moments, key=lambda moment: moment.segment):
        moments = list(group)
        for first in range(0, len(moments), _QUESTIONS_PER_ENTRY):
            asked = moments[first : first + _QUESTIONS_PER_ENTRY]
            questions = [
                _question(scene, play, moment, number) for number, moment in enumerate(asked, 1)
            ]
            entries.append(
                {
                    **_segment_head(scene, play, segment),
                    "questions": questions,
                    **_people(scene, play.seen(*_segment(scene, play, segment))),
                }
            )
    return entries


def _question(scene: Scene, play: Play, moment: Moment, number: int) -> Json:
    anchor, target = play.events[moment.anchor], play.events[moment.target]
    _check(scene, play, moment, anchor, target)
    return {
        "question_id": f"{number:03d}",
        "question": moment.question,
        "temporal_relation": moment.relation,
        "anchor_event": anchor.what,
        "target_event": target.what,
        "answer": {"start_s": round(target.start_s, 3), "end_s": round(target.end_s, 3)},
        "rationale_model": moment.rationale,
        "requires_audio": moment.audio,
        "confidence": 0.95,
    }


def _check(scene: Scene, play: Play, moment: Moment, anchor: Event, target: Event) -> None:
    """Raise ValueError where the question would be untrue."""
    start, end = _segment(scene, play, moment.segment)
    gap = target.start_s - anchor.end_s
    holds = {
        "before": target.end_s <= anchor.start_s + 1e-6,
        "after": gap >= -1e-6,
        "immediately after": -1e-6 <= gap <= _SOON_S,
        "during": target.start_s < anchor.end_s and target.end_s > anchor.start_s,
    }[moment.relation]
    inside = all(start <= e.start_s and e.end_s <= end for e in (anchor, target))
    if not (holds and inside):
        raise ValueError(
            f"{scene.title}: {moment.question!r} does not hold: {moment.relation}, "
            f"segment {start}–{end}, anchor {anchor.start_s:.2f}–{anchor.end_s:.2f}, "
            f"target {target.start_s:.2f}–{target.end_s:.2f}"
        )
