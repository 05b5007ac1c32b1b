"""Choose the device that a model runs on, and compute with a float32 model in float64."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from lingprob.errors import LingprobError

WITHOUT_FLOAT64 = ("mps",)  # types of devices


def choose_device(name: str) -> torch.device:
    """Return the device with this name. Raise LingprobError if it is unknown or absent.

    'auto' is an NVIDIA GPU if there is one, else the CPU, but never 'mps', which is untested.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?|mps", name):
        raise LingprobError(
            f"scoring.device: {name!r} is not 'auto', 'cpu', 'cuda', 'cuda:N' or 'mps'."
        )
    device = torch.device(name)
    gpus = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= gpus:
        raise LingprobError(
            f"scoring.device: {name!r} is absent, because torch finds {gpus} GPUs here. Set "
            "`scoring.device: cpu`, choose a smaller scale (`--config scale=laptop`), or run with "
            "a profile that requests a GPU (`--profile profiles/slurm`)."
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise LingprobError("torch finds no Apple GPU here. Set `scoring.device: cpu`.")
    return device


def has_float64(device: torch.device) -> bool:
    """Tell whether a device computes in float64, as all but an Apple GPU do."""
    return device.type not in WITHOUT_FLOAT64


def widened(values: torch.Tensor) -> torch.Tensor:
    """Return values in float64, on the CPU if their device has none."""
    return values.double() if has_float64(values.device) else values.cpu().double()


@contextmanager
def in_float64(model: Any) -> Iterator[None]:
    """Let a float32 model compute in float64 in a `with` block, on a device that has float64.

    Only the weights of the module that is running are in float64, to save memory.
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
