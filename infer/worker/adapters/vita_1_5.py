"""VITA-1.5: frames as single pictures, and sound, through ``model.generate`` of the vita package.

Written against github.com/VITA-MLLM/VITA: ``video_audio_demo.py`` of commit 00e86e54a588 and
``model/builder.py`` of d4a2f188e72b, which are of version 1.0. What 1.5 added to them is taken from
copies of its main branch: ``qwen2p5_instruct``, ``lengths_for_llm``, ``shared_v_pid_stride``. Never
run with real weights.

What the interface brings with it:

* The checkpoint's ``config.json`` names folders of the vision tower and the audio encoder: both
  have to be there.
* The model starts its answers with a sign for what it took the input to be (☞, ☟, ☜). It is kept.
* The system message stands before the first question, and a turn's sounds behind its words, as in
  the demo. Several sounds are padded to the longest, as the package does for a batch.
* The package cuts a prompt that is too long at its end, and the question with it. So tokens are
  counted here: ``settings.tokens_per_frame`` for a frame, and what the audio processor says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infer.worker.serve import Ask, Card

_TEMPLATE = "qwen2p5_instruct"


class Vita:
    """The model with its processors."""

    def __init__(self, card: Card) -> None:
        import torch
        from vita.model.builder import load_pretrained_model
        from vita.util.mm_utils import get_model_name_from_path
        from vita.util.utils import disable_torch_init

        disable_torch_init()
        place = card.local()
        self._tokenizer, self._model, _, _ = load_pretrained_model(
            place, None, get_model_name_from_path(place), _TEMPLATE
        )
        self._model.resize_token_embeddings(len(self._tokenizer))
        tower = self._model.get_vision_tower()
        if not tower.is_loaded:
            tower.load_model()
        self._pictures = tower.image_processor
        encoder = self._model.get_audio_encoder()
        encoder.to(dtype=torch.float16)
        self._sounds = encoder.audio_processor
        self._model.eval()
        self._tokens_per_frame = int(card.settings["tokens_per_frame"])

    def generate(self, asks: list[Ask]) -> list[dict[str, Any]]:
        """Answer one by one; the interface takes no batches."""
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> dict[str, Any]:
        import torch
        from vita.util.mm_utils import KeywordsStoppingCriteria

        pictures, n_frames = self._frames(ask)
        sound, n_sound = self._sound(ask)
        ids, stop = self._prompt(ask, n_frames)
        marks = n_frames + len(ask.sounds)
        n_input = ids.shape[1] - marks + n_frames * self._tokens_per_frame + n_sound
        limit = self._limit()
        if limit is not None and n_input > limit:
            return ask.failed("context_overflow", f"{n_input} input tokens, the limit is {limit}")
        if ask.seed is not None:
            torch.manual_seed(ask.seed)
        drawn = {"temperature": ask.temperature, "top_p": ask.top_p} if ask.temperature else {}
        with torch.inference_mode():
            output = self._model.generate(
                ids,
                images=pictures,
                audios=sound,
                do_sample=ask.temperature > 0,
                num_beams=1,
                return_dict_in_generate=True,
                max_new_tokens=ask.max_tokens,
                use_cache=True,
                stopping_criteria=[KeywordsStoppingCriteria([stop], self._tokenizer, ids)],
                shared_v_pid_stride=None,
                **drawn,
            )
        said = output.sequences[0]
        if len(said) >= ids.shape[1] and bool((said[: ids.shape[1]] == ids[0]).all()):
            said = said[ids.shape[1] :]  # some versions of transformers repeat the prompt
        text = self._tokenizer.batch_decode([said], skip_special_tokens=False)[0].strip()
        text = text[: -len(stop)] if stop and text.endswith(stop) else text
        return ask.reply(text.strip(), input_tokens=n_input, output_tokens=len(said))

    def _prompt(self, ask: Ask, n_frames: int) -> tuple[Any, str]:
        from vita.constants import DEFAULT_AUDIO_TOKEN, DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
        from vita.conversation import SeparatorStyle, conv_templates
        from vita.util.mm_utils import tokenizer_image_audio_token, tokenizer_image_token

        chat = conv_templates[_TEMPLATE].copy()
        before = f"{ask.system}\n" if ask.system else ""
        for role, pieces in ask.dialogue:
            text, sounds = "", ""
            for piece in pieces:
                if isinstance(piece, str):
                    text, before = text + before + piece, ""
                elif hasattr(piece, "wav"):
                    sounds += DEFAULT_AUDIO_TOKEN
                else:
                    text += DEFAULT_IMAGE_TOKEN * len(piece.pixels) + "\n"
            chat.append_message(chat.roles[role == "assistant"], text + sounds)
        chat.append_message(chat.roles[1], None)
        rendered = chat.get_prompt("video" if n_frames else "lang")
        tokenize = tokenizer_image_audio_token if ask.sounds else tokenizer_image_token
        ids = tokenize(rendered, self._tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
        stop = chat.sep2 if chat.sep_style == SeparatorStyle.TWO else chat.sep
        return ids.unsqueeze(0).to(self._model.device), stop

    def _frames(self, ask: Ask) -> tuple[Any, int]:
        import torch

        if not ask.videos:  # the model looks at pictures in any case
            nothing = torch.zeros((1, 3, 448, 448), dtype=self._model.dtype)
            return nothing.to(self._model.device), 0
        squared = getattr(self._model.config, "image_aspect_ratio", None) == "pad"
        frames = [frame for video in ask.videos for frame in video.pixels]
        pictures = [self._picture(frame, squared=squared) for frame in frames]
        stacked = torch.stack(pictures).to(device=self._model.device, dtype=torch.float16)
        return stacked, len(pictures)

    def _picture(self, frame: Any, *, squared: bool) -> Any:
        from PIL import Image

        picture = Image.fromarray(frame)
        if squared and picture.width != picture.height:
            edge = max(picture.size)
            mean = tuple(int(value * 255) for value in self._pictures.image_mean)
            canvas = Image.new("RGB", (edge, edge), mean)
            canvas.paste(picture, ((edge - picture.width) // 2, (edge - picture.height) // 2))
            picture = canvas
        return self._pictures.preprocess(picture, return_tensors="pt")["pixel_values"][0]

    def _sound(self, ask: Ask) -> tuple[dict[str, Any], int]:
        import torch

        heard = [self._sounds.process(sound.wav()) for sound in ask.sounds]
        # The model hears something in any case: no sound, 60 tokens long.
        features, n_tokens = zip(*(heard or [(torch.zeros(400, 80), 60)]), strict=True)
        device = self._model.device
        padded = torch.nn.utils.rnn.pad_sequence(features, batch_first=True)
        lengths = torch.tensor([one.shape[0] for one in features])
        return {
            "audios": padded.to(device=device, dtype=torch.float16),
            "lengths": lengths.to(device=device, dtype=torch.float16),
            "lengths_for_llm": torch.tensor(n_tokens).to(device),
        }, sum(n_tokens) if heard else 0

    def _limit(self) -> int | None:
        config = self._model.config
        limits = [
            getattr(config, name, None)
            for name in ("tokenizer_model_max_length", "max_position_embeddings")
        ]
        return min((limit for limit in limits if limit is not None), default=None)


def load(card: Card) -> Vita:
    """Load the checkpoint."""
    return Vita(card)
