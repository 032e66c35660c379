"""Whichever library multiplies, the numbers are the same: those of torch's own functions, forwards, backwards, and backwards again."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.nn import functional

from regard import products
from regard.products import Linear, add_over_rows, product, product_over_rows, zeros_over_rows

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this build of torch has no oneDNN")


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """oneDNN multiplies on any CPU, however little there is; what it was given."""
    seen: list[Tensor] = []
    multiply = products._multiply

    def seeing(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        seen.append(x)
        return multiply(x, weight, bias)

    monkeypatch.setattr(products, "_multiply", seeing)
    for name, value in {"ONE_DNN": True, "LEAST": 1, "LEAST_ROWS": 1}.items():
        monkeypatch.setattr(products, name, value)
    return seen


def lying(how: str) -> Tensor:
    """Six rows of ten numbers, or more."""
    torch.manual_seed(1)
    return {
        "rows": torch.randn(6, 10),
        "texts of rows": torch.randn(2, 3, 10),
        "columns": torch.randn(10, 6).t(),
        "turned": torch.randn(2, 10, 3).transpose(1, 2),
        "a part": torch.randn(2, 5, 10)[:, 1:4],
        "the same again": torch.randn(1, 1, 10).expand(2, 3, 10),
        "one": torch.randn(1, 10),
    }[how]


LYING = ["rows", "texts of rows", "columns", "turned", "a part", "the same again", "one"]


@pytest.mark.parametrize("how", LYING)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("outputs", [4, 30])
def test_the_same_as_torch(how: str, bias: bool, outputs: int, calls: list[Tensor]) -> None:
    x, layer = lying(how).requires_grad_(), Linear(10, outputs, bias=bias)
    wanted = torch.nn.Linear(10, outputs, bias=bias)
    wanted.load_state_dict(layer.state_dict())
    found, expected = layer(x), wanted(x)
    torch.testing.assert_close(found, expected)
    assert len(calls) == 1
    scale = torch.randn_like(expected)
    gradients = torch.autograd.grad((found * scale).sum(), [x, *layer.parameters()])
    torch.testing.assert_close(gradients, torch.autograd.grad((expected * scale).sum(), [x, *wanted.parameters()]))
    assert len(calls) == 3, "of the input and of the weight"
    with torch.inference_mode():
        torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("how", LYING)
def test_what_comes_out_may_be_changed_in_place(how: str) -> None:
    """As a feed-forward's ReLU does, also of texts that are not packed into rows."""
    x, layer = lying(how).requires_grad_(), Linear(10, 4)
    gradients = torch.autograd.grad(layer(x).relu_().sum(), [x, layer.weight, layer.bias])
    expected = functional.linear(x, layer.weight, layer.bias).relu().sum()
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, [x, layer.weight, layer.bias]))


def test_a_gradient_that_is_one_number_everywhere() -> None:
    """Such as that of a sum, which torch holds once."""
    x, layer = lying("texts of rows").requires_grad_(), Linear(10, 4)
    gradients = torch.autograd.grad(layer(x).sum(), [x, layer.weight, layer.bias])
    expected = functional.linear(x, layer.weight, layer.bias).sum()
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, [x, layer.weight, layer.bias]))


def test_turned_weights(calls: list[Tensor]) -> None:
    """As models/transposed.py lays them."""
    x, weight, bias = lying("rows"), torch.randn(10, 4).t(), torch.randn(4)
    torch.testing.assert_close(product(x, weight, bias), functional.linear(x, weight, bias))
    assert calls


@pytest.mark.parametrize("frozen", ["x", "weight", "bias"])
def test_what_needs_no_gradient_gets_none(frozen: str) -> None:
    given = {"x": lying("rows"), "weight": torch.randn(4, 10), "bias": torch.randn(4)}
    for name, each in given.items():
        each.requires_grad_(name != frozen)
    product(**given).sum().backward()
    assert [name for name, each in given.items() if each.grad is None] == [frozen]


def test_the_gradient_of_a_gradient() -> None:
    x, weight = lying("rows").requires_grad_(), torch.randn(4, 10, requires_grad=True)

    def twice(multiply: object) -> tuple[Tensor, ...]:
        assert callable(multiply)
        (first,) = torch.autograd.grad(multiply(x, weight).tanh().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), [x, weight])

    torch.testing.assert_close(twice(product), twice(functional.linear))


def test_the_formula_of_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """In double precision, where nothing is rounding."""
    monkeypatch.setattr(products, "_multiply", functional.linear)
    given = torch.randn(3, 5).double(), torch.randn(2, 5).double(), torch.randn(2).double()
    assert gradcheck(products._Product.apply, [each.requires_grad_() for each in given])


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 8), (8, 3)])
def test_sums_over_rows(inputs: int, outputs: int) -> None:
    x, y, before = torch.randn(6, inputs), torch.randn(6, outputs), torch.randn(inputs, outputs)
    torch.testing.assert_close(product_over_rows(x, y), x.t() @ y)
    total = zeros_over_rows(before)
    total += before
    add_over_rows(total, x, y)
    torch.testing.assert_close(total, before + x.t() @ y)


def test_steps_aside(calls: list[Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch computes otherwise, where it is read as a program, and where there is little to do."""
    x, layer = lying("rows"), Linear(10, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    assert Linear(10, 4).double()(x.double()).dtype == torch.float64
    assert layer(x[:0]).shape == (0, 4)
    torch.export.export(layer, (x,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # as regard's own export does
        torch.jit.trace(layer, x, check_trace=False)
    assert not calls
    monkeypatch.setattr(products, "LEAST_ROWS", 7)
    layer(x)
    assert not calls
    monkeypatch.setattr(products, "LEAST_ROWS", 6)
    layer(x)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("capability", "told", "wanted"),
    [
        ("AVX512", "vendor_id\t: AuthenticAMD", True),
        ("AVX512", "vendor_id\t: GenuineIntel", False),
        ("AVX2", "vendor_id\t: AuthenticAMD", False),
        ("DEFAULT", "", False),
    ],
)
def test_which_cpus(capability: str, told: str, wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    monkeypatch.setattr(products, "maker", lambda: told)
    assert products.by_one_dnn() is wanted
