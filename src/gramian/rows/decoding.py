"""Decodes one picture: what its header says, its grey values, and what is wrong with it."""

import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, FileError, GramianError, needs

LARGEST_FILE = 1 << 30

# Pillow would otherwise try every format it knows, some of which start other programs.
_FORMATS = ("PNG", "JPEG", "PPM", "BMP", "GIF", "TIFF", "WEBP")
_ORIENTATION_TAG = 274


@dataclass(frozen=True)
class PictureFile:
    """A picture that can be opened: its name among the others, and how to open it."""

    name: str
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True)
class PictureForm:
    """What is known of a picture from its header: upright size in pixels and kind of grey values.

    Forms are equal whatever is changed while reading: colours made grey, and pictures turned upright.
    """

    height: int
    width: int
    dtype: np.dtype[Any]
    coloured: bool = field(default=False, compare=False)
    turned: bool = field(default=False, compare=False)


def picture_form(picture: PictureFile) -> tuple[PictureForm, bool]:
    """Return what the header says of a picture, and whether it has several frames.

    Raises
    ------
    DataError, FileError, MissingExtraError
        If it is too large, damaged or no picture, or Pillow is not installed.
    """
    with _decoding(picture.name), picture.open() as file:
        image = _pillow().open(file, formats=_FORMATS)
        return _form(image), bool(getattr(image, "is_animated", False))


def grey_values(name: str, data: bytes, form: PictureForm) -> npt.NDArray[Any]:
    """Return the grey values of a picture's bytes, turned upright and resized to a form.

    Colour becomes grey as in Pillow's mode "L" (ITU-R 601-2 luma); 16-bit grey keeps its values.
    The orientation that a camera recorded is applied.

    Raises
    ------
    DataError, FileError, MissingExtraError
        If it is too large, damaged or no picture, or Pillow is not installed.
    """
    with _decoding(name):
        return _grey(_pillow().open(io.BytesIO(data), formats=_FORMATS), form)


def picture_content(picture: PictureFile) -> bytes:
    """Return the bytes of a picture's file.

    Raises
    ------
    DataError
        If there are too many.
    FileError
        If it cannot be opened.
    """
    with _decoding(picture.name), picture.open() as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise DataError(
            f"{readable(picture.name)} has more than the {LARGEST_FILE} bytes that a picture may have. "
            "Leave it out or make it smaller."
        )
    return data


def readable(name: str) -> str:
    """Return a name that can be printed, whatever bytes the file system has in it."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    # A control character in a name could rewrite what a terminal shows.
    return "".join("\ufffd" if unicodedata.category(letter) == "Cc" else letter for letter in text)


def _pillow() -> Any:
    with needs("images", "pillow", "reading pictures"):
        from PIL import Image
    return Image


@contextmanager
def _decoding(name: str) -> Iterator[None]:
    """Turn whatever a decoder makes of damaged bytes into one error that names the picture."""
    image = _pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", image.DecompressionBombWarning)
            yield
    except (image.DecompressionBombError, image.DecompressionBombWarning) as error:
        raise DataError(
            f"{readable(name)} is too large to be decoded safely: it has {_pixels(error)}more than the "
            f"{image.MAX_IMAGE_PIXELS:,} pixels that a picture may have. Make it smaller first."
        ) from error
    except (GramianError, MemoryError):
        raise
    except image.UnidentifiedImageError as error:
        raise FileError(
            f"{readable(name)} is no picture, whatever its name says, or its start is damaged. "
            "Leave it out or make it again."
        ) from error
    except Exception as error:  # Pillow's decoders meet damaged bytes unprepared and raise anything
        if isinstance(error, OSError) and error.strerror:
            raise FileError(f"{readable(name)} cannot be opened: {error.strerror}.") from error
        raise FileError(
            f"{readable(name)} cannot be read: it is truncated or damaged ({error}). "
            "Leave it out or make it again."
        ) from error


def _pixels(error: Exception) -> str:
    """Return what Pillow says of the number of pixels: its limit differs from the one that holds here."""
    found = re.search(r"\((\d+) pixels\)", str(error))
    return f"{int(found[1]):,}, " if found else ""


def _form(image: Any) -> PictureForm:
    width, height = image.size
    orientation = image.getexif().get(_ORIENTATION_TAG)
    if orientation in (5, 6, 7, 8):
        width, height = height, width
    return PictureForm(height, width, _grey_dtype(image), _coloured(image), turned=orientation in range(2, 9))


def _coloured(image: Any) -> bool:
    """Say whether there may be colour; what a palette holds is part of the header."""
    if image.mode != "P":
        return image.mode not in ("1", "L", "LA", "I", "F") and not image.mode.startswith("I;16")
    order, data = image.palette.getdata()
    whole = len(data) // len(order) * len(order)
    colours = np.frombuffer(bytes(data[:whole]), np.uint8).reshape(-1, len(order))
    return bool((colours[:, :2] != colours[:, 1:3]).any())


def _grey_dtype(image: Any) -> np.dtype[Any]:
    if image.mode.startswith("I;16"):
        return np.dtype(np.uint16)
    if image.mode == "I":
        return np.dtype(np.uint16 if image.format in ("PPM", "PNG") else np.int32)
    return np.dtype(np.float32 if image.mode == "F" else np.uint8)


def _grey(image: Any, form: PictureForm) -> npt.NDArray[Any]:
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    if form.dtype == np.uint8:
        if image.mode in ("P", "PA"):
            # Palettes may hold transparency, which Pillow converts only through RGBA.
            image = image.convert("RGBA")
        image = image.convert("L")
    # 16-bit grey of some formats is decoded to wider integers.
    return resized(np.asarray(image).astype(form.dtype, copy=False), (form.width, form.height))


def resized(values: npt.NDArray[Any], size: tuple[int, int]) -> npt.NDArray[Any]:
    """Return a grey picture in another size, by Lanczos filtering, in its own dtype.

    Parameters
    ----------
    values : ndarray of shape (height, width)
    size : (width, height)

    Raises
    ------
    MissingExtraError
        If Pillow is not installed and the size is another one.
    """
    if values.shape == size[::-1]:
        return values
    image, lanczos = _pillow(), _pillow().Resampling.LANCZOS
    if values.dtype == np.uint8:
        return np.asarray(image.fromarray(np.ascontiguousarray(values)).resize(size, lanczos))
    # Deeper grey is resized in floats, the one mode in which Pillow filters all of it.
    found = np.asarray(image.fromarray(values.astype(np.float32)).resize(size, lanczos))
    if values.dtype.kind not in "iu":
        return found.astype(values.dtype, copy=False)
    limits = np.iinfo(values.dtype)
    return np.asarray(np.clip(np.rint(found), limits.min, limits.max), dtype=values.dtype)
