"""A random Qwen3-Omni checkpoint with four experts a layer: video, sound, pictures, text in.

Like ``tiny_omni``: the layout of the published checkpoints (weights under ``thinker.``, no talker),
so that vLLM and transformers load it with the code that they have for the real ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.tiny_tokenizer import QWEN_OMNI_TEMPLATE, make_tokenizer

_INIT_STD = 0.2
_PATCH = {"patch_size": 16, "merge_size": 2, "temporal_patch_size": 2}
#: Pixels of one frame, at least and at most; kept small for speed.
_SIZE = {"shortest_edge": 4 * 32 * 32, "longest_edge": 64 * 32 * 32}


def make_tiny_qwen3_omni(folder: Path, *, seed: int = 0) -> Path:
    """Write the checkpoint, float32, about 3 MB."""
    import torch
    from transformers import GenerationConfig, Qwen3OmniMoeForConditionalGeneration

    torch.manual_seed(seed)
    tokenizer = make_tokenizer()
    model = Qwen3OmniMoeForConditionalGeneration(_config(tokenizer)).to(torch.float32).eval()
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        do_sample=True,
        temperature=0.5,
        top_k=7,
    )
    model.save_pretrained(folder)
    _processor(tokenizer).save_pretrained(folder)
    return folder


def _config(tokenizer: Any) -> Any:
    from transformers import Qwen3OmniMoeConfig

    def number(token: str) -> int:
        return int(tokenizer.convert_tokens_to_ids(token))

    text = {
        "vocab_size": (len(tokenizer) + 63) // 64 * 64,
        "hidden_size": 64,
        "intermediate_size": 128,
        "moe_intermediate_size": 64,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "max_position_embeddings": 32768,
        "tie_word_embeddings": False,
        "initializer_range": _INIT_STD,
        # 32 dimensions a head: 16 rotary pairs over time, height and width, interleaved.
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e6,
            "mrope_section": [6, 5, 5],
            "mrope_interleaved": True,
        },
        "eos_token_id": number("<|im_end|>"),
        "pad_token_id": number("<|endoftext|>"),
    }
    vision = {
        "depth": 3,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 2,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "out_hidden_size": 64,
        # Two fields of the published files that vLLM reads: a grid of 8 × 8 learned positions.
        "image_size": 128,
        "apply_vit_abs_pos_embed": True,
        "num_position_embeddings": 64,
        "deepstack_visual_indexes": [0, 1],
        "initializer_range": _INIT_STD,
    }
    audio = {
        "num_mel_bins": 128,
        "d_model": 64,
        "encoder_layers": 2,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 128,
        "max_source_positions": 1500,
        "n_window": 50,
        "n_window_infer": 800,
        "downsample_hidden_size": 32,
        "output_dim": 64,
        "initializer_range": _INIT_STD,
    }
    thinker = {
        "dtype": "float32",
        "text_config": text,
        "vision_config": vision,
        "audio_config": audio,
        "audio_token_id": number("<|AUDIO|>"),
        "image_token_id": number("<|IMAGE|>"),
        "video_token_id": number("<|VIDEO|>"),
        "audio_start_token_id": number("<|audio_bos|>"),
        "audio_end_token_id": number("<|audio_eos|>"),
        "vision_start_token_id": number("<|vision_bos|>"),
        "vision_end_token_id": number("<|vision_eos|>"),
        "position_id_per_seconds": 13,
        "initializer_range": _INIT_STD,
    }
    return Qwen3OmniMoeConfig(
        thinker_config=thinker,
        enable_audio_output=False,
        dtype="float32",
        initializer_range=_INIT_STD,
        architectures=["Qwen3OmniMoeForConditionalGeneration"],
    )


def _processor(tokenizer: Any) -> Any:
    from transformers import (
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
        Qwen3OmniMoeProcessor,
        WhisperFeatureExtractor,
    )

    return Qwen3OmniMoeProcessor(
        image_processor=Qwen2VLImageProcessor(size=_SIZE, **_PATCH),
        video_processor=Qwen2VLVideoProcessor(size=_SIZE, **_PATCH, min_frames=2, max_frames=64),
        feature_extractor=WhisperFeatureExtractor(
            feature_size=128,
            sampling_rate=16_000,
            hop_length=160,
            n_fft=400,
            chunk_length=30,
            return_attention_mask=True,
            padding_side="right",
        ),
        tokenizer=tokenizer,
        chat_template=QWEN_OMNI_TEMPLATE,
    )
