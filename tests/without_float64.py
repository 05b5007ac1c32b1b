"""The CPU as a stand-in for a device that has no float64, such as an Apple GPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode

from lingprob.models import devices


class OnTheHost(torch.Tensor):
    """Tensors that left the device, and all results from them."""


def is_float64(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float64


class _Refuses(TorchFunctionMode):
    """Raises for a float64 tensor that did not leave the device."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if func is torch.Tensor.cpu:
            return made.as_subclass(OnTheHost)
        # Earlier float64 tensors came from numpy, and are on the host.
        if is_float64(made) and not isinstance(made, OnTheHost) and not is_float64(args[0]):
            raise TypeError(f"{func}: this device has no float64")
        return made


@contextmanager
def without_float64() -> Iterator[None]:
    """Let the CPU have no float64 for whatever was not brought to it by name."""
    with patch.object(devices, "WITHOUT_FLOAT64", ("cpu",)), _Refuses():
        yield
