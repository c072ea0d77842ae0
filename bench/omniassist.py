"""OmniAssistBench's published files, read as they are.

    <data>/labels.csv         one row a clip, in playing order
    <data>/<video_name>.mp4   the clips, and the example videos that rows name

A multi-turn sample is the rows ``<sample>-seg1``, ``<sample>-seg2``, …; its turns are ordered by
that number, not by its text. Loading needs ``labels.csv`` only: scoring runs where no clip is.

Source: the OmniAssistBench paper and the file shapes of its data set.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.annotations import relative, shown
from bench.classes import REAL_CASE, SubTask, class_names, sub_task
from bench.dialogue import dialogue_prompts
from bench.errors import AnnotationError, DataMissing, Fault, UnknownTask
from bench.item import AssistantReference, Attributes, Clip, Item, TaskType
from bench.labels import UNSAID_QUESTION, Row, answers, key_points, read_rows
from bench.media import missing_media
from bench.prompt import Prompt

_TURN = re.compile(r"(.+)-seg([1-9]\d{0,3})")


class OmniAssist:
    """The benchmark in OmniAssistBench's shape: the published data, or the bundled ones."""

    tasks = (TaskType.ASSISTANT,)
    offered = tasks
    over_topics = False
    """Its paper averages over question–answer pairs."""

    def __init__(self, name: str, bundled: Path | None = None) -> None:
        self.name = name
        self.bundled = bundled

    def load(self, data: Path | None, tasks: Collection[TaskType] | None = None) -> list[Item]:
        """Return the items: samples in the order of the file, turns in the order of their numbers.

        Args:
            data: Folder that holds ``labels.csv``; None takes the bundled data.
            tasks: Task types asked for: ``assistant`` is the only one.

        Raises:
            AnnotationError: ``labels.csv`` has faults that leave an item without a certain
                meaning; it names all of them.
            DataMissing: the folder or ``labels.csv`` is not there.
            UnknownTask: another task type was asked for.
        """
        for task in tasks or ():
            if task != TaskType.ASSISTANT:
                raise UnknownTask(f"{self.name} has no task type {task}; it has: assistant")
        faults: list[Fault] = []
        items = self._read(self._root(data), faults)
        blocking = [fault for fault in faults if fault.blocks]
        if blocking:
            raise AnnotationError(blocking)
        return [] if tasks is not None and not tasks else items

    def check(self, data: Path | None, *, media: bool = True) -> list[Fault]:
        """Return every fault of the folder, whether or not loading goes on in spite of it.

        Args:
            data: Folder that holds ``labels.csv``; None takes the bundled data.
            media: Whether to look for the clips too.

        Raises:
            DataMissing: there is no ``labels.csv`` at this place.
        """
        root = self._root(data)
        faults: list[Fault] = []
        items = self._read(root, faults)
        if media:
            faults.extend(missing_media(items, root))
        return faults

    def prompts(self, items: Sequence[Item], templates: Path | None = None) -> list[Prompt]:
        """Return one prompt for each item, with the earlier turns of its dialogue.

        Args:
            items: Items of this benchmark; a turn's earlier turns are among them.
            templates: A user's folder of templates, which replace ours by name.

        Raises:
            BenchError: an earlier turn of an item is not among ``items``.
            PromptError: a template is not usable.
        """
        return dialogue_prompts(items, templates)

    def _root(self, data: Path | None) -> Path:
        root = data or self.bundled
        if root is None:
            raise DataMissing(
                f"{self.name} is not bundled: say with --data where the folder is that holds "
                "labels.csv and the clips"
            )
        if not (root / "labels.csv").is_file():
            what = "holds no labels.csv" if root.is_dir() else "is not a folder"
            raise DataMissing(f"{root} {what}: {self.name} needs labels.csv and the clips in it")
        return root

    def _read(self, root: Path, faults: list[Fault]) -> list[Item]:
        path = root / "labels.csv"
        rows = read_rows(path, root, faults)
        reader = _RowReader(self.name, root, relative(path, root), faults)
        samples: dict[str, list[_Turn]] = {}
        for row in rows:
            turn = reader.place(row)
            if turn is not None:
                samples.setdefault(turn.sample, []).append(turn)
        items: list[Item] = []
        for turns in samples.values():
            turns.sort(key=lambda turn: turn.number)
            reader.check_order(turns)
            example = reader.example(turns)
            read = (reader.item(turn, example) for turn in turns)
            items.extend(item for item in read if item is not None)
        return items


@dataclass(frozen=True, slots=True)
class _Turn:
    """A row and its place: its sample, and its number there (0 where it is the only turn)."""

    row: Row
    sample: str
    number: int


class _RowReader:
    """Reads rows into items and notes what is wrong with them."""

    def __init__(self, benchmark: str, root: Path, file: str, faults: list[Fault]) -> None:
        self._benchmark = benchmark
        self._root = root
        self._file = file
        self._faults = faults
        self._names: set[str] = set()

    def place(self, row: Row) -> _Turn | None:
        """Return which turn of which sample a row is; None after noting that it cannot be one."""
        name = _clip_name(row["video_name"])
        turns = row["turns"].strip().casefold()
        if not self._is_file_name(row, "video_name", name):
            return None
        if name in self._names:
            self._fault(row, "video_name", f"found {name!r} a second time; expected it once")
            return None
        self._names.add(name)
        if turns == "single":
            return _Turn(row, name, 0)
        if turns != "multi":
            self._fault(row, "turns", f"found {shown(row['turns'])}; expected single or multi")
            return None
        parts = _TURN.fullmatch(name)
        if parts is None:
            self._fault(
                row, "video_name", f"found {name!r}; expected <sample>-seg<number>, up to 9999"
            )
            return None
        return _Turn(row, parts[1], int(parts[2]))

    def check_order(self, turns: Sequence[_Turn]) -> None:
        """Note the numbers that are missing among a sample's turns."""
        if turns[0].number == 0:
            if len(turns) > 1:
                found = f"found a single turn and {len(turns) - 1} numbered; expected one or other"
                self._fault(turns[0].row, "turns", found)
            return
        numbers = {turn.number for turn in turns}
        missing = [n for n in range(1, max(numbers) + 1) if n not in numbers]
        if missing:
            listed = ", ".join(f"{turns[0].sample}-seg{n}" for n in missing[:10])
            more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
            later = next(turn for turn in turns if turn.number > missing[0])
            self._fault(later.row, "video_name", f"found a gap before it; expected {listed}{more}")

    def example(self, turns: Sequence[_Turn]) -> Clip | None:
        """Return the example video of a sample, which its rows name once or all alike."""
        first: str | None = None
        for turn in turns:
            name = _clip_name(turn.row["example_video"])
            if not name or not self._is_file_name(turn.row, "example_video", name):
                continue
            if first is not None and name != first:
                found = f"found {name!r}; expected {first!r}, as in the sample's first row"
                self._fault(turn.row, "example_video", found)
            first = first or name
        return None if first is None else Clip(self._clip_path(first))

    def item(self, turn: _Turn, example: Clip | None) -> Item | None:
        """Return a row's item; None after noting that its class is unknown."""
        row = turn.row
        name = _clip_name(row["video_name"])
        placed = sub_task(row["class"], turn.sample)
        if placed is None:
            known = ", ".join(class_names())
            self._fault(row, "class", f"found {shown(row['class'])}; expected one of {known}")
            return None
        return Item(
            id=f"assistant/{name}",
            benchmark=self._benchmark,
            task=TaskType.ASSISTANT,
            topic=placed.name,
            cluster=turn.sample,
            clip=Clip(self._clip_path(name)),
            question=row["question"].strip() or UNSAID_QUESTION,
            reference=self._reference(row, placed),
            attributes=Attributes(sub_task=placed.name, major_task=placed.major, tier=placed.tier),
            turn=turn.number,
            example=example,
        )

    def _reference(self, row: Row, placed: SubTask) -> AssistantReference:
        accepted = answers(row["gt_answer"], lambda found: self._note(row, "gt_answer", found))
        points = key_points(row["key_points"], lambda found: self._note(row, "key_points", found))
        if not accepted and placed.tier != "real-world":
            # Two turns of the real-world cases are published without an answer, and not scored.
            expected = f"an answer: only a {REAL_CASE} may lack one, and it is not scored then"
            self._note(row, "gt_answer", f"found nothing; expected {expected}")
        return AssistantReference(accepted, points)

    def _clip_path(self, name: str) -> Path:
        return self._root / f"{name}.mp4"

    def _is_file_name(self, row: Row, field: str, name: str) -> bool:
        unsafe = {"/", "\\", "\0"} & set(name) or name.startswith(".") or not name.isprintable()
        if not name or unsafe:
            why = "a path here could leave the data folder"
            self._fault(row, field, f"found {shown(name)}; expected a file's plain name ({why})")
            return False
        return True

    def _fault(self, row: Row, field: str, found: str) -> None:
        self._faults.append(Fault(self._file, f"line {row.line}", field, found))

    def _note(self, row: Row, field: str, found: str) -> None:
        self._faults.append(Fault(self._file, f"line {row.line}", field, found, blocks=False))


def _clip_name(text: str) -> str:
    """A clip's name, which rows may give as that of its file."""
    return text.strip().removesuffix(".mp4")
