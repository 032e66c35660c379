"""A picture of any kind → pixels as a model sees them: square, of one size, grey or in colour.

H height · W width · C channels
"""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regard.config import LabelledPictures
from regard.errors import DataError, RegardError, UsageError, install, shown
from regard.files import kind_of

if TYPE_CHECKING:  # what an extra installs
    from PIL.Image import Image

Pixels: TypeAlias = NDArray[np.uint8]
FORMATS = ("PNG", "JPEG", "WEBP")
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
MOST_PIXELS = 50_000_000
"""Of one picture, as a good camera makes it. A small file can claim any number, and decoding would fill the memory."""
MOST_BYTES = 200_000_000
SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")


class Seen(NamedTuple):
    """A picture as the model sees it, and what had to be done to it."""

    pixels: Pixels  # [H, W, C]
    resized: bool = False
    cropped: bool = False
    """Or padded, or stretched: it was no square."""
    recoloured: bool = False
    """Grey became colour, or colour grey."""
    transparent: bool = False
    animated: bool = False
    """Only its first picture was taken."""


def see(picture: Any, data: LabelledPictures, name: str = "") -> Seen:
    """A path, the bytes of a file, a PIL image or an array → pixels; what cannot be one is a DataError that says `name`."""
    if isinstance(picture, np.ndarray):
        return _of_array(picture, data, name or "the array")
    if isinstance(picture, str | Path | bytes):
        return _of_file(
            picture, data, name or (shown(str(picture)) if isinstance(picture, str | Path) else "the picture")
        )
    if not hasattr(picture, "convert"):
        raise UsageError(f"a picture is a path, a PIL image or an array, not {shown(picture)}")
    return _of_image(picture, data, bool(getattr(picture, "is_animated", False)))


def _of_file(file: str | Path | bytes, data: LabelledPictures, name: str) -> Seen:
    with open_image(file, name) as image:
        try:
            return _of_image(image, data, bool(getattr(image, "is_animated", False)))
        except RegardError:
            raise
        except (OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError) as error:
            raise DataError(f"{name} is damaged or cut short: {error}") from None


def open_image(file: str | Path | bytes, name: str, most_pixels: int = MOST_PIXELS) -> Image:
    """Read no more than its first bytes: what they claim is checked before anything is decoded."""
    pillow = require_pillow()
    if isinstance(file, str | Path):
        path = Path(file)
        if path.is_dir():
            raise DataError(
                f"{name} is a folder, without pictures ({', '.join(SUFFIXES)}) or where one picture is wanted"
            )
        if not path.is_file():
            raise DataError(
                f"cannot read {name}: it is {kind_of(path)}, not a file" if path.exists() else f"no file {name}"
            )
    try:
        size = len(file) if isinstance(file, bytes) else path.stat().st_size
        if not size:
            raise DataError(f"{name} is empty")
        if size > MOST_BYTES:
            raise DataError(f"{name} has {size:,} bytes, more than {MOST_BYTES:,}")
        image: Image = pillow.open(BytesIO(file) if isinstance(file, bytes) else path, formats=FORMATS)
    except pillow.UnidentifiedImageError:
        raise DataError(f"{name} is no PNG, JPEG or WebP picture, or it is damaged") from None
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        raise DataError(f"{name} claims to have more than {MOST_PIXELS:,} pixels") from None
    except RegardError:
        raise
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError) as error:
        raise DataError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
    if image.width * image.height > most_pixels:
        image.close()
        raise DataError(f"{name} is {image.width:,} × {image.height:,} pixels; at most {most_pixels:,} are read")
    return image


def require_pillow() -> Any:
    """PIL.Image, which an extra installs; its own warning about large pictures is our error."""
    try:
        import PIL.Image
    except ImportError:
        raise UsageError(f"pictures are read with Pillow: {install('images')}") from None
    warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)
    return PIL.Image


def _of_image(image: Image, data: LabelledPictures, animated: bool) -> Seen:
    from PIL import ImageOps

    image.load()
    image = ImageOps.exif_transpose(image)
    if image.mode in SIXTEEN_BITS or image.mode == "I":
        image = require_pillow().fromarray((np.asarray(image, dtype=np.int64) >> 8).clip(0, 255).astype(np.uint8))
    coloured, transparent = image.mode not in ("1", "L", "LA"), image.has_transparency_data
    if transparent:
        image = image.convert("RGBA")
        white = require_pillow().new("RGBA", image.size, "white")
        image = require_pillow().alpha_composite(white, image)
    image = image.convert("RGB" if data.colour else "L")
    resized, cropped = image.size != (data.size, data.size), image.width != image.height
    if resized:
        image = _fitted(image, data)
    pixels = np.asarray(image, dtype=np.uint8).reshape(data.size, data.size, data.channels)
    return Seen(pixels, resized, cropped, coloured != data.colour, transparent, animated)


def _fitted(image: Image, data: LabelledPictures) -> Image:
    """By the rule that the recipe states; every pixel counts in the smaller picture."""
    from PIL import ImageOps

    size, method = (data.size, data.size), require_pillow().Resampling.BICUBIC
    if data.fit == "crop":
        return ImageOps.fit(image, size, method)
    return ImageOps.pad(image, size, method) if data.fit == "pad" else image.resize(size, method)


def _of_array(array: NDArray[Any], data: LabelledPictures, name: str) -> Seen:
    """[H, W] or [H, W, C] of bytes, or of numbers from 0 to 1. Pillow is needed only where something has to be changed."""
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or not array.size:
        raise DataError(
            f"{name} has the shape {array.shape}; a picture is [height, width] or [height, width, 1, 3 or 4]"
        )
    if array.shape[0] * array.shape[1] > MOST_PIXELS:
        raise DataError(f"{name} is {array.shape[1]:,} × {array.shape[0]:,} pixels; at most {MOST_PIXELS:,} are read")
    if array.dtype != np.uint8:
        if not np.issubdtype(array.dtype, np.floating):
            raise DataError(f"{name} holds {array.dtype}; a picture is bytes (uint8), or real numbers from 0 to 1")
        least, most = float(array.min()), float(array.max())
        if not 0 <= least <= most <= 1:
            hint = "; divide them by 255" if least >= 0 and 1 < most <= 255 else ""
            raise DataError(
                f"{name} holds numbers from {least:g} to {most:g}; in a picture real ones are from 0 to 1{hint}"
            )
        array = (array * 255).round().astype(np.uint8)
    if array.shape == (data.size, data.size, data.channels):
        return Seen(array)
    return _of_image(require_pillow().fromarray(array[:, :, 0] if array.shape[2] == 1 else array), data, False)
