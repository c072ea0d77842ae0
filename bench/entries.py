"""Entries of SONIC-O1's annotation files become items.

One reader a task file. A reader notes every fault of its entry and returns the items that are well
defined in spite of them. A fault blocks where an item's question or reference has no certain
meaning; where a fact only disagrees with another (an answer outside its segment, a segment beyond
the video's stated length) it is reported, and the item stays as published.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.annotations import Node, shown
from bench.demographics import read_people
from bench.item import (
    Attributes,
    ChoiceReference,
    IntervalReference,
    Item,
    Segment,
    SummaryReference,
    TaskType,
    seconds_text,
)
from bench.timeline import check_timeline
from bench.videos import Video, read_number

LETTERS = ("A", "B", "C", "D", "E")
QUESTIONS_AT_ONCE = 3
SUMMARY_QUESTION = "What happens in this video, from beginning to end?"

_OPTION = re.compile(r"\s*\(([A-Z])\)\s*(.*?)\s*", re.DOTALL)
# Metadata give whole seconds, segments may run to the last frame.
_ROUNDING_S = 1.0


@dataclass(slots=True)
class EntryReader:
    """Reads the entries of one topic and task, and counts those on the same segment."""

    benchmark: str
    topic: str
    videos: Mapping[str, Video] | None
    """None: the metadata could not be read, which is a fault of its own."""
    _seen: Counter[str] = field(default_factory=Counter)

    def summary(self, node: Node, *, empathic: bool = False) -> list[Item]:
        """Return the item of an entry of ``task1_summarization``."""
        video = self._video(node)
        detailed = node.text("summary_detailed")
        short = node.texts("summary_short")
        if short == ():
            node.fault("summary_short", "found an empty list; expected bullets")
        check_timeline(node)
        attributes = self._attributes(node, video)
        if video is None:
            return []
        task = TaskType.EMPATHIC if empathic else TaskType.SUMMARY
        item_id = f"{task}/{self._cluster(video)}"
        if self._seen[item_id]:
            node.fault("video_number", f"found {video.number!r} in two entries; expected one")
            return []
        self._seen[item_id] += 1
        if detailed is None or not short:
            return []
        reference = None if empathic else SummaryReference(detailed, short)
        return [
            Item(
                id=item_id,
                benchmark=self.benchmark,
                task=task,
                topic=self.topic,
                cluster=self._cluster(video),
                clip=video.clip,
                question=SUMMARY_QUESTION,
                reference=reference,
                attributes=attributes,
            )
        ]

    def choice(self, node: Node) -> list[Item]:
        """Return the item of an entry of ``task2_mcq``."""
        video = self._video(node)
        segment = _read_segment(node, video)
        question = node.text("question")
        options = _read_options(node)
        index = _read_answer(node)
        rationale = node.text("rationale", empty=True)
        audio = node.flag("requires_audio")
        attributes = self._attributes(node, video, requires_audio=audio)
        if video is None or segment is None:
            return []
        item_id = self._segment_id(TaskType.CHOICE, video, segment)
        if question is None or options is None or index is None or rationale is None:
            return []
        return [
            Item(
                id=item_id,
                benchmark=self.benchmark,
                task=TaskType.CHOICE,
                topic=self.topic,
                cluster=self._cluster(video),
                clip=video.cut(segment),
                question=question,
                options=options,
                reference=ChoiceReference(index, rationale),
                attributes=attributes,
            )
        ]

    def localization(self, node: Node) -> list[Item]:
        """Return the items of an entry of ``task3_temporal_localization``, one a question."""
        video = self._video(node)
        segment = _read_segment(node, video)
        questions = node.nodes("questions")
        if len(questions) > QUESTIONS_AT_ONCE or node.value.get("questions") == []:
            node.fault(
                "questions",
                f"found {len(questions)}; expected 1 to {QUESTIONS_AT_ONCE}",
                blocks=False,
            )
        attributes = self._attributes(node, video)
        prefix = (
            self._segment_id(TaskType.LOCALIZATION, video, segment) if video and segment else None
        )
        names: Counter[str] = Counter()
        items = []
        for question in questions:
            name = _read_question_id(question, names)
            text = question.text("question")
            reference = _read_interval(question, segment)
            relation = _read_relation(question)
            audio = question.flag("requires_audio")
            if not (video and segment and prefix and name and text and reference):
                continue
            items.append(
                Item(
                    id=f"{prefix}/{name}",
                    benchmark=self.benchmark,
                    task=TaskType.LOCALIZATION,
                    topic=self.topic,
                    cluster=self._cluster(video),
                    clip=video.cut(segment),
                    question=text,
                    question_id=name,
                    reference=reference,
                    attributes=Attributes(
                        duration=attributes.duration,
                        duration_s=attributes.duration_s,
                        demographics=attributes.demographics,
                        relation=relation,
                        requires_audio=audio,
                    ),
                )
            )
        return items

    def _video(self, node: Node) -> Video | None:
        number = read_number(node)
        video_id = node.text("video_id")
        if number is None or self.videos is None:
            return None
        video = self.videos.get(number)
        if video is None:
            known = ", ".join(list(self.videos)[:30]) or "none"
            node.fault(
                "video_number", f"found {number!r}; expected one of the topic's metadata: {known}"
            )
        elif video_id is not None and video.id and video_id != video.id:
            node.fault(
                "video_id",
                f"found {shown(video_id)}; expected {shown(video.id)}, the topic's video {number}",
            )
        return video

    def _cluster(self, video: Video) -> str:
        return f"{self.topic[:2]}/{video.number}"

    def _segment_id(self, task: TaskType, video: Video, segment: Segment) -> str:
        span = f"{seconds_text(segment.start_s)}-{seconds_text(segment.end_s)}"
        prefix = f"{task}/{self._cluster(video)}/{span}"
        ordinal = self._seen[prefix]
        self._seen[prefix] += 1
        return f"{prefix}/{ordinal}"

    def _attributes(
        self, node: Node, video: Video | None, *, requires_audio: bool | None = None
    ) -> Attributes:
        people = read_people(node)
        if video is None:
            return Attributes(demographics=people, requires_audio=requires_audio)
        return Attributes(
            duration=video.bucket,
            duration_s=video.duration_s,
            demographics=people or video.demographics,
            requires_audio=requires_audio,
        )


def _read_segment(node: Node, video: Video | None) -> Segment | None:
    inner = node.node("segment")
    if inner is None:
        return None
    start_s, end_s = inner.seconds("start"), inner.seconds("end")
    if start_s is None or end_s is None:
        return None
    if start_s < 0 or end_s <= start_s:
        found = f"{seconds_text(start_s)} to {seconds_text(end_s)}"
        node.fault("segment", f"found {found}; expected seconds with 0 ≤ start < end")
        return None
    length_s = video.duration_s if video else None
    if length_s is not None and end_s > length_s + _ROUNDING_S:
        node.fault(
            "segment",
            f"found an end at {seconds_text(end_s)} s; expected at most the video's "
            f"{seconds_text(length_s)} s",
            blocks=False,
        )
    return Segment(start_s, end_s)


def _read_options(node: Node) -> tuple[str, ...] | None:
    options = node.texts("options")
    if options is None:
        return None
    if len(options) != len(LETTERS):
        node.fault("options", f"found {len(options)}; expected {len(LETTERS)}, (A) to (E)")
        return None
    texts = []
    for n, (letter, option) in enumerate(zip(LETTERS, options, strict=True)):
        parts = _OPTION.fullmatch(option)
        if parts is None or parts[1] != letter or not parts[2]:
            node.fault(f"options[{n}]", f"found {shown(option)}; expected ({letter}) and a text")
        else:
            texts.append(parts[2])
    return tuple(texts) if len(texts) == len(LETTERS) else None


def _read_answer(node: Node) -> int | None:
    index = node.integer("answer_index", 0, len(LETTERS) - 1)
    letter = node.text("answer_letter")
    if letter is not None and letter not in LETTERS:
        node.fault("answer_letter", f"found {shown(letter)}; expected one of A to E")
        return None
    if index is None or letter is None:
        return None
    if LETTERS[index] != letter:
        node.fault(
            "answer_letter",
            f"found {letter} with answer_index {index}; expected {LETTERS[index]}, or answer_index "
            f"{LETTERS.index(letter)}",
        )
        return None
    return index


def _read_question_id(question: Node, names: Counter[str]) -> str | None:
    name = question.text("question_id")
    if name is None:
        return None
    if "/" in name or name != name.strip():
        question.fault("question_id", f"found {shown(name)}; expected a plain name like 001")
        return None
    names[name] += 1
    if names[name] > 1:
        question.fault("question_id", f"found {name!r} twice in one entry; expected it once")
        return None
    return name


def _read_interval(question: Node, segment: Segment | None) -> IntervalReference | None:
    answer = question.node("answer")
    rationale = question.text("rationale_model", empty=True)
    if answer is None:
        return None
    start_s, end_s = answer.seconds("start_s"), answer.seconds("end_s")
    if start_s is None or end_s is None or rationale is None:
        return None
    found = f"found {seconds_text(start_s)} to {seconds_text(end_s)} s"
    if end_s < start_s:
        question.fault("answer", f"{found}; expected start_s before end_s")
        return None
    if end_s == start_s:
        question.fault("answer", f"{found}, which is empty; expected a stretch", blocks=False)
    elif segment and not segment.start_s <= start_s < end_s <= segment.end_s:
        bounds = f"{seconds_text(segment.start_s)} to {seconds_text(segment.end_s)} s"
        question.fault("answer", f"{found}; expected it within the segment, {bounds}", blocks=False)
    return IntervalReference(start_s, end_s, rationale)


def _read_relation(question: Node) -> str:
    if not question.has("temporal_relation"):
        return "unknown"
    relation = question.text("temporal_relation", empty=True) or ""
    return " ".join(relation.replace("_", " ").casefold().split()) or "unknown"
