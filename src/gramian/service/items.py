"""Records of models, galleries and data: a short description for lists, and a file with all facts.

A description is read from disk, where anybody may have changed it: this module checks it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gramian.errors import shortened
from gramian.service.bodies import check_depth, strict_json
from gramian.service.schemas import ID, Kind, Reading

Ownership = Literal["yours", "kept", "given"]
LONGEST_FACTS = 4 << 20  # bytes of the facts of an item
LONGEST_DESCRIPTION = 256 << 10  # bytes; the longest URL, which sets the reading options, is shorter
FILE = r"[0-9a-f]{32}-[0-9a-f]{8}(\.[a-z0-9]{1,10})?"


class Stored(BaseModel):
    """Is read strictly: every field is known, of its type, and finite."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class ModelSummary(Stored):
    """What lists show of a model."""

    kind: str = Field(max_length=100)
    n_components: int | None = None
    n_features: int | None = None
    n_samples: int | None = None


class Summary(Stored):
    """What lists show of an item: sizes, and why it cannot be used."""

    rows: int | None = None
    columns: int | None = None
    picture_shape: tuple[int, ...] | None = Field(default=None, max_length=8)
    model: ModelSummary | None = None
    people_count: int | None = None
    problem: str | None = Field(default=None, max_length=200)
    error: str | None = Field(default=None, max_length=200)

    def plain(self) -> dict[str, Any]:
        """Return the known fields for JSON."""
        return self.model_dump(mode="json", exclude_none=True)


class Item(Stored):
    """A model, a gallery or data on the server. It cannot be changed, only replaced.

    Attributes
    ----------
    id, kind, name
    created : float
        Seconds since 1970.
    bytes : int
    file : str
        Its name in the folder; for an item of the command line its path.
    details : str
        All facts: the name of their file; for an item of the command line the facts themselves, as JSON.
    owner : str or None
        The visitor who added it.
    summary : Summary
    reading : Reading
        Which part of data is read, and how.
    whose : {"yours", "kept", "given"}
        A visitor's own, shared through ``--store``, or from the command line. It is not written to disk.
    """

    id: str = Field(pattern=ID)
    kind: Kind
    name: str = Field(min_length=1, max_length=200)
    created: float = Field(ge=0)
    bytes: int = Field(ge=0)
    file: str
    details: str = "{}"
    owner: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    summary: Summary = Summary()
    reading: Reading = Reading()
    whose: Ownership = "yours"

    def payload(self, folder: Path) -> dict[str, Any]:
        """Return what a worker needs to open it, as a new dict."""
        given = self.whose == "given"
        path = Path(self.file) if given else folder / self.file
        reading = self.reading.model_dump(exclude_defaults=True)
        return {"path": str(path), "name": self.name, "kind": path.suffix, "given": given, "reading": reading}

    def description(self) -> str:
        """Return what is written to disk."""
        return self.model_dump_json(exclude_defaults=True, exclude={"whose"})


def summary_of(kind: Kind, facts: dict[str, Any]) -> Summary:
    """Return the summary of an item with these facts.

    Raises
    ------
    ValueError
        If the facts are of other types.
    """
    if "error" in facts:
        return Summary(error=shortened(facts["error"]))
    if kind == "gallery":
        return Summary(people_count=len(facts.get("people", ())))
    if kind == "model":
        model = facts.get("model", {})
        return Summary(model=ModelSummary(**{name: model.get(name) for name in ModelSummary.model_fields}))
    shape, problem = facts.get("picture_shape"), facts.get("problem")
    return Summary(
        rows=facts.get("rows"),
        columns=facts.get("columns"),
        picture_shape=None if shape is None else tuple(shape),
        problem=None if problem is None else shortened(problem),
    )


def read_item(path: Path, id: str, whose: Ownership) -> Item:
    """Read the description of an item.

    Raises
    ------
    OSError, ValueError
        If it cannot be read, was not written by this version, or names files of another item.
    """
    item = Item.model_validate_json(_read(path, LONGEST_DESCRIPTION))
    files = item.file, item.details
    if item.id != id or not all(name.startswith(id) and re.fullmatch(FILE, name) for name in files):
        raise ValueError("it names files of another item")
    return item.model_copy(update={"whose": whose})


def read_facts(path: Path) -> dict[str, Any]:
    """Read all facts of an item.

    Raises
    ------
    OSError, ValueError
        If they cannot be read, or are not finite.
    """
    try:
        facts = strict_json(_read(path, LONGEST_FACTS))
        check_depth(facts)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(facts, dict):
        raise ValueError("it is not an object")
    return facts


def _read(path: Path, longest: int) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise ValueError("it is not a file")
    if path.stat().st_size > longest:
        raise ValueError(f"it is longer than {longest:,} bytes")
    return path.read_bytes()
