"""SONIC-O1's published tree, read as it is.

    <data>/dataset/videos/<TT_Topic_Name>/   metadata_enhanced.json, video_<number>.mp4
    <data>/dataset/audios/<TT_Topic_Name>/   audio_<number>.m4a      may be missing
    <data>/dataset/captions/<TT_Topic_Name>/ caption_<number>.srt    may be missing
    <data>/vqa/task1_summarization/<TT_Topic_Name>.json
    <data>/vqa/task2_mcq/<TT_Topic_Name>.json
    <data>/vqa/task3_temporal_localization/<TT_Topic_Name>.json

A part of it is enough: items exist for the topics and tasks whose annotation files are there.
Loading needs annotations and metadata, never media: scoring runs where no video is.

Source: the SONIC-O1 paper and the file shapes of its data set.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from bench.annotations import Node, read_json, relative, shown
from bench.entries import EntryReader
from bench.errors import AnnotationError, DataMissing, Fault, UnknownTask
from bench.item import Item, TaskType
from bench.media import missing_media
from bench.prompt import Prompt
from bench.questions import question_prompts
from bench.videos import Video, metadata_path, read_videos

FOLDERS = {
    TaskType.SUMMARY: "task1_summarization",
    TaskType.EMPATHIC: "task1_summarization",
    TaskType.CHOICE: "task2_mcq",
    TaskType.LOCALIZATION: "task3_temporal_localization",
}
_TOPIC = re.compile(r"(\d\d)_(.+)")


class SonicO1:
    """The benchmark in SONIC-O1's shape: the published data, or the bundled ones."""

    tasks = (TaskType.SUMMARY, TaskType.CHOICE, TaskType.LOCALIZATION)
    offered = tuple(FOLDERS)
    over_topics = True
    """Its paper averages within each topic, then over topics."""

    def __init__(self, name: str, bundled: Path | None = None) -> None:
        self.name = name
        self.bundled = bundled

    def load(self, data: Path | None, tasks: Collection[TaskType] | None = None) -> list[Item]:
        """Return the items, in the order of tasks, topics and entries.

        Args:
            data: Folder that holds ``dataset`` and ``vqa``; None takes the bundled data.
            tasks: Task types asked for; None takes those of :attr:`tasks` that are there.

        Raises:
            AnnotationError: a file that is read has faults that leave an item without a certain
                meaning; it names all of them.
            DataMissing: the folder, a task that was asked for by name, or metadata are not there.
            UnknownTask: SONIC-O1 has no such task type.
        """
        root = self._root(data)
        wanted = self._wanted(root, tasks)
        for topic in _topics(root, wanted):
            if not metadata_path(root, topic).is_file():
                raise DataMissing(
                    f"{metadata_path(root, topic)} is not there: {self.name} needs the metadata of "
                    f"the topic {topic} (its videos are not needed for scoring)"
                )
        faults: list[Fault] = []
        items = self._read(root, wanted, faults)
        blocking = list(dict.fromkeys(fault for fault in faults if fault.blocks))
        if blocking:
            raise AnnotationError(blocking)
        return items

    def check(self, data: Path | None, *, media: bool = True) -> list[Fault]:
        """Return every fault of the tree, whether or not loading goes on in spite of it.

        Args:
            data: Folder that holds ``dataset`` and ``vqa``; None takes the bundled data.
            media: Whether to look for the videos too.

        Raises:
            DataMissing: there is no tree at this place.
        """
        root = self._root(data)
        faults: list[Fault] = []
        for folder in sorted((root / "vqa").iterdir()):
            if folder.name.startswith("task") and folder.name not in FOLDERS.values():
                known = ", ".join(dict.fromkeys(FOLDERS.values()))
                faults.append(
                    Fault(
                        relative(folder, root), "", "", f"unknown; expected one of {known}", False
                    )
                )
        items = self._read(root, self._wanted(root, None), faults)
        if media:
            faults.extend(missing_media(items, root))
        return faults

    def prompts(self, items: Sequence[Item], templates: Path | None = None) -> list[Prompt]:
        """Return the prompts that ask ``items``, in the order of each prompt's first item.

        Args:
            items: Items of this benchmark; the questions of one localization entry share a prompt.
            templates: A user's folder of templates, which replace ours by name.

        Raises:
            PromptError: a template is not usable.
        """
        return question_prompts(items, templates)

    def _root(self, data: Path | None) -> Path:
        root = data or self.bundled
        if root is None:
            raise DataMissing(
                f"{self.name} is not bundled: say with --data where the folder is that holds "
                "dataset/ and vqa/"
            )
        if not (root / "vqa").is_dir():
            what = "holds no vqa folder" if root.is_dir() else "is not a folder"
            raise DataMissing(f"{root} {what}: {self.name} needs dataset/ and vqa/ in it")
        return root

    def _wanted(self, root: Path, tasks: Collection[TaskType] | None) -> list[TaskType]:
        if tasks is None:
            there = [task for task in self.tasks if _files(root, task)]
            if not there:
                raise DataMissing(
                    f"{root / 'vqa'} holds no annotation files: expected "
                    f"{', '.join(dict.fromkeys(FOLDERS.values()))} with a file a topic"
                )
            return there
        for task in tasks:
            if task not in FOLDERS:
                known = ", ".join(self.offered)
                raise UnknownTask(f"{self.name} has no task type {task}; it has: {known}")
            if not _files(root, task):
                raise DataMissing(
                    f"{root / 'vqa' / FOLDERS[task]} holds no annotation files: the task "
                    f"{task} was asked for"
                )
        return [task for task in FOLDERS if task in tasks]

    def _read(self, root: Path, tasks: Sequence[TaskType], faults: list[Fault]) -> list[Item]:
        topics = _topics(root, tasks)
        faults.extend(_topic_faults(root, tasks))
        videos = {topic: read_videos(root, topic, faults) for topic in topics}
        items: list[Item] = []
        for task in tasks:
            for path in _files(root, task):
                if path.stem in videos:
                    items.extend(self._read_file(root, task, path, videos[path.stem], faults))
        return items

    def _read_file(
        self,
        root: Path,
        task: TaskType,
        path: Path,
        videos: dict[str, Video] | None,
        faults: list[Fault],
    ) -> Iterator[Item]:
        value = read_json(path, root, faults, dict)
        if value is None:
            return
        node = Node(relative(path, root), "", value, faults)
        _check_header(node, task, path.stem)
        reader = EntryReader(self.name, path.stem, videos)
        for entry in node.nodes("entries"):
            match task:
                case TaskType.CHOICE:
                    yield from reader.choice(entry)
                case TaskType.LOCALIZATION:
                    yield from reader.localization(entry)
                case _:
                    yield from reader.summary(entry, empathic=task is TaskType.EMPATHIC)


def _files(root: Path, task: TaskType) -> list[Path]:
    folder = root / "vqa" / FOLDERS[task]
    # Names with a leading dot are what file managers leave behind.
    return sorted(path for path in folder.glob("*.json") if not path.name.startswith("."))


def _topics(root: Path, tasks: Sequence[TaskType]) -> list[str]:
    stems = {path.stem for task in tasks for path in _files(root, task)}
    return sorted(stem for stem in stems if _TOPIC.fullmatch(stem))


def _topic_faults(root: Path, tasks: Sequence[TaskType]) -> Iterator[Fault]:
    names: dict[str, str] = {}
    for path in {path: None for task in tasks for path in _files(root, task)}:
        parts = _TOPIC.fullmatch(path.stem)
        if parts is None:
            expected = "expected a name like 01_Topic_Name.json"
            yield Fault(relative(path, root), "", "", f"found {path.name}; {expected}")
        elif names.setdefault(parts[1], path.stem) != path.stem:
            yield Fault(
                relative(path, root),
                "",
                "",
                f"found a second topic {parts[1]}; expected the name {names[parts[1]]}",
            )


def _check_header(node: Node, task: TaskType, topic: str) -> None:
    number, _, name = topic.partition("_")
    entries = node.value.get("entries")
    count = node.integer("num_entries", 0)
    if isinstance(entries, list) and count is not None and count != len(entries):
        node.fault("num_entries", f"found {count}; expected {len(entries)}, as many as entries")
    if entries == []:
        node.fault("entries", "found none; expected one or more", blocks=False)
    if node.value.get("topic_id") not in (int(number), number, str(int(number))):
        found = shown(node.value.get("topic_id"))
        node.fault("topic_id", f"found {found}; expected {int(number)}", blocks=False)
    topic_name = node.text("topic_name")
    if topic_name is not None and _plain(topic_name) not in (_plain(name), _plain(topic)):
        expected = name.replace("_", " ")
        node.fault("topic_name", f"found {shown(topic_name)}; expected {expected}", blocks=False)
    label = node.text("task")
    # The generator of the published files left out the number for two of the three tasks.
    folder = FOLDERS[task]
    if label is not None and label not in (folder, folder.partition("_")[2]):
        node.fault("task", f"found {shown(label)}; expected {folder}")


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
