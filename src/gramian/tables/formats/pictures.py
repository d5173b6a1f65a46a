"""Grey pictures as a table: single files, folders, lists and archives of them; headers and damage."""

import hashlib
import io
import math
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gramian.core.checks import counted, first_few
from gramian.core.progress import track
from gramian.errors import DataError, FileError, GramianError, MissingExtraError, needs
from gramian.tables.names import PICTURE_SUFFIXES, is_hidden, is_picture, natural_key, readable
from gramian.tables.reading import pick_rows
from gramian.tables.source import ArraySource, Opened, damage, open_regular
from gramian.tables.stored import Spool
from gramian.tables.table import Origin

LARGEST_FILE = 1 << 30

# Pillow would otherwise try every format it knows, and some start other programs.
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

    Equality ignores colour, transparency and further frames, which reading removes.
    """

    height: int
    width: int
    dtype: np.dtype[Any]
    coloured: bool = field(default=False, compare=False)
    transparent: bool = field(default=False, compare=False)
    animated: bool = field(default=False, compare=False)


def picture_form(picture: PictureFile) -> PictureForm:
    """Return the form in a picture's header.

    Raises
    ------
    DataError, FileError, MissingExtraError
        If it is too large, damaged or not a picture, or Pillow is not installed.
    """
    with _decoding(picture.name), picture.open() as file:
        image = _pillow().open(file, formats=_FORMATS)
        width, height = image.size
        if image.getexif().get(_ORIENTATION_TAG) in (5, 6, 7, 8):
            width, height = height, width
        animated = bool(getattr(image, "is_animated", False))
        transparent = image.has_transparency_data
        return PictureForm(height, width, _grey_dtype(image), _coloured(image), transparent, animated)


def grey_values(name: str, data: bytes, form: PictureForm) -> npt.NDArray[Any]:
    """Return the grey values of a picture's bytes, turned upright and resized to a form.

    Colour becomes grey as in Pillow's mode "L" (ITU-R 601-2 luma); 16-bit grey keeps its values.
    The orientation that a camera recorded is applied, and transparent parts are laid on white.

    Raises
    ------
    DataError, FileError, MissingExtraError
        If it is too large, damaged or not a picture, or Pillow is not installed.
    """
    with _decoding(name):
        from PIL import ImageOps

        image = ImageOps.exif_transpose(_pillow().open(io.BytesIO(data), formats=_FORMATS))
        if form.dtype == np.uint8:
            if image.has_transparency_data:
                above = image.convert("RGBA")
                image = _pillow().alpha_composite(_pillow().new("RGBA", image.size, "white"), above)
            image = image.convert("L")
        # 16-bit grey of some formats is decoded to wider integers.
        return resized(np.asarray(image).astype(form.dtype, copy=False), (form.width, form.height))


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
        why = f"{readable(picture.name)} has more than the {LARGEST_FILE} bytes that a picture may have."
        raise DataError(why, "Leave it out or make it smaller.")
    return data


def _pillow() -> Any:
    with needs("images", "pillow", "reading pictures"):
        from PIL import Image
    return Image


@contextmanager
def _decoding(name: str) -> Iterator[None]:
    """Turn any exception of a decoder into one error that names the picture."""
    image = _pillow()
    with damage(readable(name)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", image.DecompressionBombWarning)
        try:
            yield
        except image.UnidentifiedImageError as error:
            why = f"{readable(name)} is not a picture despite its name, or its first bytes are damaged."
            raise FileError(why, "Leave it out or create it again.") from error
        except (image.DecompressionBombError, image.DecompressionBombWarning) as error:
            raise DataError(
                f"{readable(name)} has more than the {image.MAX_IMAGE_PIXELS:,} pixels that a picture may "
                "have. Make it smaller first."
            ) from error


def _coloured(image: Any) -> bool:
    """Say whether there may be colour; a palette is part of the header."""
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
    result = np.asarray(image.fromarray(values.astype(np.float32)).resize(size, lanczos))
    if values.dtype.kind not in "iu":
        return result.astype(values.dtype, copy=False)
    limits = np.iinfo(values.dtype)
    return np.asarray(np.clip(np.rint(result), limits.min, limits.max), dtype=values.dtype)


# ---------- from a folder, a list of files, a zip archive or a single file

# What compresses by more than this is no picture, but a few grey values and a long run of zeros.
LARGEST_RATIO = 200
RATIO_COUNTS_FROM = 16 << 20

_SKIPPED_SHOWN = 3
_ENCRYPTED = 1
# Compressed bytes that are expanded together: bzip2 and LZMA make thousands of bytes of one.
_CHUNK = 4096


def pictures_in_folder(folder: Path) -> tuple[list[PictureFile], tuple[str, ...]]:
    """Find the pictures in a folder and those below it, in natural order of their paths.

    Links to folders are not followed.

    Returns
    -------
    pictures : list of PictureFile
    notes : tuple of str
        What was skipped.

    Raises
    ------
    DataError
        If there is no picture.
    FileError
        If a folder cannot be listed.
    """

    def on_error(error: OSError) -> None:
        raise FileError(f"{readable(error.filename)} cannot be listed: {error.strerror}.") from error

    names = []
    for parent, _, files in os.walk(folder, onerror=on_error):
        inside = Path(parent).relative_to(folder)
        names += [(inside / name).as_posix() for name in files]
    picture_names, notes = _only_pictures(names, f"folder {readable(str(folder))}")
    return [PictureFile(name, partial(open_regular, folder / name, name)) for name in picture_names], notes


def pictures_in_list(paths: Sequence[Path]) -> tuple[list[PictureFile], tuple[str, ...]]:
    """Take the pictures of a list of files and folders, in its order.

    Returns
    -------
    pictures : list of PictureFile
    notes : tuple of str
        What was skipped in folders.

    Raises
    ------
    DataError
        If the name of one is not that of a picture, or a folder has none.
    """
    results: list[PictureFile] = []
    notes: tuple[str, ...] = ()
    for path in paths:
        if path.is_dir():
            pictures, skipped = pictures_in_folder(path)
            results += [PictureFile((path / picture.name).as_posix(), picture.open) for picture in pictures]
            notes += skipped
        elif is_picture(path.name):
            results.append(PictureFile(path.as_posix(), partial(open_regular, path, path.as_posix())))
        else:
            why = f"{readable(str(path))} is not named like a picture."
            raise DataError(why, f"A list of paths is for pictures: {' '.join(PICTURE_SUFFIXES)}.")
    return results, notes


def pictures_in_zip(archive: zipfile.ZipFile, source: str) -> tuple[list[PictureFile], tuple[str, ...]]:
    """Find the pictures in a zip archive, in natural order; nothing is unpacked to disk.

    Raises
    ------
    DataError
        If there is no picture.
    """
    entries = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    names, notes = _only_pictures(list(entries), source)
    return [PictureFile(name, partial(open_member, archive, entries[name], source)) for name in names], notes


def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: str) -> IO[bytes]:
    """Open a member of an archive; no more is unpacked than its directory states.

    Raises
    ------
    DataError
        If it is too large.
    FileError
        If it is encrypted.
    """
    name, size, packed = readable(info.filename), info.file_size, max(info.compress_size, 1)
    if info.flag_bits & _ENCRYPTED:
        raise FileError(f"{name} is encrypted. Unpack it first, or leave it out.")
    if size > LARGEST_FILE or (size > RATIO_COUNTS_FROM and size > LARGEST_RATIO * packed):
        raise DataError(
            f"{name} in {source} unpacks to {size} bytes, {size // packed} times its compressed size, which "
            "is too much for a picture. Leave it out."
        )
    if info.compress_type == zipfile.ZIP_STORED:
        return archive.open(info)
    with archive.open(info) as member:
        return io.BytesIO(b"".join(iter(partial(member.read, _CHUNK), b"")))


def _only_pictures(names: list[str], source: str) -> tuple[list[str], tuple[str, ...]]:
    visible = [name for name in names if not is_hidden(name)]
    picture_names = sorted(filter(is_picture, visible), key=natural_key)
    other = sorted(name for name in visible if not is_picture(name))
    if not picture_names:
        files = f"but {counted(len(other), 'other file')} ({first_few(other, readable, _SKIPPED_SHOWN)})"
        hint = f"Pictures are {' '.join(PICTURE_SUFFIXES)}. To read a table, give the path of its file."
        raise DataError(f"{source} holds no pictures {files if other else 'and no other files'}.", hint)
    if not other:
        return picture_names, ()
    skipped = counted(len(other), "other file was", "other files were")
    return picture_names, (f"{skipped} skipped in {source}: {first_few(other, readable, _SKIPPED_SHOWN)}",)


# ------------------- Pictures as a table: grey values, one picture a row


@dataclass(frozen=True, eq=False)
class PictureSource:
    """Files of pictures that have not been opened yet.

    Attributes
    ----------
    source : str
    pictures : sequence of PictureFile
    notes : tuple of str
    """

    source: str
    pictures: Sequence[PictureFile]
    notes: tuple[str, ...] = ()
    column_names: ClassVar[tuple[str, ...]] = ()

    def array(
        self,
        rows: slice | None = None,
        size: tuple[int, int] | None = None,
        skipped: list[tuple[str, str]] | None = None,
        on_read: Callable[[PictureFile, PictureForm, bytes], None] | None = None,
        least: int = 1,
    ) -> ArraySource:
        """Look at the headers of pictures, which become grey values, one picture a row.

        Colour becomes grey as in Pillow's mode "L" (ITU-R 601-2 luma); 16-bit grey keeps its values.
        The orientation that a camera recorded is applied.

        Parameters
        ----------
        rows : slice or None
            Which of them; the others are not opened.
        size : (width, height) or None
            Resize every picture to this; None asks that all have one size already.
        skipped : list of (name, why), optional
            Gets the pictures that cannot be read, which are left out; by default the first one raises.
        on_read : callable, optional
            Called with each picture that was read, its form before it was resized, and the bytes of its file.
        least : int
            Pictures with fewer pixels a side are not usable.

        Returns
        -------
        ArraySource
            Of shape (n_pictures, height, width); its hash covers names and contents.

        Raises
        ------
        DataError
            If sizes or kinds of grey differ, a picture is too large to be decoded safely, or all are skipped.
        FileError
            If a picture is damaged.
        MissingExtraError
            If Pillow is not installed.
        """
        name = self.source

        @contextmanager
        def skipping(picture: PictureFile) -> Iterator[None]:
            try:
                yield
            except GramianError as error:
                if skipped is None or isinstance(error, MissingExtraError):
                    raise
                label = readable(picture.name)
                skipped.append((label, str(error).removeprefix(f"{label} ")))

        def require_some(count: int) -> None:
            if not count:
                shown = first_few([f"{label} {why}" for label, why in skipped or ()], str, _SKIPPED_SHOWN)
                raise DataError(f"{name} contains no usable picture: {shown}")

        # By their headers alone: all must fit together before any is decoded.
        usable: list[tuple[PictureFile, PictureForm]] = []
        chosen = pick_rows(len(self.pictures), rows, name)
        for picture in track([self.pictures[row] for row in chosen], "header"):
            with skipping(picture):
                form = picture_form(picture)
                if min(form.width, form.height) < least:
                    problem = (
                        f"{readable(picture.name)} is {form.width}x{form.height} pixels, below the minimum"
                    )
                    raise DataError(f"{problem} of {least} pixels a side. Leave it out.")
                usable.append((picture, form))
        require_some(len(usable))
        form = _common_form(usable, size)
        shape, digest = (len(usable), form.height, form.width), hashlib.sha256()

        def grey() -> Iterator[npt.NDArray[Any]]:
            for picture, original in track(usable, "picture"):
                with skipping(picture):
                    data = picture_content(picture)
                    values = grey_values(picture.name, data, form)
                    label = picture.name.encode("utf-8", "surrogateescape")
                    digest.update(label + b"\0" + len(data).to_bytes(8, "little") + data)
                    if on_read is not None:
                        on_read(picture, original, data)
                    yield values

        def read(_: range | None = None) -> npt.NDArray[Any]:
            values, count = np.empty(shape, dtype=form.dtype), 0
            for count, picture in enumerate(grey(), start=1):
                values[count - 1] = picture
            require_some(count)
            return values[:count]

        def lazy(limit: int) -> Any:
            spool = Spool(name, math.prod(shape) * form.dtype.itemsize)
            for picture in grey():
                spool.append(picture[None])
            return spool.rows()

        return ArraySource(
            name,
            shape,
            form.dtype,
            read,
            lazy=lazy,
            row_names=tuple(readable(picture.name) for picture, _ in usable),
            notes=(*self.notes, *_changes(usable)),
            origin=lambda: Origin(digest.hexdigest(), "the names and contents of the pictures"),
        )


def _common_form(
    usable: Sequence[tuple[PictureFile, PictureForm]], size: tuple[int, int] | None
) -> PictureForm:
    """Return the form that all pictures get; they must be alike but for what resizing changes."""
    first, form = usable[0]
    form = form if size is None else replace(form, width=size[0], height=size[1])
    for picture, other in usable:
        if other.dtype != form.dtype or (size is None and other != form):
            raise _different(first.name, form, picture.name, other)
    return form


def _changes(usable: Sequence[tuple[PictureFile, PictureForm]]) -> Iterator[str]:
    """Yield what decoding changes, and in how many pictures."""
    for kind, single, many, what in (
        ("animated", "picture has", "pictures have", "several frames, and only the first was used"),
        ("transparent", "picture with transparency was", "pictures with transparency were", "laid on white"),
        ("coloured", "colour picture was", "colour pictures were", "made grey (ITU-R 601-2 luma)"),
    ):
        if count := sum(getattr(form, kind) for _, form in usable):
            yield f"{counted(count, single, many)} {what}"


def _different(first: str, form: PictureForm, second: str, other: PictureForm) -> DataError:
    first, second = readable(first), readable(second)
    if form.dtype != other.dtype:
        why = (
            f"pictures of different kinds: {first} has {form.dtype} grey values, {second} has {other.dtype}."
        )
        return DataError(why, "Save all of them with the same depth.")
    size = f"{form.width}x{form.height}"
    hint = f"Resize them while reading, for instance with size={size!r}."
    sizes = f"{first} is {size}, {second} is {other.width}x{other.height} (width x height)"
    return DataError(f"pictures of different sizes: {sizes}.", hint)


# --------------- Formats: a picture, a folder of them, a zip archive of them


def open_picture(opened: Opened, key: str | None) -> PictureSource:
    """Return a single picture."""
    data = opened.content()
    return PictureSource(opened.name, [PictureFile(Path(opened.name).name, partial(io.BytesIO, data))])


def open_folder(opened: Opened, key: str | None) -> PictureSource:
    """Return the pictures of a folder and of those below it."""
    return PictureSource(opened.name, *pictures_in_folder(opened.path or Path()))


def open_zip(opened: Opened, key: str | None) -> PictureSource:
    """Return the pictures of an archive, without unpacking it to disk."""
    archive = opened.enter_context(zipfile.ZipFile(opened.file))
    return PictureSource(opened.name, *pictures_in_zip(archive, opened.name))
