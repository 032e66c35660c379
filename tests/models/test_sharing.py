"""Another process finds the numbers where they were left, tied and lying as they did."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import torch
from torch import nn

from regard.models.packed import pack_weights
from regard.models.sharing import copy_for_processes


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.output = nn.Linear(4, 7, bias=False)
        self.output.weight = self.embedding.weight
        self.recurrent = nn.GRU(4, 4)  # keeps lists of its own weights, and weak references
        self.inner = nn.Linear(4, 4)
        self.register_buffer("angles", torch.arange(6.0).view(2, 3), persistent=False)
        self.register_buffer("first", self.angles[0], persistent=False)


def sent(model: nn.Module, folder: Path) -> nn.Module:
    copy = copy_for_processes(model, [*model.parameters(), *model.buffers()], folder / "tensors")
    assert (folder / "tensors").exists()
    found = ForkingPickler.loads(ForkingPickler.dumps(copy))
    assert isinstance(found, nn.Module)
    return found


def test_what_arrives_is_the_model(tmp_path: Path) -> None:
    for number, model in enumerate([Tied(), pack_weights(Tied())]):
        (tmp_path / str(number)).mkdir()
        found = sent(model, tmp_path / str(number))
        for tensors in (nn.Module.named_parameters, nn.Module.named_buffers):
            for (name, wanted), (same, tensor) in zip(tensors(model), tensors(found), strict=True):
                assert same == name
                assert torch.equal(tensor, wanted)
                assert tensor.stride() == wanted.stride()
                assert isinstance(tensor, nn.Parameter) == isinstance(wanted, nn.Parameter)
        x = torch.ones(3, 1, 4)
        assert torch.equal(found.recurrent(x)[0], model.recurrent(x)[0])  # type: ignore[operator]


def test_what_is_tied_arrives_once(tmp_path: Path) -> None:
    found = sent(Tied(), tmp_path)
    assert found.output.weight is found.embedding.weight  # type: ignore[union-attr]
