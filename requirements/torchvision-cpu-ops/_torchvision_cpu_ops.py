"""Lets PyPI's torchvision, a CUDA build, import beside a CPU build of torch.

Its compiled operators cannot be loaded there, which torchvision bears; but one of its modules then
registers shapes for two of them, ``nms`` and ``qnms``, without looking whether they exist. A finder
declares the two just before that module is loaded. The operators themselves stay unavailable; what
vision processors use (resizing, normalising) works. Beside a working torchvision it does nothing.

The ``.pth`` file next to this module loads it when Python starts, in every process of vLLM and Ray.
"""

import sys
from typing import Any


class _TorchvisionOps:
    _library: Any = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name != "torchvision._meta_registrations":
            return
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        from torchvision.extension import _has_ops

        if not _has_ops():
            import torch

            library = torch.library.Library("torchvision", "FRAGMENT")
            library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            type(self)._library = library  # the declarations end with the object


sys.meta_path.insert(0, _TorchvisionOps())  # type: ignore[arg-type]
