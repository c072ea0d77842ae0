"""A request's media are prepared as asked, and what was really decoded is said."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from cache.request import Media, Message, Preprocessing, Request, Text
from infer.errors import DecodeError
from infer.media import decode
from infer.media.captions import read_captions
from infer.media.decode import prepare
from infer.media.probe import probe
from infer.media.recent import Recent
from tests.clips import make_clip, read_number


def test_captions_are_the_cues_that_overlap_the_segment(tmp_path: Path) -> None:
    path = tmp_path / "captions.srt"
    path.write_text(
        "1\n00:00:01,000 --> 00:00:02,500\nOne\n\n"
        "2\n00:00:02,500 --> 00:00:04,000\n<i>Two</i>\nlines\n\n"
        "3\n00:00:09,000 --> 00:00:10,000\nThree\n",
        encoding="utf-8-sig",
    )

    cues = read_captions(path, 2.5, 9.0)

    assert [(cue.start_s, cue.end_s, cue.text) for cue in cues] == [(2.5, 4.0, "Two lines")]


@pytest.mark.parametrize("content", [b"", b"\x00\x01garbage" * 500], ids=["empty", "garbage"])
def test_a_file_that_is_no_media_is_a_decode_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(content)

    with pytest.raises(DecodeError, match=r"clip\.mp4"):
        probe(path)


def test_a_file_cut_before_its_index_is_a_decode_error(tmp_path: Path) -> None:
    whole = make_clip(tmp_path / "whole.mp4")
    path = tmp_path / "cut.mp4"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])

    assert "cut.mp4" in prepare(*_request(path, "video", 0.0, 4.0)).error


@pytest.mark.parametrize("kind", ["video", "audio"])
def test_a_half_downloaded_file_is_a_decode_error_where_it_is_cut(
    kind: str, tmp_path: Path
) -> None:
    whole = make_clip(tmp_path / "whole.mp4", index_first=True)  # 8 s
    path = tmp_path / "half.mp4"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])

    before, across = (prepare(*_request(path, kind, *times)) for times in ((0, 1), (0, 8)))

    assert before.error == ""
    assert "half.mp4" in across.error


def test_a_segment_beyond_the_end_is_clamped_and_says_so(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=100)

    prepared = prepare(*_request(path, "video", 2.0, 5.0))

    assert prepared.error == ""
    facts = prepared.effective["video"][0]
    assert (facts["start_s"], facts["clamped_from_s"]) == (2.0, 5.0)
    assert facts["end_s"] == pytest.approx(4.0, abs=0.05)
    assert "missing_s" not in facts
    assert facts["decoder"].startswith("PyAV ")


@pytest.mark.parametrize(
    ("start_s", "end_s", "missing_s"),
    [
        (0.0, 4.9, None),  # within what containers and metadata differ by
        (3.9, 4.8, None),
        (0.0, 7.9, None),  # half of it is there
        (0.0, 8.5, 4.5),
        (0.0, 39.9, 35.9),
    ],
)
def test_a_file_that_is_much_shorter_than_asked_says_what_is_missing(
    start_s: float, end_s: float, missing_s: float | None, tmp_path: Path
) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=100, tone_hz=None)  # 4 s

    prepared = prepare(*_request(path, "video", start_s, end_s))

    assert prepared.error == ""
    found = prepared.effective["video"][0].get("missing_s")
    assert found == (missing_s and pytest.approx(missing_s, abs=0.01))


def test_more_than_ten_seconds_are_missed_in_a_long_segment_too(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=31, rate=1, tone_hz=None)  # 31 s

    facts = prepare(*_request(path, "video", 0.0, 42.0)).effective["video"][0]

    assert facts["missing_s"] == pytest.approx(11.0, abs=0.01)


@pytest.mark.parametrize("kind", ["video", "audio"])
def test_a_file_with_less_than_a_tenth_of_what_is_asked_is_a_decode_error(
    kind: str, tmp_path: Path
) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=2, tone_hz=440.0)  # 0.08 s

    prepared = prepare(*_request(path, kind, 0.0, 26.0))

    assert "clip.mp4: the file ends at" in prepared.error
    assert "of the 26 s that are asked for only" in prepared.error


def test_sound_alone_of_a_file_without_sound_is_a_decode_error(tmp_path: Path) -> None:
    """Else the model would be asked about nothing, and its answer would count."""
    path = make_clip(tmp_path / "clip.mp4", frames=25, tone_hz=None)

    prepared = prepare(*_request(path, "audio", 0.0, 1.0))

    assert "clip.mp4: no sound where it is asked for" in prepared.error
    assert prepared.effective["audio"] == [{"start_s": 0.0, "end_s": 1.0, "audio": "none"}]


def test_captions_of_which_none_are_in_the_segment_are_still_captions(tmp_path: Path) -> None:
    path = tmp_path / "captions.srt"
    path.write_text("1\n00:00:01,000 --> 00:00:02,000\nOne\n")

    prepared = prepare(*_request(path, "captions", 5.0, 6.0))

    assert (prepared.error, prepared.media) == ("", ((),))


def test_a_segment_that_starts_after_the_end_is_a_decode_error(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=25)

    prepared = prepare(*_request(path, "video", 30.0, 60.0))

    assert "the segment starts at 30 s, the file ends at" in prepared.error


def test_prepared_media_come_in_the_order_of_the_requests_parts(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=100, tone_hz=None)
    request, files = _request(path, "video", 0.0, 4.0)
    parts = (Text(text="Look"), *request.messages[0].parts, _media("b" * 64, "audio", 0.0, 4.0))
    request = Request(
        engine="e",
        model="m",
        messages=(Message(role="user", parts=parts),),
        preprocessing=request.preprocessing,
    )

    prepared = prepare(request, files | {"b" * 64: str(path)})

    frames, sound = prepared.media
    assert [read_number(frame) for frame in frames.pixels] == [12, 37, 62, 87]
    assert sound is None
    assert prepared.effective["audio"] == [{"start_s": 0.0, "end_s": 4.0, "audio": "none"}]


def test_decord_decodes_where_it_is_asked_for_and_the_key_and_the_record_say_so(
    tmp_path: Path,
) -> None:
    # A short clip with one key frame a second: there decord finds what it is asked for.
    path = make_clip(tmp_path / "clip.mp4", options={"g": "25"})
    request, files = _request(path, "video", 2.0, 6.0)
    asked = replace(request.preprocessing, decoder="decord")
    by_decord = replace(request, preprocessing=asked)

    prepared, exact = prepare(by_decord, files), prepare(request, files)

    assert by_decord.key() != request.key()
    [facts], [exact_facts] = prepared.effective["video"], exact.effective["video"]
    assert facts["decoder"] == "decord"
    assert facts["times_s"] == exact_facts["times_s"]
    numbers = [[read_number(pixels) for pixels in one.media[0].pixels] for one in (prepared, exact)]
    assert numbers[0] == numbers[1]


def test_media_asked_again_are_decoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_clip(tmp_path / "clip.mp4", frames=50)
    decoded = []
    real = decode.read_frames
    monkeypatch.setattr(decode, "read_frames", lambda *asked: decoded.append(asked) or real(*asked))
    recent: Recent[decode.Part] = Recent(10_000_000)

    def prepare_again(start_s: float, frames: int) -> decode.Prepared:
        media = (_media("a" * 64, "video", start_s, 2.0),)
        asked = Preprocessing(frames=frames)
        return decode.prepare_media(media, asked, {"a" * 64: str(path)}, recent)

    first, again = prepare_again(0.0, 4), prepare_again(0.0, 4)
    assert len(decoded) == 1
    assert again.media == first.media
    prepare_again(0.5, 4)
    prepare_again(0.0, 3)
    assert len(decoded) == 3


def test_what_is_at_hand_fits_into_its_bound_and_the_oldest_use_goes_first() -> None:
    recent: Recent[str] = Recent(10)
    made = []

    def get(key: str, size: int) -> str:
        return recent.get(key, lambda: made.append(key) or key, lambda _: size)

    for key, size in (("a", 4), ("b", 4), ("a", 4), ("c", 4), ("a", 4), ("b", 4), ("huge", 11)):
        get(key, size)
    get("huge", 11)

    assert made == ["a", "b", "c", "b", "huge", "huge"]


def test_a_file_that_is_gone_is_a_decode_error(tmp_path: Path) -> None:
    prepared = prepare(*_request(tmp_path / "gone.mp4", "video", 0.0, 1.0))

    assert "gone.mp4: No such file" in prepared.error


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_gives_frames_or_a_decode_error(seed: int, tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4")
    rng = random.Random(seed)
    content = bytearray(path.read_bytes())
    for at in rng.sample(range(len(content)), len(content) // 100):
        content[at] = rng.randrange(256)
    path.write_bytes(content)

    prepared = prepare(*_request(path, "video", 1.0, 7.0))

    assert "clip.mp4" in prepared.error or prepared.effective["video"][0]["frames"] > 0


def _media(sha256: str, kind: str, start_s: float, end_s: float) -> Media:
    return Media(kind=kind, sha256=sha256, start_s=start_s, end_s=end_s)


def _request(path: Path, kind: str, start_s: float, end_s: float) -> tuple[Request, dict[str, str]]:
    digest = "a" * 64
    message = Message(role="user", parts=(_media(digest, kind, start_s, end_s),))
    preprocessing = Preprocessing(frames=4)
    request = Request(engine="e", model="m", messages=(message,), preprocessing=preprocessing)
    return request, {digest: str(path)}
