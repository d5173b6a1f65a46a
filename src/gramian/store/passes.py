"""Passes over data that is read block by block: counted, and kept so that a fit that was killed goes on.

A checkpoint is a log of what passes found. Solvers know nothing of it: when the same fit runs again, with the
same random streams, a pass whose result is there is not made, and one that had been begun goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gramian.errors import FileError, ParameterError
from gramian.progress import pace, track
from gramian.store.atomic import as_file_error, as_path, atomic_write, locked, remove_left

R = TypeVar("R")
T = TypeVar("T")
Arrays = tuple["npt.NDArray[Any]", ...]
ABOUT = "fit.json"
SECONDS = 60.0  # after which what a pass has found so far is kept
SAME = 1e-12  # relative difference of vectors that is rounding
PROBES = 4
# What reading a file that something happened to ends with; a single array is no archive, and a TypeError.
DAMAGED = (
    OSError, ValueError, TypeError, KeyError, EOFError, RecursionError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
OTHERWISE = "Give what was given then to go on, name another folder, or remove this one to start anew."


@dataclass
class Passes:
    """The passes over one set of data, in order.

    Attributes
    ----------
    folder : Path or None
        The checkpoint, where there is one.
    count : int
        Number of passes so far, those that were found in the checkpoint included.
    """

    folder: Path | None = None
    count: int = 0

    @classmethod
    @contextmanager
    def resumed(
        cls, folder: str | os.PathLike[str], of: Mapping[str, str], seeds: Sequence[int]
    ) -> Iterator[tuple[Passes, list[int]]]:
        """Begin a checkpoint in a folder, or go on with the one that is there; nobody else uses it meanwhile.

        Parameters
        ----------
        folder : path
            Made if it is not there.
        of : mapping of str to str
            What data and which parameters the fit is of, by name: a checkpoint is for one fit.
        seeds : sequence of int
            Of the random streams, where the checkpoint is new.

        Yields
        ------
        passes : Passes
        seeds : list of int
            Those that the fit began with.

        Raises
        ------
        ParameterError
            If the checkpoint is of another fit; it says what differs.
        FileError
            If the folder cannot be written to, holds other things, or another process is using it.
        """
        place = as_path(folder)
        with as_file_error(place):
            place.mkdir(parents=True, exist_ok=True)
            others = [name for name in os.listdir(place) if not name.startswith(".gramian-")]
        if others and ABOUT not in others:
            raise FileError(
                f"checkpoint {str(place)!r} holds {others[0]!r}, and is no checkpoint. Name an empty folder."
            )
        in_use = f"checkpoint {str(place)!r} is in use by another fit. Wait for it, or name another folder."
        with locked(place, in_use):
            yield cls(place), _begun(place, dict(of), list(seeds))

    def run(
        self,
        batches: Sequence[T],
        work: Callable[[T], R],
        combine: Callable[[R, R], R],
        kind: str,
        of: Sequence[Any],
        restore: Callable[..., Any],
        progress: tuple[Sequence[int], int, str],
    ) -> R:
        """Make the next pass batch after batch, or what is left of it where the checkpoint has it.

        Parameters
        ----------
        batches : sequence
            Parts of the data.
        work : callable
            Of one of them: an array, or a record of arrays.
        combine : callable
            Of what earlier batches gave and the next one.
        kind : str
            What is done, in words.
        of : sequence of arrays
            What the data is multiplied by, and numbers that matter.
        restore : callable
            Makes again of its arrays what ``work`` returns.
        progress : (sequence of int, int, str)
            How much is done when each batch begins, of how many, of what.
        """
        starts, total, what = progress
        one, began = self._begin(kind, len(batches), of), time.perf_counter()
        result: Any = restore(*one.results) if one.done else None

        def text(done: int) -> str:
            told_of = pace(starts[done], total, what, began, starts[first])
            return f"pass {one.number} ({kind}): {told_of}"

        first = one.done
        for done, batch in enumerate(track(batches, f"pass {one.number}", first=first, text=text), first + 1):
            part = work(batch)
            result = part if result is None else combine(result, part)
            one.keep(done, result)
        return result  # type: ignore[no-any-return]

    def _begin(self, kind: str, parts: int, of: Sequence[Any]) -> Pass:
        """Begin the next pass, or go on with it where the checkpoint has it."""
        self.count += 1
        if self.folder is None:
            return Pass(kind, self.count, parts)
        path = self.folder / f"pass-{self.count:05}.npz"
        made = Pass(kind, self.count, parts, path=path, probes=_probes(of))
        if not made.found():
            # What follows was found with other vectors.
            with as_file_error(self.folder):
                for stale in self.folder.glob("pass-*.npz"):
                    if stale.name >= path.name:
                        stale.unlink(missing_ok=True)
        return made


@dataclass
class Pass:
    """One pass, part by part.

    Attributes
    ----------
    kind : str
    number : int
        Which pass over the data it is, counted from 1.
    parts : int
        How many parts it has.
    done : int
        How many are done.
    results : tuple of arrays
        What they gave together, where it was read from a checkpoint.
    """

    kind: str
    number: int
    parts: int
    done: int = 0
    results: Arrays = ()
    path: Path | None = None
    probes: Any = None
    _saved: float = field(default_factory=time.monotonic)

    def found(self) -> bool:
        """Read what the checkpoint has of this very pass, if it has anything."""
        assert self.path is not None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                kind, done, parts = json.loads(str(file["about"]))
                probes = file["probes"]
                same = (kind, parts) == (self.kind, self.parts) and probes.shape == self.probes.shape
                if not same or not np.allclose(probes, self.probes, rtol=SAME, atol=SAME):
                    return False
                results = tuple(file[f"result{i}"][()] for i in range(len(file.files) - 3))
                # Numbers of another shape might fit, and none says where it is from.
                if str(file["hash"]) != _hash(file["about"], probes, *results):
                    return False
        except DAMAGED:
            return False  # the pass is made again
        self.done, self.results = done, results
        return True

    def keep(self, done: int, result: Any) -> None:
        """Take note of what so many parts gave together: written in the end, and once a minute.

        Raises
        ------
        FileError
            If there is no room for it; what was kept before is untouched.
        """
        self.done = done
        if self.path is None or (done < self.parts and time.monotonic() - self._saved < SECONDS):
            return
        about = np.array(json.dumps([self.kind, done, self.parts]))
        results = (
            (result,) if isinstance(result, np.ndarray) else tuple(map(np.asarray, vars(result).values()))
        )
        named: dict[str, Any] = {f"result{i}": part for i, part in enumerate(results)}
        named["hash"] = np.array(_hash(about, self.probes, *results))
        with atomic_write(self.path) as file:
            np.savez(file, about=about, probes=self.probes, **named)
        self._saved = time.monotonic()


def remove_checkpoint(folder: str | os.PathLike[str]) -> None:
    """Remove a checkpoint that has served; what else is in its folder stays."""
    place = as_path(folder)
    if (place / ABOUT).exists():
        with as_file_error(place):
            remove_left(place)
            for path in (*place.glob("pass-*.npz"), place / ABOUT):
                path.unlink(missing_ok=True)
            with suppress(OSError):
                place.rmdir()


def _begun(folder: Path, of: dict[str, str], seeds: list[int]) -> list[int]:
    """Require that the checkpoint is of this fit, or write down that it is; return its seeds."""
    about = folder / ABOUT
    if about.exists():
        began = _read_about(about)
        _require_same(folder, began["of"], of)
        seeds = began["seeds"]
    remove_left(folder)
    if not about.exists():
        with atomic_write(about) as file:
            file.write(json.dumps({"of": of, "seeds": seeds}, indent=2).encode())
    return seeds


def _read_about(path: Path) -> dict[str, Any]:
    try:
        with as_file_error(path):
            began = json.loads(path.read_bytes())
        seeds = np.array(began["seeds"], dtype=np.uint64)  # refuses what is no seed
        return {"of": dict(began["of"]), "seeds": seeds.tolist()}
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise FileError(f"{path} is damaged. Remove its folder to start anew.") from error


def _require_same(folder: Path, began: dict[str, str], now: dict[str, str]) -> None:
    names = sorted({*began, *now})
    differ = [
        f"{name} was {began.get(name, 'not there')} and is {now.get(name, 'not there')}"
        for name in names
        if began.get(name) != now.get(name)
    ]
    if differ:
        raise ParameterError("checkpoint", str(folder), f"is of another fit: {'; '.join(differ)}", OTHERWISE)


def _hash(*parts: npt.NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(f"{part.shape} {part.dtype.str}".encode())
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    return digest.hexdigest()


def _probes(of: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """A few random sums of the vectors' entries, which other vectors do not share."""
    rng = np.random.default_rng(0)
    sums = [(rng.standard_normal((PROBES, len(part))) @ part).ravel() for part in of]
    return np.concatenate(sums) if sums else np.empty(0)
