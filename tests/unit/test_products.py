"""Linear layers and attention by the library that serves the processor best: the same by either."""

import platform

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lingprob.scoring import attention, products


class Operations(TorchDispatchMode):
    """Notes what torch computes."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.name())
        return func(*args, **(kwargs or {}))


def called(monkeypatch, one_dnn):
    """Return a linear layer's product within `fast_products`, and whether oneDNN made it."""
    monkeypatch.setattr(products, "_one_dnn_is_faster", lambda: one_dnn)
    draws = torch.Generator().manual_seed(1)
    layer = torch.nn.Linear(96, 40)
    fed = torch.randn(3, 17, 96, generator=draws)
    operations = Operations()
    with torch.inference_mode(), products.fast_products(fed.device, fed.dtype), operations:
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


@pytest.mark.parametrize("one_dnn", [True, False])
def test_linear_layers_called_otherwise_are_as_exact(monkeypatch, one_dnn):
    """Without a bias, with one by its name, and in float64 within a float32 model."""
    monkeypatch.setattr(products, "_one_dnn_is_faster", lambda: one_dnn)
    draws = torch.Generator().manual_seed(1)
    fed, weight = (torch.randn(*shape, generator=draws) for shape in ((3, 96), (40, 96)))
    bias = torch.randn(40, generator=draws)
    linear = torch.nn.functional.linear
    with torch.inference_mode(), products.fast_products(fed.device, fed.dtype):
        plain, named = linear(fed, weight), linear(fed, weight, bias=bias)
        wide = linear(fed.double(), weight.double(), bias.double())
    expected = fed.double() @ weight.double().T
    assert (plain - expected).abs().max() < 1e-4
    assert (named - expected - bias).abs().max() < 1e-4
    assert wide.dtype == torch.float64
    assert (wide - expected - bias).abs().max() < 1e-12


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
    monkeypatch.setattr(products, "Path", {"/proc/cpuinfo": told}.__getitem__)
    monkeypatch.setattr(platform, "processor", lambda: processor)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: has_mkl)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    products._one_dnn_is_faster.cache_clear()
    assert products._one_dnn_is_faster() == expected
    products._one_dnn_is_faster.cache_clear()


@pytest.mark.parametrize("lacks", ["library", "operation"])
def test_a_torch_without_one_dnn_takes_what_it_has(monkeypatch, lacks):
    if lacks == "library":
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    else:
        monkeypatch.setattr(torch.ops, "mkldnn", object())
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    products._one_dnn_is_faster.cache_clear()
    assert not products._one_dnn_is_faster()
    products._one_dnn_is_faster.cache_clear()


def test_half_precision_goes_its_own_way(monkeypatch):
    monkeypatch.setattr(products, "_one_dnn_is_faster", lambda: True)
    with products.fast_products(torch.device("cpu"), torch.bfloat16) as mode:
        assert mode is None


needs_one_dnn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this build of torch has no oneDNN"
)
LOWEST = torch.finfo(torch.float32).min


def attention_case(seed, kind, n=300, before=90):
    """Queries, keys, values and a mask in which each query sees what a token of a tree may."""
    draws = torch.Generator().manual_seed(seed)
    length = before + n
    query, key, value = (
        torch.randn(1, 3, size, 16, generator=draws) for size in (n, length, length)
    )
    sees = torch.rand(n, length, generator=draws) < 0.5
    sees &= torch.ones(n, length, dtype=torch.bool).tril(before)
    sees[torch.arange(n), before + torch.arange(n)] = True
    if kind == "all":
        sees[:] = True
    elif kind == "prefix":
        sees[:, before:] = False
        sees[:, 0] = True
    elif kind == "blind":  # a block of queries that see nothing weighs all keys alike
        sees[attention.QUERIES :] = False
    mask = sees[None, None]
    return query, key, value, mask, torch.zeros(mask.shape).masked_fill_(~mask, LOWEST)


@needs_one_dnn
@pytest.mark.parametrize("kind", ["tree", "all", "prefix", "blind"])
@pytest.mark.parametrize("scale", [None, 0.7])
def test_attention_is_that_of_float64(monkeypatch, kind, scale):
    """With a mask that is added or of booleans; layers that share it, and a pass with another."""
    monkeypatch.setattr(products, "_one_dnn_is_faster", lambda: True)
    attend = torch.nn.functional.scaled_dot_product_attention
    cpu = torch.device("cpu")
    with torch.inference_mode(), products.fast_products(cpu, torch.float32), Operations() as made:
        for seed in (1, 2):
            query, key, value, sees, added = attention_case(seed, kind)
            wide = [states.double() for states in (query, key, value)]
            plain = attend(*wide, attn_mask=added.double(), scale=scale)
            for layer, mask in enumerate((added, added, sees)):
                found = attend(query, key * (layer + 1), value, attn_mask=mask, scale=scale)
                if layer:
                    wide[1] = key.double() * (layer + 1)
                    plain = attend(*wide, attn_mask=added.double(), scale=scale)
                assert (found - plain).abs().max() < 2e-5
    assert "mkldnn::_linear_pointwise" in made.names


@needs_one_dnn
def test_no_key_is_read_that_no_query_of_a_block_sees():
    """The last keys are not numbers: whoever reads them says so."""
    query, key, value, _, added = attention_case(1, "tree", n=600)
    first = slice(0, attention.QUERIES)
    key[:, :, 90 + attention.QUERIES :] = torch.nan
    read = attention.Attention().attend(query, key, value, added, 0.25)
    assert read[:, :, first].isfinite().all()
    assert read[:, :, 90 + attention.QUERIES :].isnan().any()


@pytest.mark.parametrize(
    ("change", "takes"),
    [
        ({}, True),
        ({"mask": None}, False),
        ({"rows": 2}, False),
        ({"n": attention.FEWEST}, True),
        ({"n": attention.FEWEST - 1}, False),
        ({"dtype": torch.float64}, False),
        ({"key_heads": 1}, False),
        ({"mask": (1, 3)}, False),
    ],
)
def test_only_long_rows_with_a_mask_of_their_own_go_by_blocks(change, takes):
    given = {"rows": 1, "n": 200, "dtype": torch.float32, "key_heads": 3, "mask": (1, 1), **change}
    query = torch.zeros(given["rows"], 3, given["n"], 8, dtype=given["dtype"])
    key = torch.zeros(given["rows"], given["key_heads"], 250, 8)
    mask = None if given["mask"] is None else torch.zeros(*given["mask"], given["n"], 250)
    assert attention.Attention().takes(query, key, mask) == takes


@needs_one_dnn
@pytest.mark.parametrize(
    ("option", "n", "by_blocks"),
    [
        ({}, 300, True),
        ({"dropout_p": 0.0, "is_causal": False, "enable_gqa": False}, 300, True),
        ({}, attention.FEWEST - 1, False),
        ({"is_causal": True}, 300, False),
        ({"dropout_p": 0.5}, 300, False),
        ({"enable_gqa": True}, 300, False),
        ({"by_name": True}, 300, False),
    ],
)
def test_attention_of_another_kind_goes_its_own_way(monkeypatch, option, n, by_blocks):
    monkeypatch.setattr(products, "_one_dnn_is_faster", lambda: True)
    query, key, value, _, added = attention_case(1, "tree", n=n, before=0)
    given = {} if option.get("is_causal") else {"attn_mask": added}
    positional = (query, key, value)
    if "by_name" in option:
        positional, given = (), {**given, "query": query, "key": key, "value": value}
    given |= {name: value for name, value in option.items() if name != "by_name"}
    cpu = torch.device("cpu")
    with torch.inference_mode(), products.fast_products(cpu, torch.float32), Operations() as made:
        torch.nn.functional.scaled_dot_product_attention(*positional, **given)
    assert ("mkldnn::_linear_pointwise" in made.names) == by_blocks
