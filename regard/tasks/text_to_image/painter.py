"""A trained painter at work: a caption in, pictures out.

`regard.load("painter").paint("a red boot left of a blue bag")` gives a Painting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import config
from regard.decoding.candidates import Candidates
from regard.decoding.options import Search, SpecialTokens
from regard.decoding.search import search
from regard.errors import UsageError
from regard.files import replacing
from regard.models.guidance import Guided
from regard.models.image_codes import as_tensor
from regard.models.packed import pack_weights
from regard.models.text_to_image import TextToImage
from regard.tasks.text_to_image.assets import PaintingAssets
from regard.tasks.text_to_image.captions import caption_ids, no_caption
from regard.tasks.texts import Texts, described, shown
from regard.view.words import text_of

if TYPE_CHECKING:  # what an extra installs
    from PIL.Image import Image

BATCH = 16  # pictures painted side by side
MOST_PICTURES = 1_000
LARGEST_SCALE = 64
STRONGEST = 100.0  # guidance; far below it, pictures are of one colour


@dataclass(frozen=True)
class Painting:
    """One picture of a caption."""

    caption: str
    pixels: NDArray[np.uint8] = field(repr=False)
    """[height, width, channels]."""
    codes: NDArray[np.int64] = field(repr=False)
    """[G, G]."""
    seed: int
    cut: bool = False
    """Whether the caption was longer than the model reads, and its end was not."""

    def image(self, scale: int = 1) -> Image:
        """As a picture of Pillow's, each pixel `scale` times as large."""
        if not isinstance(scale, int) or not 1 <= scale <= LARGEST_SCALE:
            raise UsageError(f"`scale` must be from 1 to {LARGEST_SCALE}, not {shown(scale)}")
        image = image_of(self.pixels)
        return image.resize((image.width * scale, image.height * scale), 0)

    def png(self) -> bytes:
        """As the bytes of a file."""
        return png(self.pixels)

    def save(self, path: str | Path, scale: int = 1) -> None:
        """As a PNG, whole or not at all."""
        save_image(self.image(scale), Path(path))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"caption": self.caption, "seed": self.seed, "cut": self.cut, "codes": self.codes.tolist()}


def image_of(pixels: NDArray[np.uint8]) -> Image:
    """[height, width, channels]."""
    from regard.data.images import require_pillow

    image: Image = require_pillow().fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    return image


def png(pixels: NDArray[np.uint8]) -> bytes:
    """The bytes of a file."""
    file = BytesIO()
    image_of(pixels).save(file, format="PNG")
    return file.getvalue()


def contact_sheet(paintings: Sequence[Painting], columns: int = 4, scale: int = 4) -> Image:
    """Many pictures side by side on one."""
    from regard.data.images import require_pillow

    images = [each.image(scale) for each in paintings]
    columns = min(columns, len(images))
    gap, (width, height) = scale, images[0].size
    rows = -(-len(images) // columns)
    sheet: Image = require_pillow().new(
        images[0].mode, (columns * (width + gap) + gap, rows * (height + gap) + gap), "white"
    )
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        sheet.paste(image, (gap + column * (width + gap), gap + row * (height + gap)))
    return sheet


def save_paintings(paintings: Sequence[Painting], path: str | Path, *, scale: int = 8) -> None:
    """One picture as a PNG, several on one sheet."""
    if len(paintings) == 1:
        paintings[0].save(path, scale)
    else:
        save_image(contact_sheet(paintings, scale=scale), Path(path))


def save_image(image: Image, path: Path) -> None:
    if path.suffix.lower() != ".png":
        raise UsageError(f"pictures are written as PNG: let the name of {path} end in .png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            image.save(temporary, format="PNG")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


class Painter:
    """A model, its tokenizer, the first stage and its recipe, ready to paint."""

    def __repr__(self) -> str:
        return described(self)

    def __init__(
        self,
        model: TextToImage,
        recipe: config.PaintingRecipe,
        assets: PaintingAssets,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.recipe, self.assets = pack_weights(model.eval()), recipe, assets
        self.provenance = provenance or {}
        self.tokenizer, self.codes = assets.tokenizer, assets.codes.to(model.device).eval()

    def paint(
        self,
        caption: str | Texts,
        *,
        count: int = 1,
        guidance: float = 2.0,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 0.95,
        seed: int | Sequence[int] = 0,
        on_code: Callable[[int, int], None] | None = None,
        on_picture: Callable[[int, NDArray[np.uint8]], None] | None = None,
    ) -> Any:
        """Paint a caption: a Painting, or a list of `count`; of several captions a list of what each alone would give.

        `guidance` exaggerates what the caption changes: 1 is the model as it is, 0 ignores the caption. The rest is as in
        sampling text. A picture depends on its caption, the options and its seed, `seed`, `seed + 1` …, and on nothing else;
        a list of seeds is one for each caption.
        `on_code` hears after each code how many of how many are painted, `on_picture` which picture is how far, of several
        after each row: its number, and its pixels [height, width, 4], of which those still to come are transparent.
        """
        captions = [caption] if isinstance(caption, str) else caption
        if not isinstance(captions, list | tuple):
            raise UsageError(f"paint takes a caption or a list of captions, not {shown(caption)}")
        for number, each in enumerate(captions):
            if not isinstance(each, str):
                raise UsageError(f"caption {number} (counting from 0) is {shown(each)}, not a string")
        if not isinstance(count, int) or not 1 <= count <= MOST_PICTURES:
            raise UsageError(f"`count` must be from 1 to {MOST_PICTURES:,}, not {shown(count)}")
        if not isinstance(guidance, int | float) or not 0 <= guidance <= STRONGEST:
            raise UsageError(f"`guidance` must be from 0 to {STRONGEST:g}, not {shown(guidance)}")
        if not isinstance(seed, int | Sequence):
            raise UsageError(f"`seed` is a whole number, or one for each caption, not {shown(seed)}")
        options = Search(sample=True, temperature=temperature, top_k=top_k, top_p=top_p, beam=1)
        seeds = [seed] * len(captions) if isinstance(seed, int) else seed
        if len(seeds) != len(captions):
            raise UsageError(
                f"{len(seeds)} seeds for {len(captions)} caption(s): give one seed, or one for each caption"
            )
        wanted = [
            (each, first + number) for each, first in zip(captions, seeds, strict=True) for number in range(count)
        ]
        painted = list(self._paint(wanted, guidance, options, on_code, on_picture))
        of_each = [painted[at : at + count] for at in range(0, len(painted), count)]
        answers = of_each if count > 1 else [each[0] for each in of_each]
        return answers[0] if isinstance(caption, str) else answers

    def _paint(
        self,
        wanted: Sequence[tuple[str, int]],
        guidance: float,
        options: Search,
        on_code: Callable[[int, int], None] | None,
        on_picture: Callable[[int, NDArray[np.uint8]], None] | None,
    ) -> Iterator[Painting]:
        total, done = len(wanted) * self.model.grid**2, 0
        for begin in range(0, len(wanted), BATCH):
            captions, seeds = zip(*wanted[begin : begin + BATCH], strict=True)
            ids, cut = caption_ids(captions, self.tokenizer, self.model.caption_positions)
            written: list[Tensor] = []

            def tell(found: Candidates, *rest: Any, begin: int = begin, written: list[Tensor] = written) -> None:
                nonlocal done
                done += len(found.token)
                written.append(found.token[:, 0])  # one hypothesis for each picture, and all are of one length
                if on_code is not None:
                    on_code(done, total)
                if on_picture is not None and (len(wanted) == 1 or len(written) % self.model.grid == 0):
                    for row, pixels in enumerate(self.forming(torch.stack(written, 1))):
                        on_picture(begin + row, pixels)

            codes = self.write(ids.to(self.model.device), seeds, guidance, options, tell)
            for row, pixels in enumerate(self.pixels(codes)):
                yield Painting(captions[row], pixels, codes[row].cpu().numpy(), seeds[row], cut[row])

    def cost(self, captions: Sequence[str], *, count: int = 1, guidance: float = 2.0) -> list[int]:
        """Of each caption, the tokens and codes that are computed for its pictures; guidance paints twice."""
        return [count * self.model.max_positions * (1 if guidance == 1 else 2)] * len(captions)

    def write(
        self,
        ids: Tensor,
        seeds: Sequence[int],
        guidance: float = 1.0,
        options: Search | None = None,
        on_step: Callable[..., None] | None = None,
    ) -> Tensor:
        """Captions [S, K] → codes [S, G, G], drawn."""
        places, codes = self.model.grid**2, self.model.codes
        limits = torch.full((len(ids),), places, device=ids.device)
        guided = Guided(self.model, no_caption(ids.size(1)).to(ids.device), guidance)
        special = SpecialTokens(start=codes, end=codes + 1, pad=codes + 2)
        found = search(
            guided, ids, limits, options or Search(sample=True, beam=1), special, seeds=seeds, on_step=on_step
        )
        written = torch.tensor([each[0].tokens for each in found], device=ids.device)  # [S, G·G]
        return written.view(-1, self.model.grid, self.model.grid)

    def pixels(self, codes: Tensor) -> NDArray[np.uint8]:
        """Codes [S, G, G] → [S, height, width, channels]."""
        with torch.inference_mode():
            decoded = self.codes.decode(codes)  # [S, C, P, P]
        return (decoded * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()

    def forming(self, codes: Tensor) -> NDArray[np.uint8]:
        """The first codes of pictures [S, N] → [S, height, width, 4]; what is to come is transparent, and taken for more of what is
        in the corner, since the decoder looks at neighbours."""
        grid, painted = self.model.grid, codes.size(1)
        whole = torch.cat([codes, codes[:, :1].expand(-1, grid**2 - painted)], 1)
        pixels = self.pixels(whole.view(-1, grid, grid))
        cell = pixels.shape[1] // grid
        there = (np.arange(grid**2) < painted).reshape(grid, grid).repeat(cell, 0).repeat(cell, 1)  # [height, width]
        coloured = np.broadcast_to(pixels, (*pixels.shape[:3], 3))
        alpha = np.broadcast_to(there[None, :, :, None], (*pixels.shape[:3], 1)) * np.uint8(255)
        return np.concatenate([coloured, alpha], 3)

    def encode(self, pixels: NDArray[np.uint8]) -> Tensor:
        """[S, height, width, channels] → codes [S, G, G]."""
        with torch.inference_mode():
            return self.codes.encode(as_tensor(pixels).to(self.model.device))

    def words_of(self, caption: str) -> list[tuple[str, list[int]]]:
        """The caption's words, and the positions of each one's tokens in its row of ids."""
        ids = self.tokenizer.encode(caption)[: self.model.caption_positions - 3]
        tokens = self.tokenizer.tokens(ids, "source")
        words: list[list[int]] = []
        for place, token in enumerate(tokens, start=1):  # after START
            if token.startswith("▁") or not words:
                words.append([])
            words[-1].append(place)
        return [(text_of([tokens[place - 1] for place in places]), places) for places in words]
