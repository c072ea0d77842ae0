"""A request and its media as a chat template takes them."""

from __future__ import annotations

import numpy as np
import pytest

from cache.request import Media, Message, Request, Text
from infer.chat import frame_rate, make_chat
from infer.errors import CardError
from infer.media.decode import Prepared
from infer.media.frames import Frames
from infer.media.sound import Sound

PHI = {"image": "<|image_{n}|>", "audio": "<|audio_{n}|>"}


def frames(*times_s: float) -> Frames:
    pixels = np.arange(len(times_s), dtype=np.uint8).reshape(-1, 1, 1, 1) * np.ones((1, 4, 4, 3))
    return Frames(pixels.astype(np.uint8), np.array(times_s))


def asked(*turns: tuple[str, ...]) -> Request:
    """One user turn for each, of text and media kinds."""
    kinds = ("video", "audio", "image")
    return Request(
        engine="e",
        model="m",
        messages=tuple(
            Message(
                role="user",
                parts=tuple(
                    Media(kind=part, sha256="0" * 64) if part in kinds else Text(text=part)
                    for part in turn
                ),
            )
            for turn in turns
        ),
    )


SOUND = Sound(np.zeros(160, np.float32), 16_000)


def test_a_video_becomes_one_picture_a_frame_with_its_time() -> None:
    chat = make_chat(asked(("video", "what?")), Prepared((frames(0.5, 2.0),)))

    [message] = chat.with_pictures(timed=True).messages({})

    assert message["content"] == [
        {"type": "text", "text": "Frame at 0.50 s:"},
        {"type": "image"},
        {"type": "text", "text": "Frame at 2.00 s:"},
        {"type": "image"},
        {"type": "text", "text": "what?"},
    ]
    pictures = chat.with_pictures(timed=False).of("image")
    assert [int(one.pixels[0, 0, 0, 0]) for one in pictures] == [0, 1]
    assert [one.pixels.shape for one in pictures] == [(1, 4, 4, 3)] * 2


def test_placeholders_are_numbered_by_kind_through_the_whole_conversation() -> None:
    chat = make_chat(
        asked(("video", "audio", "first"), ("image", "audio", "second")),
        Prepared((frames(0.0, 1.0), SOUND, frames(0.0), SOUND)),
    )

    said = [message["content"] for message in chat.with_pictures(timed=False).messages(PHI)]

    assert said == ["<|image_1|><|image_2|><|audio_1|>first", "<|image_3|><|audio_2|>second"]


def test_sound_that_is_not_there_leaves_no_placeholder() -> None:
    chat = make_chat(asked(("audio", "first")), Prepared((None,)))

    assert chat.messages(PHI)[0]["content"] == "first"


def test_a_placeholder_that_the_card_lacks_is_named() -> None:
    chat = make_chat(asked(("video",)), Prepared((frames(0.0),)))

    with pytest.raises(CardError, match="placeholders of the model card lack 'video'"):
        chat.messages(PHI)


@pytest.mark.parametrize(
    ("times_s", "fps"), [((0.5, 1.0, 1.5), 2.0), ((1.0, 3.0, 5.0), 0.5), ((7.0,), 1.0)]
)
def test_the_rate_of_frames_is_that_of_their_times(times_s: tuple[float, ...], fps: float) -> None:
    assert frame_rate(frames(*times_s)) == fps
