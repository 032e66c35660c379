"""Pictures as sequences: patches into the encoder of the Transformer (ViT), and its compact rival with convolutions (CCT).

S pictures · C channels · P pixels of a patch's side · G patches in a row · T tokens: G × G, one more with a class token
D width · L labels
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import torch
from torch import Tensor, nn

from regard import config
from regard.attention.dropout import Dropout
from regard.attention.multi_head import linear
from regard.attention.positions import positions_of
from regard.attention.record import Observed
from regard.models.layers import EncoderLayer, last_norm


class PictureClassifier(Observed, ABC):
    """What both share: tokens get positions, look at each other in every layer, and one vector of all is labelled."""

    extra = 0
    """Tokens before those of the picture."""
    labelled: int | None = None
    """How many tokens, the first ones, are labelled, if not all."""

    def __init__(self, settings: config.PictureModel, side: int, labels: int) -> None:
        super().__init__()
        self.grid, self.heads = settings.grid(side), settings.heads
        tokens = self.extra + self.grid**2
        self.positions = positions_of(settings.positions, tokens, settings.width)
        self.drop = Dropout(settings.dropout)
        deepest = max(1, settings.layers - 1)
        self.layers = nn.ModuleList(
            EncoderLayer(settings, settings.stochastic_depth * layer / deepest) for layer in range(settings.layers)
        )
        self.norm = last_norm(settings)
        self.output = linear(settings.width, labels)

    def forward(self, pictures: Tensor) -> Tensor:
        """Pictures [S, C, H, W], normalised → logits [S, L]."""
        return self.classify(self.encode(self.embed(pictures)))

    @abstractmethod
    def tokens(self, pictures: Tensor) -> Tensor:
        """Pictures [S, C, H, W] → vectors [S, T, D]; they know no place yet."""

    def embed(self, pictures: Tensor) -> Tensor:
        """Pictures [S, C, H, W] → vectors with their positions [S, T, D]."""
        vectors = self.tokens(pictures)
        positions = self.position_table()
        embedded: Tensor = self.drop(vectors if positions is None else vectors + positions)
        self.note(vectors=vectors, embedded=embedded)
        return embedded

    def position_table(self) -> Tensor | None:
        """What is added to each token [T, D]."""
        tokens = self.extra + self.grid**2
        return None if self.positions is None else self.positions.rows(tokens)[:tokens]

    def encode(self, embedded: Tensor) -> Tensor:
        """[S, T, D] → [S, T, D]; in training only what is labelled, since nobody else asks what the last layer makes of the rest."""
        x = embedded
        wanted = self.labelled if self.training and not self.recording else None
        for layer in self.layers[:-1]:
            x = layer(x, None)
        x = self.layers[-1](x, None, first=wanted)
        return self.norm(x)  # type: ignore[no-any-return]

    def classify(self, states: Tensor) -> Tensor:
        """States [S, T, D] → logits [S, L]."""
        pooled = self.pool(states)
        logits: Tensor = self.output(self.drop(pooled))
        self.note(states=states, pooled=pooled, logits=logits)
        return logits

    @abstractmethod
    def pool(self, states: Tensor) -> Tensor:
        """States [S, T, D] → one vector for each picture [S, D]."""

    def attention_names(self) -> dict[str, list[str]]:
        """By kind of attention, the modules that attend, first layer first: their names in a record."""
        return {"encoder": [f"layers.{layer}.self_attention" for layer in range(len(self.layers))]}

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


class VisionTransformer(PictureClassifier):
    """Patches as they are, through one matrix; a class token looks at them and is labelled (Dosovitskiy et al. 2021)."""

    extra = labelled = 1

    def __init__(self, settings: config.VisionTransformer, channels: int, side: int, labels: int) -> None:
        super().__init__(settings, side, labels)
        self.patch = settings.patch
        self.patch_embedding = linear(channels * settings.patch**2, settings.width)
        self.class_token = nn.Parameter(torch.empty(settings.width))
        nn.init.normal_(self.class_token, std=settings.width**-0.5)

    def patches(self, pictures: Tensor) -> Tensor:
        """Pictures [S, C, H, W] → the numbers of each patch, row after row of patches [S, G × G, C × P × P]."""
        count, channels = pictures.shape[:2]
        cut = pictures.reshape(count, channels, self.grid, self.patch, self.grid, self.patch)  # [S, C, G, P, G, P]
        return cut.permute(0, 2, 4, 1, 3, 5).reshape(count, self.grid**2, -1)

    def tokens(self, pictures: Tensor) -> Tensor:
        patches = self.patches(pictures)
        self.note(patches=patches)
        vectors = self.patch_embedding(patches)  # [S, G × G, D]
        first = self.class_token.expand(vectors.size(0), 1, -1)
        return torch.cat([first, vectors], 1)  # [S, 1 + G × G, D]

    def pool(self, states: Tensor) -> Tensor:
        return states[:, 0]


class CompactTransformer(PictureClassifier):
    """Convolutions see edges before attention sees all; what each token counts for is learned (Hassani et al. 2021)."""

    def __init__(self, settings: config.CompactTransformer, channels: int, side: int, labels: int) -> None:
        super().__init__(settings, side, labels)
        widths = [channels, *settings.stem, settings.width]
        self.stem = nn.ModuleList(convolution(before, after) for before, after in pairwise(widths))
        self.pooling = linear(settings.width, 1)

    def tokens(self, pictures: Tensor) -> Tensor:
        x = pictures
        for each in self.stem:
            x = each(x).contiguous(memory_format=torch.channels_last)  # the pooling of torch is ten times faster then
            x = nn.functional.max_pool2d(torch.relu_(x), 3, stride=2, padding=1)  # [S, D, H / 2, W / 2]
        return x.flatten(2).transpose(1, 2).contiguous()  # [S, G × G, D]

    def pool(self, states: Tensor) -> Tensor:
        weights = self.pooling(states).softmax(1)  # [S, T, 1]
        self.note(pooling=weights.squeeze(2))
        pooled: Tensor = (weights * states).sum(1)
        return pooled


def convolution(channels: int, width: int) -> nn.Conv2d:
    """Of 3 × 3 pixels, initialised for the ReLU after it (He et al. 2015)."""
    layer = nn.Conv2d(channels, width, 3, padding=1, bias=False)
    nn.init.normal_(layer.weight, std=(2 / (9 * channels)) ** 0.5)
    return layer
