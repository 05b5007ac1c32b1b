"""Matrix products by oneDNN where torch would take a slower library.

For float32 on a CPU, torch's own linear layers call a library (MKL) that not every processor is
served well by. With oneDNN, which torch has in it too, passes of SmolLM2-135M on an AMD EPYC took 5
to 14% less time; on an Intel Xeon its matrix products took 12 to 20% more, at 256 to 500 tokens.
oneDNN rounds a little more: 134 BLiMP sentences were 1.5e-5 nats off float64 in the mean (at most
5e-5), and 0.9e-5 without it.
"""

from __future__ import annotations

import platform
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class _LinearByOneDnn(TorchFunctionMode):
    """Sends each float32 linear layer to oneDNN; everything else goes its way."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is torch.nn.functional.linear and not kwargs and args[0].dtype == torch.float32:
            weight, bias = args[1], args[2] if len(args) > 2 else None
            return torch.ops.mkldnn._linear_pointwise(args[0], weight, bias, "none", [], "")
        return func(*args, **(kwargs or {}))


def fast_linear(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[Any]:
    """Return a context in which linear layers of such a model are as fast as can be."""
    if device.type == "cpu" and dtype == torch.float32 and _one_dnn_is_faster():
        return _LinearByOneDnn()
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
