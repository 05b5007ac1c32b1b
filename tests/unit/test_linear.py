"""Linear layers by the library that serves the processor best: the same products by either."""

import platform

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lingprob.scoring import linear


class Operations(TorchDispatchMode):
    """Notes what torch computes."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.name())
        return func(*args, **(kwargs or {}))


def called(monkeypatch, one_dnn):
    """Return a linear layer's product within `fast_linear`, and whether oneDNN made it."""
    monkeypatch.setattr(linear, "_one_dnn_is_faster", lambda: one_dnn)
    draws = torch.Generator().manual_seed(1)
    layer = torch.nn.Linear(96, 40)
    fed = torch.randn(3, 17, 96, generator=draws)
    operations = Operations()
    with torch.inference_mode(), linear.fast_linear(fed.device, fed.dtype), operations:
        product = layer(fed)
    expected = fed.double() @ layer.weight.double().T + layer.bias.double()
    return product.double() - expected, "mkldnn::_linear_pointwise" in operations.names


@pytest.mark.parametrize("one_dnn", [True, False])
def test_products_are_those_of_float64(monkeypatch, one_dnn):
    if one_dnn and not torch.backends.mkldnn.is_available():
        pytest.skip("this build of torch has no oneDNN")
    difference, made_by_one_dnn = called(monkeypatch, one_dnn)
    assert difference.abs().max() < 1e-5
    assert made_by_one_dnn == one_dnn


@pytest.mark.parametrize(
    ("cpuinfo", "processor", "has_mkl", "expected"),
    [
        ("vendor_id : GenuineIntel", "", True, False),
        ("vendor_id : GenuineIntel", "", False, True),
        ("vendor_id : AuthenticAMD", "", True, True),
        (None, "i386", True, False),
        (None, "arm", True, True),
    ],
)
def test_one_dnn_is_for_processors_that_mkl_is_not_made_for(
    monkeypatch, tmp_path, cpuinfo, processor, has_mkl, expected
):
    told = tmp_path / "cpuinfo"
    if cpuinfo is not None:
        told.write_text(cpuinfo)
    monkeypatch.setattr(linear, "Path", {"/proc/cpuinfo": told}.__getitem__)
    monkeypatch.setattr(platform, "processor", lambda: processor)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: has_mkl)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    linear._one_dnn_is_faster.cache_clear()
    assert linear._one_dnn_is_faster() == expected
    linear._one_dnn_is_faster.cache_clear()


def test_half_precision_goes_its_own_way(monkeypatch):
    monkeypatch.setattr(linear, "_one_dnn_is_faster", lambda: True)
    with linear.fast_linear(torch.device("cpu"), torch.bfloat16) as mode:
        assert mode is None
