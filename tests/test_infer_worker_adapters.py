"""The bundled worker adapters against stand-ins for the models' packages.

A stand-in takes the arguments of the published function and no others, checks the shapes that the
model would need, and notes what it was given. Nothing but the weights and the feature extraction is
left out: tensors, prompts, files and the order of calls are the adapter's own.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import wave
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cache.request import Media, Message, Request, Sampling, Text
from infer.card import load_card
from infer.chat import make_chat
from infer.media.decode import Prepared
from infer.media.frames import Frames
from infer.media.sound import Sound
from infer.worker.adapters import (
    baichuan_omni_1_5,
    uni_moe_2_omni,
    videollama2_av,
    vita_1_5,
)
from infer.worker.media import write_ask
from infer.worker.serve import Ask, Card

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 12, 20, 3), np.uint8)
TIMES_S = np.array([100.25, 102.75, 105.25, 107.75, 110.25])  # 0.4 frames a second
SAMPLES = np.linspace(-0.5, 0.5, 40_000, dtype=np.float32)
QUESTION = "What does the <video> show, and the <audio>?"

AskFor = Callable[..., Ask]


@pytest.fixture
def ask(tmp_path: Path) -> AskFor:
    """Make a request as a worker gets it."""
    numbers = itertools.count()

    def made(*, video: bool = True, sound: bool = True, system: str = "", **sampling: Any) -> Ask:
        media: list[tuple[Media, Any]] = []
        if video:
            media.append((Media(kind="video", sha256="a" * 64), Frames(PIXELS, TIMES_S)))
        if sound:
            media.append((Media(kind="audio", sha256="a" * 64), Sound(SAMPLES, 16_000)))
        parts = (*(part for part, _ in media), Text(text=QUESTION))
        messages = [Message(role="user", parts=parts)]
        if system:
            messages.insert(0, Message(role="system", parts=(Text(text=system),)))
        request = Request(
            engine="worker",
            model="m",
            messages=tuple(messages),
            sampling=Sampling(**({"max_tokens": 50} | sampling)),
        )
        chat = make_chat(request, Prepared(tuple(content for _, content in media)))
        return Ask(write_ask(request, chat, next(numbers), tmp_path))

    return made


@pytest.fixture
def dialogue(tmp_path: Path) -> Ask:
    """A dialogue's second turn: an example, two clips and the first answer."""
    shown = [
        Frames(PIXELS[:2], TIMES_S[:2]),
        Frames(PIXELS, TIMES_S),
        Frames(PIXELS[:1], TIMES_S[:1]),
    ]
    heard = [Sound(SAMPLES, 16_000), Sound(SAMPLES[:16_000], 16_000)]
    video, audio = (Media(kind=kind, sha256="a" * 64) for kind in ("video", "audio"))
    turns = [
        ("system", [Text(text="Watch.")]),
        ("user", [Text(text="An example:"), video, Text(text="Now:"), video, audio]),
        ("assistant", [Text(text="Cut it here.")]),
        ("user", [video, audio]),
    ]
    request = Request(
        engine="worker",
        model="m",
        messages=tuple(Message(role=role, parts=tuple(parts)) for role, parts in turns),  # type: ignore[arg-type]
    )
    media = (shown[0], shown[1], heard[0], shown[2], heard[1])
    return Ask(write_ask(request, make_chat(request, Prepared(media)), 0, tmp_path))


@pytest.fixture
def card(tmp_path: Path) -> Callable[[str], Card]:
    """The bundled card of a model, its weights in a folder."""

    def made(name: str) -> Card:
        bundled = load_card(name)
        weights = tmp_path / bundled.checkpoint.rpartition("/")[2]
        weights.mkdir()
        message = {
            "checkpoint": str(weights),
            "revision": None,
            "settings": bundled.settings,
            "trust_remote_code": bundled.trust_remote_code,
        }
        return Card(message, str(tmp_path))

    return made


class Calls(dict[str, Any]):
    """What stand-ins were given, by the function's name."""


@pytest.fixture
def calls() -> Calls:
    return Calls()


def modules(patch: pytest.MonkeyPatch, members: dict[str, dict[str, Any]]) -> None:
    """Put modules of these names and members in place, with their parents."""
    for name in members:
        for length in range(1, len(name.split(".")) + 1):
            parent = ".".join(name.split(".")[:length])
            if parent not in members and parent not in sys.modules:
                patch.setitem(sys.modules, parent, ModuleType(parent))
    for name, found in members.items():
        module = ModuleType(name)
        vars(module).update(found)
        patch.setitem(sys.modules, name, module)


def read_wav(path: str) -> np.ndarray:
    with wave.open(path) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32767


class Words:
    """A tokenizer that has a token for each word."""

    eos_token_id = 0

    def __len__(self) -> int:
        return 152_000

    def __call__(self, text: str, add_special_tokens: bool = True) -> Any:
        return SimpleNamespace(input_ids=list(range(len(text.split()))))


# VideoLLaMA2.1-7B-AV


@pytest.fixture
def videollama2(monkeypatch: pytest.MonkeyPatch, calls: Calls, tmp_path: Path) -> Any:
    model = SimpleNamespace(model=SimpleNamespace(vision_tower="eyes", audio_tower="ears"))

    def process_video(frames: Any, num_frames: int = 8, va: bool = False) -> Any:
        assert isinstance(frames, np.ndarray)
        assert not va  # sound of an array cannot be read
        calls["frames"] = np.array(frames)[: utils["MAX_FRAMES"]]
        assert len(calls["frames"]) == num_frames  # else it is filled up with black
        return torch.from_numpy(calls["frames"]).permute(0, 3, 1, 2)

    def process_audio_from_video(audio_path: str, clip_duration: float) -> Any:
        calls["wav"], calls["length_s"] = read_wav(audio_path), clip_duration
        return torch.zeros(1, 2998, 128)

    def process_audio_file(path: str) -> Any:
        calls["wav"] = read_wav(path)
        return torch.zeros(1, 2998, 128)

    def model_init(model_path: str | None = None) -> Any:
        calls["model_init"] = model_path
        return model, {"video": process_video, "audio": process_audio_file}, Words()

    def mm_infer(
        image_or_video: Any, instruct: str, model: Any, tokenizer: Any, modal: str, **options: Any
    ) -> str:
        assert set(options) <= {"do_sample", "temperature", "top_p", "max_new_tokens"}
        towers = model.model.vision_tower, model.model.audio_tower
        calls["mm_infer"] = image_or_video, instruct, modal, options, towers
        return "two words"

    utils = {"MAX_FRAMES": 4, "process_audio_from_video": process_audio_from_video}
    modules(
        monkeypatch,
        {
            "videollama2": {"model_init": model_init, "mm_infer": mm_infer},
            "videollama2.mm_utils": utils,
            "videollama2.utils": {"disable_torch_init": lambda: None},
        },
    )
    module = sys.modules["videollama2.mm_utils"]
    utils = vars(module)
    sys.modules["videollama2"].mm_utils = module  # type: ignore[attr-defined]
    program = tmp_path / "ffmpeg"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return model


@pytest.mark.usefixtures("videollama2")
def test_videollama2_is_given_all_frames_and_the_sound(
    ask: AskFor, card: Callable[[str], Card], calls: Calls, tmp_path: Path
) -> None:
    model = videollama2_av.load(card("videollama2.1-7b-av"))
    [reply] = model.generate([ask(temperature=0.7, top_p=0.95, seed=3, system="Be brief.")])

    assert calls["model_init"] == str(tmp_path / "VideoLLaMA2.1-7B-AV")
    media, instruct, modal, options, towers = calls["mm_infer"]
    assert np.array_equal(calls["frames"], PIXELS)
    assert set(media) == {"video", "audio"}
    assert media["video"].shape == (5, 3, 12, 20)
    assert np.abs(calls["wav"] - SAMPLES).max() < 1 / 32767
    assert calls["length_s"] == 2.5
    assert instruct == f"Be brief.\n{QUESTION}"
    assert modal == "video"
    assert options == {
        "do_sample": True,
        "temperature": 0.7,
        "top_p": 0.95,
        "max_new_tokens": 50,
    }
    assert towers == ("eyes", "ears")
    assert (reply["outcome"], reply["text"], reply["output_tokens"]) == ("ok", "two words", 2)


def test_videollama2_leaves_out_the_tower_of_what_it_is_not_given(
    ask: AskFor, card: Callable[[str], Card], calls: Calls, videollama2: Any
) -> None:
    model = videollama2_av.load(card("videollama2.1-7b-av"))
    seen = []
    for given in (ask(sound=False), ask(video=False)):
        model.generate([given])
        seen.append((calls["mm_infer"][2], calls["mm_infer"][4]))

    assert seen == [("video", ("eyes", None)), ("audio", (None, "ears"))]
    assert vars(videollama2.model) == {"vision_tower": "eyes", "audio_tower": "ears"}


@pytest.mark.usefixtures("videollama2")
def test_videollama2_without_ffmpeg_does_not_go_on_with_silence(
    card: Callable[[str], Card], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(RuntimeError, match="ffmpeg"):
        videollama2_av.load(card("videollama2.1-7b-av"))


# VITA-1.5


@pytest.fixture
def vita(monkeypatch: pytest.MonkeyPatch, calls: Calls) -> Any:
    class Chat:
        sep, sep2, sep_style = "<|im_end|>", "</s>", "qwen"
        roles = ("user", "bot")

        def __init__(self) -> None:
            self.messages: list[Any] = []

        def copy(self) -> Chat:
            return Chat()

        def append_message(self, role: str, message: str | None) -> None:
            self.messages.append((role, message))

        def get_prompt(self, modality: str) -> str:
            assert modality in ("video", "lang")
            calls["modality"], calls["messages"] = modality, self.messages
            return f"<|im_start|>{self.messages[0][1]}<|im_end|><|im_start|>"

    class Pictures:
        image_mean = (0.5, 0.25, 0.75)

        def preprocess(self, picture: Any, return_tensors: str) -> Any:
            assert picture.mode == "RGB"
            calls.setdefault("pictures", []).append(np.asarray(picture))
            return {"pixel_values": torch.zeros(1, 3, 448, 448)}

    class Sounds:
        def process(self, wav_path: str) -> Any:
            calls["wav"] = read_wav(wav_path)
            return torch.ones(248, 80), 31

    def tokenize(name: str) -> Any:
        def tokenizer(prompt: str, tokenizer: Any, index: int, return_tensors: str) -> Any:
            calls["tokenizer"] = name
            marks = re.findall(r"<image>|<sound>|\S+?(?=<|$)|\S+", prompt)
            ids = [{"<image>": index, "<sound>": -500}.get(mark, 7) for mark in marks]
            return torch.tensor(ids)

        return tokenizer

    class Model:
        device, dtype = torch.device("cpu"), torch.float16
        config = SimpleNamespace(image_aspect_ratio="pad", max_position_embeddings=32_768)

        def resize_token_embeddings(self, size: int) -> None:
            assert size == 152_000

        def get_vision_tower(self) -> Any:
            tower = SimpleNamespace(is_loaded=False, image_processor=Pictures())
            tower.load_model = lambda: calls.update(loaded=True)
            return tower

        def get_audio_encoder(self) -> Any:
            encoder = SimpleNamespace(audio_processor=Sounds())
            encoder.to = lambda dtype: None
            return encoder

        def eval(self) -> None: ...

        def generate(
            self,
            inputs: Any,
            *,
            images: Any,
            audios: Any,
            shared_v_pid_stride: None,
            do_sample: bool,
            num_beams: int,
            return_dict_in_generate: bool,
            max_new_tokens: int,
            use_cache: bool,
            stopping_criteria: list[Any],
            temperature: float | None = None,
            top_p: float | None = None,
        ) -> Any:
            calls["generate"] = {k: v for k, v in locals().items() if k != "self"}
            said = torch.tensor([[40, 41, 42]])
            repeated = torch.cat([inputs, said], dim=1)
            return SimpleNamespace(sequences=repeated if calls.get("repeats") else said)

    class Tokenizer(Words):
        def batch_decode(self, ids: Any, skip_special_tokens: bool) -> list[str]:
            assert [one.tolist() for one in ids] == [[40, 41, 42]]
            return [' ☞{"answer": 1}<|im_end|>']

    def load_pretrained_model(path: str, base: None, name: str, model_type: str) -> Any:
        calls["load"] = name, model_type
        return Tokenizer(), Model(), None, 32_768

    modules(
        monkeypatch,
        {
            "vita.constants": {
                "DEFAULT_AUDIO_TOKEN": "<sound>",
                "DEFAULT_IMAGE_TOKEN": "<image>",
                "IMAGE_TOKEN_INDEX": -200,
            },
            "vita.conversation": {
                "SeparatorStyle": SimpleNamespace(TWO="two"),
                "conv_templates": {"qwen2p5_instruct": Chat()},
            },
            "vita.model.builder": {"load_pretrained_model": load_pretrained_model},
            "vita.util.mm_utils": {
                "get_model_name_from_path": lambda path: path.strip("/").split("/")[-1],
                "tokenizer_image_token": tokenize("pictures"),
                "tokenizer_image_audio_token": tokenize("pictures and sound"),
                "KeywordsStoppingCriteria": lambda words, tokenizer, ids: tuple(words),
            },
            "vita.util.utils": {"disable_torch_init": lambda: None},
        },
    )
    return Model


@pytest.mark.usefixtures("vita")
@pytest.mark.parametrize("repeats", [False, True])
def test_vita_is_given_frames_as_square_pictures_and_the_sound(
    repeats: bool, ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    calls["repeats"] = repeats
    [reply] = vita_1_5.load(card("vita-1.5")).generate([ask(temperature=0.7, top_p=0.95)])

    assert calls["load"] == ("VITA-1.5", "qwen2p5_instruct")
    assert calls["loaded"]
    assert [picture.shape for picture in calls["pictures"]] == [(20, 20, 3)] * 5
    assert np.array_equal(calls["pictures"][1][4:16], PIXELS[1])
    assert calls["pictures"][0][0, 0].tolist() == [127, 63, 191]
    assert calls["messages"] == [("user", "<image>" * 5 + f"\n{QUESTION}<sound>"), ("bot", None)]
    assert (calls["modality"], calls["tokenizer"]) == ("video", "pictures and sound")
    given = calls["generate"]
    assert given["inputs"].shape[0] == 1
    assert given["inputs"].tolist()[0].count(-200) == 5
    assert given["images"].shape == (5, 3, 448, 448)
    assert given["images"].dtype is torch.float16
    assert given["audios"]["audios"].shape == (1, 248, 80)
    assert given["audios"]["lengths"].tolist() == [248.0]
    assert given["audios"]["lengths_for_llm"].tolist() == [31]
    assert (given["do_sample"], given["temperature"], given["top_p"]) == (True, 0.7, 0.95)
    assert given["max_new_tokens"] == 50
    assert given["stopping_criteria"] == [("<|im_end|>",)]
    assert np.abs(calls["wav"] - SAMPLES).max() < 1 / 32767
    assert (reply["text"], reply["output_tokens"]) == ('☞{"answer": 1}', 3)
    words = given["inputs"].shape[1] - 6
    assert reply["input_tokens"] == words + 5 * 256 + 31


@pytest.mark.usefixtures("vita")
def test_vita_without_video_or_sound_gets_the_stand_ins_of_its_demo(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    model = vita_1_5.load(card("vita-1.5"))

    model.generate([ask(sound=False)])
    silent = calls["generate"], calls["tokenizer"], calls["modality"]
    model.generate([ask(video=False)])
    blind = calls["generate"], calls["tokenizer"], calls["modality"]

    assert silent[1:] == ("pictures", "video")
    assert silent[0]["audios"]["audios"].shape == (1, 400, 80)
    assert silent[0]["audios"]["lengths_for_llm"].tolist() == [60]
    assert blind[1:] == ("pictures and sound", "lang")
    assert blind[0]["images"].shape == (1, 3, 448, 448)
    assert not silent[0]["do_sample"]
    assert silent[0]["temperature"] is None


@pytest.mark.usefixtures("vita")
def test_vita_is_given_a_dialogue_turn_by_turn(
    dialogue: Ask, card: Callable[[str], Card], calls: Calls
) -> None:
    [reply] = vita_1_5.load(card("vita-1.5")).generate([dialogue])

    assert calls["messages"] == [
        ("user", f"Watch.\nAn example:{'<image>' * 2}\nNow:{'<image>' * 5}\n<sound>"),
        ("bot", "Cut it here."),
        ("user", "<image>\n<sound>"),
        ("bot", None),
    ]
    given = calls["generate"]
    assert given["images"].shape == (8, 3, 448, 448)
    assert given["audios"]["audios"].shape == (2, 248, 80)
    assert given["audios"]["lengths_for_llm"].tolist() == [31, 31]
    assert reply["outcome"] == "ok"


def test_vita_refuses_a_prompt_that_its_code_would_cut(
    ask: AskFor, card: Callable[[str], Card], vita: Any, calls: Calls
) -> None:
    vita.config = SimpleNamespace(tokenizer_model_max_length=1200)

    [reply] = vita_1_5.load(card("vita-1.5")).generate([ask()])

    assert reply["outcome"] == "context_overflow"
    assert "the limit is 1200" in reply["error"]
    assert "generate" not in calls


# Uni-MoE-2.0-Omni


@pytest.fixture
def uni_moe(monkeypatch: pytest.MonkeyPatch, calls: Calls) -> Any:
    class Inputs(dict[str, Any]):
        def to(self, device: Any) -> Inputs:
            return self

    class Processor:
        tokenizer = Words()
        data_args: Any = None

        @classmethod
        def from_pretrained(cls, path: str) -> Processor:
            return cls()

        def apply_chat_template(
            self, messages: list[Any], tokenize: bool, add_generation_prompt: bool
        ) -> str:
            calls["messages"] = messages
            [text] = [part["text"] for part in messages[-1]["content"] if part["type"] == "text"]
            return f"<|im_start|>user\n{text}<|im_end|>"

        def __call__(
            self,
            *,
            text: str,
            images: Any,
            videos: Any,
            audios: Any,
            padding: bool,
            return_tensors: str,
        ) -> Inputs:
            calls["processor"] = {"text": text, "videos": videos, "audios": audios}
            inputs = Inputs(input_ids=torch.arange(9))
            if videos is not None:
                assert len(videos[0]) <= self.data_args.frames_upbound
                # As the published processor derives it from the files' names.
                names = [int(Path(path).name.split(".")[0]) for path in videos[0]]
                calls["fps"] = float(np.mean(np.diff(names)))
                inputs["pixel_values_videos"] = torch.zeros(5, 3, 384, 384)
                inputs["second_grid_ts"] = torch.tensor([1 / calls["fps"]])
            if audios is not None:
                inputs["audio_features"] = torch.zeros(1, 128, 3000)
            return inputs

        def batch_decode(self, ids: Any, skip_special_tokens: bool) -> list[str]:
            return [" ".join(map(str, ids[0].tolist()))]

    class Model:
        device = torch.device("cpu")
        config = SimpleNamespace(frames_upbound=2, max_position_embeddings=32_768)

        @classmethod
        def from_pretrained(
            cls, path: str, *, torch_dtype: Any, attn_implementation: str, device_map: str
        ) -> Model:
            calls["load"] = Path(path).name, torch_dtype, attn_implementation
            return cls()

        def eval(self) -> Model:
            return self

        def generate(self, **options: Any) -> Any:
            calls["generate"] = options
            return torch.cat([options["input_ids"], torch.tensor([[5, 6]])], dim=1)

    def process_mm_info(messages: list[Any]) -> Any:
        found: dict[str, list[Any]] = {"image": [], "video": [], "audio": []}
        for part in (part for message in messages for part in message["content"]):
            if isinstance(part, dict) and part["type"] in found:
                value = part[part["type"]]
                found[part["type"]].append(read_wav(value) if part["type"] == "audio" else value)
        return found["image"] or None, found["video"] or None, found["audio"] or None

    modules(
        monkeypatch,
        {
            "uni_moe.model.deepspeed_moe_inference_utils": {},
            "uni_moe.model.modeling_out": {"GrinQwen2VLOutForConditionalGeneration": Model},
            "uni_moe.model.processing_qwen2_vl": {"Qwen2VLProcessor": Processor},
            "uni_moe.qwen_vl_utils": {"process_mm_info": process_mm_info},
        },
    )
    package = sys.modules["uni_moe.model"]
    package.deepspeed_moe_inference_utils = ModuleType("utils")  # type: ignore[attr-defined]
    return Model


@pytest.mark.usefixtures("uni_moe")
def test_uni_moe_is_given_the_frames_their_rate_and_the_sound(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    model = uni_moe_2_omni.load(card("uni-moe-2.0-omni"))
    [reply] = model.generate([ask(temperature=0.7, top_p=0.95, system="Be brief.")])

    assert calls["load"] == ("Uni-MoE-2.0-Omni", torch.bfloat16, "flash_attention_2")
    system, user = calls["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert [part["type"] for part in user["content"]] == ["audio", "video", "text"]
    given = calls["processor"]
    # The question's own words stay as they are.
    assert given["text"] == (
        "<|im_start|>user\n<|vision_start|><|video_pad|><|vision_end|>\n"
        f"<|audio_start|><|audio_pad|><|audio_end|>\n{QUESTION}<|im_end|>"
    )
    [pictures] = given["videos"]
    assert all(np.array_equal(Image.open(path), PIXELS[i]) for i, path in enumerate(pictures))
    assert calls["fps"] == pytest.approx(0.4, abs=0.13)  # whole numbers over four steps
    assert np.abs(given["audios"][0] - SAMPLES).max() < 1 / 32767
    options = calls["generate"]
    assert options["input_ids"].shape == (1, 9)
    assert options["pixel_values_videos"].dtype is torch.bfloat16
    assert options["audio_features"].dtype is torch.bfloat16
    assert "second_per_grid_ts" in options
    assert "second_grid_ts" not in options
    assert (options["do_sample"], options["temperature"], options["top_p"]) == (True, 0.7, 0.95)
    assert options["max_new_tokens"] == 50
    assert (reply["text"], reply["input_tokens"], reply["output_tokens"]) == ("5 6", 9, 2)


@pytest.mark.usefixtures("uni_moe")
def test_uni_moe_is_told_of_nothing_that_it_is_not_given(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    model = uni_moe_2_omni.load(card("uni-moe-2.0-omni"))
    model.generate([ask(video=False)])

    given = calls["processor"]
    assert given["videos"] is None
    assert given["text"].count("<|audio_pad|>") == 1
    assert QUESTION in given["text"]


def test_uni_moe_refuses_a_prompt_beyond_the_context(
    ask: AskFor, card: Callable[[str], Card], uni_moe: Any
) -> None:
    uni_moe.config = SimpleNamespace(frames_upbound=2, max_position_embeddings=8)

    [reply] = uni_moe_2_omni.load(card("uni-moe-2.0-omni")).generate([ask()])

    assert reply == {"outcome": "context_overflow", "error": "9 input tokens, the limit is 8"}


@pytest.mark.parametrize("apart_s", [0.5, 0.7, 1.0, 2.8])
def test_frames_are_numbered_by_their_true_rate(apart_s: float) -> None:
    numbers = uni_moe_2_omni.numbers([300 + apart_s * place for place in range(256)])

    assert np.mean(np.diff(numbers)) == pytest.approx(1 / apart_s, rel=0.01)
    assert uni_moe_2_omni.numbers([4.0]) == [0]


# Baichuan-Omni-1.5


@pytest.fixture
def baichuan(monkeypatch: pytest.MonkeyPatch, calls: Calls) -> Any:
    class Model:
        device = torch.device("cpu")

        def __init__(self) -> None:
            self.config = SimpleNamespace(
                audio_config=SimpleNamespace(split_overlap=-1.0),
                video_config=SimpleNamespace(max_frame_num=2),
                max_position_embeddings=32_768,
            )

        @classmethod
        def from_pretrained(cls, path: str, *, trust_remote_code: bool, **options: Any) -> Model:
            assert trust_remote_code
            assert options == {"torch_dtype": torch.bfloat16, "device_map": "auto"}
            calls["model"] = cls()
            return calls["model"]

        def eval(self) -> None: ...

        def bind_processor(self, tokenizer: Any, training: bool, relative_path: str) -> None:
            assert (training, relative_path) == (False, "/")

        def processor(self, prompts: list[str]) -> Any:
            [prompt] = prompts
            calls["prompt"] = prompt
            shown = re.findall(r"<videoframe_start_omni>(.*?)<videoframe_end_omni>", prompt)
            heard = re.findall(r"<audio_start_baichuan>(.*?)<audio_end_baichuan>", prompt)
            calls["shown"] = [
                np.asarray(Image.open(json.loads(one)["local"]))
                for one in shown[: self.config.video_config.max_frame_num]
            ]
            calls["heard"] = [read_wav(json.loads(one)["path"]) for one in heard]
            videos = [np.zeros((16, 1176)) for _ in calls["shown"]] or None
            return SimpleNamespace(
                input_ids=torch.zeros(1, 12, dtype=torch.long),
                attention_mask=torch.ones(1, 12),
                audios=torch.zeros(1, 128, 250) if heard else None,
                encoder_length=torch.tensor([125]) if heard else None,
                bridge_length=torch.tensor([31]) if heard else None,
                images=None,
                patch_nums=None,
                images_grid=None,
                videos=videos,
                videos_patch_nums=torch.tensor([4] * len(shown)) if shown else None,
                videos_grid=[(1, 4, 4)] * len(shown) if shown else None,
            )

        def generate(
            self,
            *,
            input_ids: Any,
            attention_mask: Any,
            audios: Any,
            encoder_length: Any,
            bridge_length: Any,
            images: Any,
            patch_nums: Any,
            images_grid: Any,
            videos: Any,
            videos_patch_nums: Any,
            videos_grid: Any,
            tokenizer: Any,
            stop_strings: list[str],
            max_new_tokens: int,
            do_sample: bool,
            return_dict_in_generate: bool,
            use_cache: bool,
            temperature: float | None = None,
            top_p: float | None = None,
            top_k: int | None = None,
            repetition_penalty: float | None = None,
        ) -> Any:
            calls["generate"] = {k: v for k, v in locals().items() if k != "self"}
            said = torch.full((1, max_new_tokens), 8)
            return SimpleNamespace(sequences=torch.cat([input_ids, said], dim=1))

    class Tokenizer(Words):
        @classmethod
        def from_pretrained(cls, path: str, *, trust_remote_code: bool) -> Tokenizer:
            return cls()

        def decode(self, ids: Any, skip_special_tokens: bool) -> str:
            return f"{len(ids)} tokens"

    modules(
        monkeypatch,
        {"transformers": {"AutoModelForCausalLM": Model, "AutoTokenizer": Tokenizer}},
    )
    return Model


@pytest.mark.usefixtures("baichuan")
def test_baichuan_is_given_the_very_frames_and_the_sound_between_its_tags(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    model = baichuan_omni_1_5.load(card("baichuan-omni-1.5"))
    [reply] = model.generate([ask(temperature=0.3, top_p=0.85, system="Be brief.")])

    assert re.sub(r"\{.*?\}", "{}", calls["prompt"]) == (
        "<B_SYS>Be brief.<C_Q><video_start_baichuan>"
        + "<videoframe_start_omni>{}<videoframe_end_omni>" * 5
        + "<video_end_baichuan><audio_start_baichuan>{}<audio_end_baichuan>"
        + f"{QUESTION}<C_A>"
    )
    assert np.array_equal(np.stack(calls["shown"]), PIXELS)
    assert np.abs(calls["heard"][0] - SAMPLES).max() < 1 / 32767
    assert calls["model"].config.audio_config.split_overlap == 0  # else cut at 30 s
    given = calls["generate"]
    assert [one.shape for one in given["videos"]] == [(16, 1176)] * 5
    assert given["videos"][0].dtype is torch.float32
    assert given["audios"].shape == (1, 128, 250)
    assert given["encoder_length"].tolist() == [125]
    assert given["stop_strings"] == ["<audiogen_start_baichuan>", "<|endoftext|>"]
    drawn = {name: given[name] for name in ("do_sample", "temperature", "top_p", "top_k")}
    assert drawn == {"do_sample": True, "temperature": 0.3, "top_p": 0.85, "top_k": 20}
    assert given["repetition_penalty"] == 1.05
    assert (reply["text"], reply["outcome"]) == ("50 tokens", "truncated")
    assert (reply["input_tokens"], reply["output_tokens"]) == (12, 50)


@pytest.mark.usefixtures("baichuan")
def test_baichuan_is_given_a_dialogue_turn_by_turn(
    dialogue: Ask, card: Callable[[str], Card], calls: Calls
) -> None:
    baichuan_omni_1_5.load(card("baichuan-omni-1.5")).generate([dialogue])

    said = re.sub(r"<video_start_baichuan>.*?<video_end_baichuan>", "V", calls["prompt"])
    said = re.sub(r"<audio_start_baichuan>.*?<audio_end_baichuan>", "A", said)
    assert said == "<B_SYS>Watch.<C_Q>An example:VNow:VA<C_A>Cut it here.<C_Q>VA<C_A>"
    shown = [PIXELS[:2], PIXELS, PIXELS[:1]]
    assert calls["model"].config.video_config.max_frame_num == 5
    assert np.array_equal(calls["shown"][:5], np.concatenate(shown)[:5])
    assert [len(one) for one in calls["heard"]] == [40_000, 16_000]


@pytest.mark.usefixtures("baichuan")
def test_baichuan_without_media_is_asked_in_words(
    ask: AskFor, card: Callable[[str], Card], calls: Calls
) -> None:
    baichuan_omni_1_5.load(card("baichuan-omni-1.5")).generate([ask(video=False, sound=False)])

    assert calls["prompt"] == f"<C_Q>{QUESTION}<C_A>"
    assert calls["generate"]["videos"] is calls["generate"]["audios"] is None


@pytest.mark.usefixtures("baichuan")
def test_baichuan_runs_no_code_of_the_checkpoint_that_the_card_does_not_trust(
    card: Callable[[str], Card],
) -> None:
    untrusted = card("baichuan-omni-1.5")
    untrusted.trust_remote_code = False

    with pytest.raises(RuntimeError, match="trust"):
        baichuan_omni_1_5.load(untrusted)
