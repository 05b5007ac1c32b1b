"""A float32 model that computes in float64 for a while, without its weights twice in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def in_float64(model: Any) -> Iterator[None]:
    """Make a float32 model compute in float64, holding one module's weights so at a time.

    Its device must have float64.
    """

    def widen(module: Any, _inputs: Any) -> None:
        for parameter in module.parameters(recurse=False):
            if parameter not in originals:  # a module within may share its parent's
                originals[parameter] = parameter.data
                parameter.data = parameter.data.double()

    def restore(module: Any, _inputs: Any, _output: Any) -> None:
        for parameter in module.parameters(recurse=False):
            if parameter in originals:
                parameter.data = originals.pop(parameter)

    def widen_output(_module: Any, _inputs: Any, output: torch.Tensor) -> torch.Tensor:
        return output.double()

    originals: dict[torch.nn.Parameter, torch.Tensor] = {}
    handles = []
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            handles.append(module.register_forward_hook(widen_output))
        elif any(True for _ in module.parameters(recurse=False)):
            handles.append(module.register_forward_pre_hook(widen))
            handles.append(module.register_forward_hook(restore))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for parameter, data in originals.items():
            parameter.data = data
