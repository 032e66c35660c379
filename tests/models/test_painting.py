"""Laws of the two stages of painting: codes stand for what was encoded, and words and codes look only back."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard import config
from regard.models.guidance import Guided
from regard.models.image_codes import ImageCodes
from regard.models.text_to_image import TextToImage
from regard.tasks.text_to_image.captions import no_caption

POSITIONS, GRID, CODES = 6, 2, 12


@pytest.fixture(scope="module")
def painter() -> TextToImage:
    torch.manual_seed(0)
    settings = config.TextToImage(width=16, feed_forward=32, heads=2, layers=2, dropout=0.0, max_positions=POSITIONS)
    return TextToImage(settings, 20, CODES, GRID).double().eval()


@pytest.fixture(scope="module")
def example() -> tuple[Tensor, Tensor]:
    captions = torch.tensor([[2, 7, 8, 3, 0, 0], [2, 9, 3, 0, 0, 0]])
    return captions, torch.randint(CODES, (2, GRID**2), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("quantiser", ["fsq", "vq"])
def test_codes_are_all_that_is_kept(quantiser: str) -> None:
    torch.manual_seed(0)
    settings = config.ImageCodes(
        width=16, blocks=1, picture_size=16, grid=4, quantiser=quantiser, levels=(3, 4), codes=9
    )
    model = ImageCodes(settings, 3).double()
    pictures = torch.rand(5, 3, 16, 16, dtype=torch.double)
    painted, quantised = model(pictures)
    assert quantised.codes.shape == (5, 4, 4)
    assert quantised.codes.min() >= 0
    assert quantised.codes.max() < model.codes
    assert torch.equal(model.encode(pictures), quantised.codes)
    again = model.paint(model.quantiser.latents(quantised.codes).double())
    assert torch.allclose(painted, again, atol=1e-6)
    painted.square().sum().backward()
    assert all(each.grad is not None and each.grad.abs().sum() > 0 for each in model.encoder.parameters())


def test_every_code_of_fsq_can_be_written_and_read() -> None:
    model = ImageCodes(config.ImageCodes(width=8, blocks=0, picture_size=8, grid=4, levels=(8, 6, 5)), 1)
    codes = torch.arange(240).view(15, 4, 4)
    latents = model.quantiser.latents(codes)
    assert len(latents.permute(0, 2, 3, 1).reshape(-1, 3).unique(dim=0)) == 240
    assert latents.abs().max() == 1
    again = model.quantiser(torch.atanh(latents.clamp(-0.999, 0.999)))
    assert torch.equal(again.codes, codes)


def test_the_future_cannot_change_the_past(painter: TextToImage, example: tuple[Tensor, Tensor]) -> None:
    captions, codes = example
    before = painter(captions, codes)
    later = codes.clone()
    later[:, 2] = (later[:, 2] + 1) % CODES
    after = painter(captions, later)
    assert torch.equal(before[0], after[0])
    assert torch.equal(before[1][:, :3], after[1][:, :3])
    assert not torch.equal(before[1][:, 3], after[1][:, 3])


def test_step_by_step_is_all_at_once(painter: TextToImage, example: tuple[Tensor, Tensor]) -> None:
    captions, codes = example
    wanted = painter.output(painter(captions, codes)[1])  # [S, G·G, C]
    state, last = painter.start(captions), captions[:, -1]
    for place in range(GRID**2):
        logits, state = painter.step(last, state)
        assert torch.allclose(logits, wanted[:, place], atol=1e-10)
        last = codes[:, place]


def test_guidance_is_between_with_and_without(painter: TextToImage, example: tuple[Tensor, Tensor]) -> None:
    captions, codes = example
    nothing = no_caption(POSITIONS)
    without = painter.output(painter(nothing.expand_as(captions), codes)[1])
    told = painter.output(painter(captions, codes)[1])
    for guidance, wanted in ((0.0, without), (1.0, told), (3.0, without + 3 * (told - without))):
        guided = Guided(painter, nothing, guidance)
        state, last = guided.start(captions), torch.full((2,), CODES)
        for place in range(GRID**2):
            logits, state = guided.step(last, state)
            assert torch.allclose(logits[:, :CODES], wanted[:, place], atol=1e-9)
            assert logits[:, CODES:].isneginf().all()
            last = codes[:, place]
