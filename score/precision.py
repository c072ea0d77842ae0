"""In which numbers the encoder computes.

    float32    the default: what published similarities were computed with
    bfloat16   weights and layers in 16 bits; meant for CPUs that compute in them (AMX,
               AVX512-BF16), and slower than float32 on all others

Vectors are float32 in both cases.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from score.errors import ScoreError

FLOAT32, BFLOAT16 = "float32", "bfloat16"
#: The precisions; the first is the default.
PRECISIONS = (FLOAT32, BFLOAT16)

_log = logging.getLogger("rejudge.score")


def check_precision(name: str) -> None:
    """Refuse a precision that there is not.

    Raises:
        ScoreError: there is none of this name; the message lists those there are.
    """
    if name not in PRECISIONS:
        raise ScoreError(f"no precision {name!r}; there are: {', '.join(PRECISIONS)}")


def prepared(model: Any, precision: str) -> Any:
    """Return a sentence-transformers model that computes in ``precision``."""
    import torch

    if precision == BFLOAT16:
        if not _has_bfloat16():
            _log.warning("this CPU does not compute in bfloat16: it is slower here than float32")
        model[0].bfloat16()
    elif torch.backends.mkldnn.is_available():
        _pack(model[0])
    return model


def _pack(model: Any) -> None:
    """Lay out the weights of linear layers for oneDNN, once.

    torch multiplies in float32 with MKL, which uses half of what a CPU with AVX512 has where Intel
    did not make it. For bfloat16 torch takes oneDNN by itself.
    """
    import torch

    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear):
            bias = layer.bias if layer.bias is not None else torch.zeros(layer.out_features)
            packed = [values.detach().to_mkldnn() for values in (layer.weight, bias)]
            layer.forward = partial(_times, *packed)


def _times(weight: Any, bias: Any, values: Any) -> Any:
    import torch

    return torch.ops.aten.mkldnn_linear(values.to_mkldnn(), weight, bias).to_dense()


def _has_bfloat16() -> bool:
    import torch

    # Not part of torch's interface: where it is gone, nothing is said.
    with contextlib.suppress(AttributeError, RuntimeError):
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return True


def embeddings(model: Any, features: Mapping[str, Any]) -> Any:
    """Return the vectors of a batch as float32, shape (n, d), not yet of length 1."""
    import torch

    first, *others = model.children()
    with torch.inference_mode():
        found = first(dict(features))
        # Tokens are averaged in full precision, whatever they were computed in.
        found["token_embeddings"] = found["token_embeddings"].float()
        for module in others:
            found = module(found)
    return found["sentence_embedding"].cpu().numpy()
