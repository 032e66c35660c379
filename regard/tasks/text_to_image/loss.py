"""What a painter loses on captions and codes, and in bits.

S pictures · K positions of a caption · G height and width in codes
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from regard.data.tokenizer import PAD
from regard.models.text_to_image import TextToImage
from regard.training.loss import Loss


def painting_loss(model: TextToImage, captions: Tensor, codes: Tensor, text_weight: float) -> Loss:
    """Captions [S, K] and codes [S, G·G] → sums over pictures of a mean over tokens: of the text's, times its weight, and of
    the codes', times the rest. A caption that says nothing is not learned to be written. `plain` is that of the codes alone."""
    text_states, code_states = model(captions, codes)
    of_codes = code_losses(model, code_states, codes).mean(1).sum()
    wanted = captions[:, 1:]  #                                                          [S, K - 1]
    real = (wanted != PAD) & (captions[:, 2:3] != PAD)  # a caption of START and END alone is none
    count = real.sum(1).clamp(min=1)
    logits = model.text_output(text_states[real])
    each = cross_entropy(logits, wanted[real], reduction="none")
    of_text = (each / count.unsqueeze(1).expand_as(real)[real]).sum()
    return Loss(text_weight * of_text + (1 - text_weight) * of_codes, of_codes.detach())


def code_losses(model: TextToImage, states: Tensor, codes: Tensor) -> Tensor:
    """States [S, G·G, D] → what each code costs [S, G·G], in nats."""
    return cross_entropy(model.output(states).flatten(0, 1), codes.flatten(), reduction="none").view_as(codes)


def bits(model: TextToImage, captions: Tensor, codes: Tensor) -> Tensor:
    """What each code costs after a caption [S, G·G], in bits."""
    with torch.inference_mode():
        return code_losses(model, model(captions, codes)[1], codes) / math.log(2)
