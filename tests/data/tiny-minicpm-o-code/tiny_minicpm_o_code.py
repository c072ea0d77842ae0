"""The Python code that a MiniCPM-o checkpoint brings, as little of it as vLLM calls.

Written for tests against what vLLM's own MiniCPM-o model asks of it; no picture is tiled.
"""

import numpy as np
import torch
from PIL import Image
from transformers import (
    PreTrainedConfig,
    Qwen2Tokenizer,
    SiglipVisionConfig,
    WhisperConfig,
    WhisperFeatureExtractor,
)
from transformers.image_processing_utils import BaseImageProcessor, BatchFeature
from transformers.models.qwen2.configuration_qwen2 import Qwen2Config
from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
from transformers.processing_utils import ProcessorMixin


def _with_parts(config):
    if not isinstance(config.vision_config, SiglipVisionConfig):
        config.vision_config = SiglipVisionConfig(**(config.vision_config or {}))
    if not isinstance(config.audio_config, WhisperConfig):
        config.audio_config = WhisperConfig(**(config.audio_config or {}))


class OnQwen2(Qwen2Config):
    """MiniCPM-o 2.6."""

    model_type = "minicpmo"
    vision_config: dict | PreTrainedConfig | None = None
    audio_config: dict | PreTrainedConfig | None = None

    def __post_init__(self, **members):
        super().__post_init__(**members)
        _with_parts(self)


class OnQwen3(Qwen3Config):
    """MiniCPM-o 4.5."""

    model_type = "minicpmo"
    vision_config: dict | PreTrainedConfig | None = None
    audio_config: dict | PreTrainedConfig | None = None

    def __post_init__(self, **members):
        super().__post_init__(**members)
        _with_parts(self)


def _id_of(token):
    return property(lambda self: self.convert_tokens_to_ids(token))


class Tokenizer(Qwen2Tokenizer):
    """Knows the ids of the marks around pictures and sound by the names that vLLM asks for."""

    im_start_id = _id_of("<image>")
    im_end_id = _id_of("</image>")
    slice_start_id = _id_of("<slice>")
    slice_end_id = _id_of("</slice>")
    audio_start = "<|audio_start|>"
    audio_end = "<|audio_end|>"
    audio_start_id = _id_of("<|audio_start|>")
    audio_end_id = _id_of("<|audio_end|>")
    spk_start_id = _id_of("<|spk_bos|>")
    spk_end_id = _id_of("<|spk_eos|>")


class ImageProcessor(BaseImageProcessor):
    """Scales every picture to one square and lays its patches side by side."""

    def __init__(self, side=56, patch_size=14, image_feature_size=8, max_slice_nums=9, **members):
        super().__init__(**members)
        self.side, self.patch_size = side, patch_size
        self.image_feature_size, self.max_slice_nums = image_feature_size, max_slice_nums
        self.version = 2.6

    def get_sliced_grid(self, image_size, max_slice_nums=None):
        return None

    def get_slice_image_placeholder(
        self, image_size, image_idx=0, max_slice_nums=None, use_image_id=True
    ):
        number = f"<image_id>{image_idx}</image_id>" if use_image_id else ""
        return number + "<image>" + "<unk>" * self.image_feature_size + "</image>"

    def __call__(self, images, do_pad=True, max_slice_nums=None, return_tensors=None, **members):
        many = [[self._patches(image) for image in some] for some in images]
        count = self.side // self.patch_size
        size = torch.tensor([[count, count]], dtype=torch.int32)
        return BatchFeature(
            data={
                "pixel_values": many,
                "image_sizes": [[(self.side, self.side) for _ in some] for some in many],
                "tgt_sizes": [size.repeat(len(some), 1) for some in many],
            }
        )

    def _patches(self, image):
        if not isinstance(image, Image.Image):
            image = Image.fromarray(np.asarray(image, dtype=np.uint8))
        scaled = image.convert("RGB").resize((self.side, self.side), Image.Resampling.BILINEAR)
        pixels = torch.from_numpy(np.array(scaled)).permute(2, 0, 1).float() / 127.5 - 1
        rows = pixels.unfold(1, self.patch_size, self.patch_size)
        patches = rows.unfold(2, self.patch_size, self.patch_size)  # (3, rows, columns, P, P)
        return patches.permute(0, 3, 1, 2, 4).reshape(3, self.patch_size, -1)


class Processor(ProcessorMixin):
    """What AutoProcessor returns: vLLM takes its parts and has a processor of its own."""

    def __init__(self, feature_extractor=None, tokenizer=None, **_):
        super().__init__(feature_extractor, tokenizer)

    @classmethod
    def from_pretrained(cls, folder, **_):
        return cls(
            WhisperFeatureExtractor.from_pretrained(folder), Tokenizer.from_pretrained(folder)
        )
