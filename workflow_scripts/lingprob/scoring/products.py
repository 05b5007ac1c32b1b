"""Matrix products by oneDNN where torch would take a slower library.

For float32 on a CPU, torch's own linear layers and attention call a library (MKL) that not every
processor is served well by: on an AMD EPYC with 512-bit vectors (Zen 5) it reaches 110 GFLOP/s a
core, and oneDNN, which torch has in it too, 250. On an older EPYC passes of SmolLM2-135M took 5 to
14% less time by oneDNN; on an Intel Xeon its matrix products took 12 to 20% more, at 256 to 500
tokens. oneDNN rounds a little more: 134 BLiMP sentences were 1.5e-5 nats off float64 in the mean
(at most 5e-5), and 0.9e-5 without it.
"""

from __future__ import annotations

import platform
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from lingprob.scoring.attention import Attention

ITS_DEFAULTS = {"dropout_p": 0.0, "is_causal": False, "enable_gqa": False}  # of torch's attention


class _ProductsByOneDnn(TorchFunctionMode):
    """Sends float32 linear layers and long attention to oneDNN; everything else goes its way."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.linear and not kwargs and args[0].dtype == torch.float32:
            weight, bias = args[1], args[2] if len(args) > 2 else None
            return torch.ops.mkldnn._linear_pointwise(args[0], weight, bias, "none", [], "")
        if func is torch.nn.functional.scaled_dot_product_attention and len(args) == 3:
            mask, others = kwargs.get("attn_mask"), {**ITS_DEFAULTS, **kwargs}
            plain = all(others[name] == value for name, value in ITS_DEFAULTS.items())
            if plain and self.attention.takes(*args[:2], mask):
                scale = kwargs.get("scale")
                scale = args[0].shape[-1] ** -0.5 if scale is None else scale
                return self.attention.attend(*args, mask, scale)
        return func(*args, **kwargs)


def fast_products(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[Any]:
    """Return a context in which one pass of such a model is as fast as can be."""
    if device.type == "cpu" and dtype == torch.float32 and _one_dnn_is_faster():
        return _ProductsByOneDnn()
    return nullcontext()


@cache
def _one_dnn_is_faster() -> bool:
    """Whether torch has oneDNN, and not MKL on a processor that it is made for."""
    able = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return able and not (torch.backends.mkl.is_available() and _is_intel())


def _is_intel() -> bool:
    """Whether this is a processor by Intel, as Linux and macOS tell."""
    told = Path("/proc/cpuinfo")
    text = told.read_text() if told.is_file() else platform.processor()
    return "GenuineIntel" in text or text == "i386"
