"""Random MiniCPM-o checkpoints, 2.6 and 4.5: weights of the published layout, code of our own.

vLLM has the model and the processor, but takes configuration, tokenizer and the tiling of pictures
from Python code in the checkpoint. The published code cannot be had without the hub, so
``tests/data/tiny-minicpm-o-code`` stands in for it. transformers has no such model: what is here
is run by vLLM alone.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.tiny_tokenizer import make_tokenizer

_INIT_STD = 0.2
_CODE = Path(__file__).parent / "data" / "tiny-minicpm-o-code" / "tiny_minicpm_o_code.py"
_TOKENS = [
    *("<image>", "</image>", "<slice>", "</slice>", "<image_id>", "</image_id>"),
    *("<|audio_start|>", "<|audio_end|>", "<|spk_bos|>", "<|spk_eos|>", "<unk>"),
]
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_VISION = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 56,
    "patch_size": 14,
}
_AUDIO = {
    "d_model": 64,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "encoder_ffn_dim": 256,
    "num_mel_bins": 80,
    "max_source_positions": 1500,
}
_QUERIES = 8
_CONFIGS = {"2.6": "OnQwen2", "4.5": "OnQwen3"}


def make_tiny_minicpm_o_2_6(folder: Path) -> Path:
    """Write the checkpoint, float32, about 5 MB."""
    return _make(folder, "2.6", audio_pool_step=2)


def make_tiny_minicpm_o_4_5(folder: Path) -> Path:
    """Write the checkpoint, float32, about 5 MB."""
    return _make(folder, "4.5", audio_pool_step=5)


def _make(folder: Path, version: str, *, audio_pool_step: int) -> Path:
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    torch.manual_seed(0)
    tokenizer = make_tokenizer({}, _TOKENS)
    tokenizer.chat_template = _TEMPLATE
    tokenizer.save_pretrained(folder)
    text = _text(len(tokenizer), tokenizer)
    weights = _weights(version, text)
    save_file(
        {name: part.contiguous() for name, part in weights.items()}, folder / "model.safetensors"
    )
    shutil.copy(_CODE, folder)
    code = _CODE.stem
    about = json.loads((folder / "tokenizer_config.json").read_text())
    _write(
        folder / "tokenizer_config.json",
        about
        | {
            "tokenizer_class": "Tokenizer",
            "auto_map": {"AutoTokenizer": [None, f"{code}.Tokenizer"]},
        },
    )
    _write(
        folder / "config.json",
        text
        | {
            "architectures": ["MiniCPMO"],
            "model_type": "minicpmo",
            "auto_map": {"AutoConfig": f"{code}.{_CONFIGS[version]}"},
            "version": version,
            "vision_config": _VISION,
            "audio_config": _AUDIO,
            "query_num": _QUERIES,
            "image_size": 56,
            "drop_vision_last_layer": False,
            "audio_pool_step": audio_pool_step,
            "audio_chunk_length": 1.0,
            "dtype": "float32",
        },
    )
    _write(
        folder / "preprocessor_config.json",
        {
            "auto_map": {
                "AutoProcessor": f"{code}.Processor",
                "AutoImageProcessor": f"{code}.ImageProcessor",
            },
            "image_processor_type": "ImageProcessor",
            "image_feature_size": _QUERIES,
            "feature_size": 80,
            "sampling_rate": 16000,
            "hop_length": 160,
            "n_fft": 400,
            "chunk_length": 30,
        },
    )
    ends = {"eos_token_id": text["eos_token_id"], "do_sample": True, "temperature": 0.5, "top_k": 7}
    _write(folder / "generation_config.json", ends)
    return folder


def _write(path: Path, members: dict[str, Any]) -> None:
    path.write_text(json.dumps(members, indent=2))


def _text(vocabulary: int, tokenizer: Any) -> dict[str, Any]:
    # vLLM gives the resampler one head for each 128 of the hidden size.
    return {
        "vocab_size": (vocabulary + 63) // 64 * 64,
        "hidden_size": 128,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "max_position_embeddings": 32768,
        "tie_word_embeddings": False,
        "initializer_range": _INIT_STD,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def _weights(version: str, text: dict[str, Any]) -> dict[str, Any]:
    """Draw the weights from the modules of transformers that the published ones come from."""
    from torch import nn
    from transformers import (
        Qwen2Config,
        Qwen2ForCausalLM,
        Qwen3Config,
        Qwen3ForCausalLM,
        SiglipVisionConfig,
        SiglipVisionModel,
        WhisperConfig,
    )
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    size = text["hidden_size"]
    words = (
        Qwen2ForCausalLM(Qwen2Config(**{name: text[name] for name in text if name != "head_dim"}))
        if version == "2.6"
        else Qwen3ForCausalLM(Qwen3Config(**text))
    )
    pictures = SiglipVisionModel(SiglipVisionConfig(**_VISION, vision_use_head=False))
    sound = WhisperEncoder(WhisperConfig(**_AUDIO, init_std=_INIT_STD))
    resampler = nn.ParameterDict(
        {
            "query": nn.Parameter(nn.init.normal_(_empty(_QUERIES, size))),
            "proj": nn.Parameter(nn.init.normal_(_empty(size, size), std=_INIT_STD)),
        }
    )
    parts = {
        "llm": words,
        "vpm": getattr(pictures, "vision_model", pictures),
        "apm": sound,
        "resampler": resampler,
        "resampler.kv_proj": nn.Linear(_VISION["hidden_size"], size, bias=False),
        "resampler.attn": nn.MultiheadAttention(size, size // 128),
        "resampler.ln_q": nn.LayerNorm(size),
        "resampler.ln_kv": nn.LayerNorm(size),
        "resampler.ln_post": nn.LayerNorm(size),
        "audio_projection_layer.linear1": nn.Linear(_AUDIO["encoder_ffn_dim"] // 4, size),
        "audio_projection_layer.linear2": nn.Linear(size, size),
    }
    return {
        f"{prefix}.{name}": weights.detach().float()
        for prefix, module in parts.items()
        for name, weights in module.state_dict().items()
    }


def _empty(*shape: int) -> Any:
    import torch

    return torch.empty(*shape)
