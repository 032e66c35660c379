"""What every translation model offers: the loop trains it, the one search drives it, the record shows its attention.

S sentences · K source positions · T target positions · D width
"""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor, nn

from regard.config import TranslationModel as Settings
from regard.errors import UsageError
from regard.models.autoregressive import AutoregressiveModel
from regard.models.layers import Embedding
from regard.products import Linear


class EncoderDecoder(AutoregressiveModel):
    """Source and target ids in, hidden states out."""

    source_embedding: Embedding
    target_embedding: Embedding
    output: nn.Linear

    @abstractmethod
    def forward(self, source: Tensor, target: Tensor, packed: bool = False) -> Tensor:
        """Source ids [S, K] and target ids so far [S, T] → states [S, T, D], each seeing only its past.

        `packed` gives the states of real target positions only, side by side.
        """

    def encoder_states(self, source: Tensor) -> Tensor:
        """Source ids [S, K] → what the encoder makes of real positions, sentence after sentence [N, D]."""
        raise UsageError(
            f"{type(self).__name__} does not show its encoder's states; give it `encoder_states(source)` to embed texts"
        )

    def position_table(self, length: int) -> Tensor | None:
        """What is added to the embeddings of the first `length` positions of the source [T, D], if anything is."""
        return self.source_embedding.position_table(length)


def embedding(size: int, width: int) -> nn.Embedding:
    """Small enough that √D times it has unit variance, and that it can serve as output matrix too."""
    table = nn.Embedding(size, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table


def embeddings(settings: Settings, source_size: int, target_size: int) -> tuple[nn.Embedding, nn.Embedding]:
    """Of source and target; three-way tying, the paper's section 3.4: they and the output share one matrix."""
    source, target = embedding(source_size, settings.width), embedding(target_size, settings.width)
    return (target, target) if settings.tied else (source, target)


def output_layer(settings: Settings, target: nn.Embedding) -> nn.Linear:
    output = Linear(settings.width, target.num_embeddings, bias=False)
    if settings.tied:
        output.weight = target.weight
    else:
        nn.init.normal_(output.weight, std=settings.width**-0.5)
    return output
