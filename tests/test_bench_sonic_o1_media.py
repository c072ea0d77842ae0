"""The media of SONIC-O1: found where they are, not needed to load, and noted where they lack."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.demo import SONIC_O1
from bench.errors import AnnotationError
from bench.item import TaskType
from bench.sonic_o1 import SonicO1
from tests.trees import TOPIC, sonic_tree

SONIC = SonicO1("sonic-o1")


def test_loading_needs_no_media(tmp_path):
    items = SONIC.load(sonic_tree(tmp_path, media=False))
    clip = items[0].clip
    assert clip.video == tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4"
    assert (clip.audio, clip.captions) == (None, None)


def test_sound_and_captions_are_found_where_they_are(tmp_path):
    sonic_tree(tmp_path)
    audio = tmp_path / "dataset" / "audios" / TOPIC / "audio_001.m4a"
    captions = tmp_path / "dataset" / "captions" / TOPIC / "caption_001.srt"
    for path in (audio, captions):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
    for item in SONIC.load(tmp_path):
        assert (item.clip.audio, item.clip.captions) == (audio, captions)


def test_check_names_a_missing_video_once_unless_media_are_left_out(tmp_path):
    sonic_tree(tmp_path, media=False)
    (fault,) = SONIC.check(tmp_path)
    assert fault.file == f"dataset/videos/{TOPIC}/video_001.mp4"
    assert not fault.blocks
    assert SONIC.check(tmp_path, media=False) == []


def test_check_names_an_empty_video(tmp_path):
    sonic_tree(tmp_path)
    (tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4").write_bytes(b"")
    assert "empty" in SONIC.check(tmp_path)[0].found


def box(name: bytes, content: bytes = b"", length: int | None = None) -> bytes:
    """A box of an MP4 file."""
    return (len(content) + 8 if length is None else length).to_bytes(4) + name + content


HEAD = box(b"ftyp", b"isom") + box(b"moov", b"m" * 20)
LARGE = (1).to_bytes(4) + b"mdat" + (16 + 30).to_bytes(8)


@pytest.mark.parametrize(
    ("film", "says"),
    [
        (HEAD + box(b"mdat", b"d" * 30), None),
        (HEAD + box(b"mdat", b"d" * 30, length=0), None),
        (HEAD + LARGE + b"d" * 30, None),
        (HEAD + box(b"mdat", b"d" * 30) + bytes(20), None),
        (b"\x1a\x45\xdf\xa3 a Matroska file", None),
        (HEAD + box(b"mdat", b"d" * 10, length=38), "found 58 bytes; expected 78 or more"),
        (HEAD + LARGE + b"d" * 10, "found 66 bytes; expected 86 or more"),
        (HEAD[:30], "found 30 bytes; expected 40 or more"),
        (box(b"ftyp", b"isom") + box(b"mdat", b"d" * 30), "found 50 bytes without a moov box"),
    ],
)
def test_check_notes_an_mp4_file_that_is_cut_off(tmp_path, film, says):
    sonic_tree(tmp_path)
    (tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4").write_bytes(film)
    faults = SONIC.check(tmp_path)
    assert [(fault.file.endswith("video_001.mp4"), fault.blocks) for fault in faults] == (
        [] if says is None else [(True, False)]
    )
    assert says is None or says in faults[0].found


def test_a_real_film_is_whole_and_half_of_it_is_not(tmp_path):
    film = next(SONIC_O1.glob("dataset/videos/*/*.mp4")).read_bytes()
    sonic_tree(tmp_path)
    path = tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4"
    path.write_bytes(film)
    assert SONIC.check(tmp_path) == []
    path.write_bytes(film[: len(film) // 2])
    (fault,) = SONIC.check(tmp_path)
    assert f"found {len(film) // 2} bytes; expected" in fault.found


def test_check_notes_a_folder_in_the_place_of_a_video(tmp_path):
    sonic_tree(tmp_path, media=False)
    (tmp_path / "dataset" / "videos" / TOPIC / "video_001.mp4").mkdir()
    (fault,) = SONIC.check(tmp_path)
    assert "found a folder; expected a file" in fault.found


def test_a_linked_media_folder_is_the_users_own_choice(tmp_path):
    tree, disk = sonic_tree(tmp_path / "tree"), tmp_path / "disk.mp4"
    disk.write_bytes(b"film")
    video = tree / "dataset" / "videos" / TOPIC / "video_001.mp4"
    video.unlink()
    video.symlink_to(disk)
    assert SONIC.check(tree) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(number=st.text(min_size=1, max_size=12))
def test_no_video_number_leads_out_of_the_data_folder(tmp_path_factory, number):
    root = tmp_path_factory.mktemp("tree")
    sonic_tree(root, video={"video_number": number}, choice={"video_number": number}, media=False)
    try:
        items = SONIC.load(root, [TaskType.CHOICE])
    except AnnotationError:
        return
    folder = root / "dataset" / "videos" / TOPIC
    assert items[0].clip.video.resolve().parent == folder.resolve()
