"""A byte-level tokenizer of 500 tokens and a chat template like Qwen's, for tiny models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

#: The media tokens of Qwen2.5-Omni and Qwen3-Omni, by the names that their processors look for.
QWEN_OMNI = {
    "image_token": "<|IMAGE|>",
    "audio_token": "<|AUDIO|>",
    "video_token": "<|VIDEO|>",
    "vision_bos_token": "<|vision_bos|>",
    "vision_eos_token": "<|vision_eos|>",
    "audio_bos_token": "<|audio_bos|>",
    "audio_eos_token": "<|audio_eos|>",
}
_CORPUS = [
    "Say what can be seen and what can be heard, then answer the question.",
    "the a of and to in is it on for with as at by which who when where how many",
    '{"answer_letter": "B", "answer_index": 1, "rationale": "because", "confidence": 0.5}',
    "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 32 64 100",
]
QWEN_OMNI_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for piece in message['content'] %}"
    "{% if piece['type'] == 'image' %}<|vision_bos|><|IMAGE|><|vision_eos|>"
    "{% elif piece['type'] == 'audio' %}<|audio_bos|><|AUDIO|><|audio_eos|>"
    "{% elif piece['type'] == 'video' %}<|vision_bos|><|VIDEO|><|vision_eos|>"
    "{% else %}{{ piece['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tokenizer(media_tokens: Mapping[str, str] = QWEN_OMNI, more: Iterable[str] = ()) -> Any:
    """Train it; ``more`` are further tokens that stand for themselves."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import Qwen2Tokenizer

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        _CORPUS,
        trainers.BpeTrainer(vocab_size=480, show_progress=False, initial_alphabet=alphabet),
    )
    learned = json.loads(raw.to_str())["model"]
    tokenizer = Qwen2Tokenizer(
        vocab=learned["vocab"],
        merges=[tuple(pair) for pair in learned["merges"]],
        unk_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        model_max_length=32768,
        extra_special_tokens=dict(media_tokens),
    )
    tokenizer.add_special_tokens(
        {"additional_special_tokens": ["<|im_start|>", "<|im_end|>", *more]},
        replace_extra_special_tokens=False,
    )
    return tokenizer
