"""A random Qwen2.5-Omni checkpoint of half a million parameters: video, sound, pictures, text in.

It has the files and the layout of the published ones (weights under ``thinker.``, no talker), so
vLLM and transformers load it with the same code. What it says is noise; that both libraries say
the same noise is what tests look at. Weights are drawn ten times wider than usual, so that greedy
answers depend on every input.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.tiny_tokenizer import QWEN_OMNI_TEMPLATE, make_tokenizer

_INIT_STD = 0.2
#: Pixels of one frame, at least and at most; kept small for speed.
_SIZE = {"shortest_edge": 4 * 28 * 28, "longest_edge": 64 * 28 * 28}


def make_tiny_omni(folder: Path, *, seed: int = 0) -> Path:
    """Write the checkpoint, float32, about 2 MB."""
    import torch
    from transformers import GenerationConfig, Qwen2_5OmniForConditionalGeneration

    torch.manual_seed(seed)
    tokenizer = make_tokenizer()
    model = Qwen2_5OmniForConditionalGeneration(_config(tokenizer)).to(torch.float32).eval()
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        do_sample=True,
        temperature=0.5,
        top_k=7,
    )
    model.save_pretrained(folder)
    _processor(tokenizer).save_pretrained(folder)
    # transformers writes its own class' name; published checkpoints have this one.
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["Qwen2_5OmniModel"]
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    return folder


def make_tiny_adapter(folder: Path, *, layers: int, size: int) -> None:
    """Write LoRA weights, in PEFT's layout, for the queries of a checkpoint's language model."""
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(1)
    folder.mkdir()
    weights = {}
    for layer in range(layers):
        at = f"base_model.model.thinker.model.layers.{layer}.self_attn.q_proj"
        weights[f"{at}.lora_A.weight"] = torch.randn(8, size)
        weights[f"{at}.lora_B.weight"] = torch.randn(size, 8)
    save_file(weights, folder / "adapter_model.safetensors")
    about = {
        "peft_type": "LORA",
        "r": 8,
        "lora_alpha": 8,
        "target_modules": ["q_proj"],
        "task_type": "CAUSAL_LM",
    }
    (folder / "adapter_config.json").write_text(json.dumps(about))


def _config(tokenizer: Any) -> Any:
    from transformers import Qwen2_5OmniConfig

    def number(token: str) -> int:
        return int(tokenizer.convert_tokens_to_ids(token))

    text = {
        "vocab_size": (len(tokenizer) + 63) // 64 * 64,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 32768,
        "tie_word_embeddings": False,
        "initializer_range": _INIT_STD,
        # 32 dimensions a head: 16 rotary pairs over time, height and width.
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e6,
            "mrope_section": [4, 6, 6],
        },
        "eos_token_id": number("<|im_end|>"),
        "pad_token_id": number("<|endoftext|>"),
    }
    vision = {
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 2,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "window_size": 112,
        "out_hidden_size": 64,
        "fullatt_block_indexes": [1],
        "initializer_range": _INIT_STD,
        "tokens_per_second": 25,
    }
    audio = {
        "num_mel_bins": 128,
        "d_model": 64,
        "encoder_layers": 2,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 128,
        "max_source_positions": 1500,
        "n_window": 100,
        "output_dim": 64,
        "initializer_range": _INIT_STD,
    }
    thinker = {
        "dtype": "float32",
        "text_config": text,
        "vision_config": vision,
        "audio_config": audio,
        "audio_token_index": number("<|AUDIO|>"),
        "image_token_index": number("<|IMAGE|>"),
        "video_token_index": number("<|VIDEO|>"),
        "audio_start_token_id": number("<|audio_bos|>"),
        "audio_end_token_id": number("<|audio_eos|>"),
        "vision_start_token_id": number("<|vision_bos|>"),
        "vision_end_token_id": number("<|vision_eos|>"),
        "position_id_per_seconds": 25,
        "seconds_per_chunk": 2,
        "pad_token_id": number("<|endoftext|>"),
        "tie_word_embeddings": False,
        "initializer_range": _INIT_STD,
    }
    config = Qwen2_5OmniConfig(
        thinker_config=thinker,
        enable_audio_output=False,
        dtype="float32",
        initializer_range=_INIT_STD,
    )
    config.architectures = ["Qwen2_5OmniModel"]
    return config


def _processor(tokenizer: Any) -> Any:
    from transformers import (
        Qwen2_5OmniProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
        WhisperFeatureExtractor,
    )

    patches = {"size": _SIZE, "patch_size": 14, "merge_size": 2, "temporal_patch_size": 2}
    return Qwen2_5OmniProcessor(
        image_processor=Qwen2VLImageProcessor(**patches),
        video_processor=Qwen2VLVideoProcessor(**patches, min_frames=2, max_frames=64),
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
