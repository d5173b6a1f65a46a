"""What is written down of an item, in two files: a short description for lists, and all facts.

A description is read from disk, where anybody may have changed it: this is the one place that checks it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gramian.errors import shortened
from gramian.service.bodies import check_depth
from gramian.service.schemas import ID, Kind, Reading

LONGEST_FACTS = 4 << 20  # bytes of the facts of an item
LONGEST_DESCRIPTION = 256 << 10  # bytes; the longest URL, which says how data is read, is shorter
FILE = r"[0-9a-f]{32}-[0-9a-f]{8}(\.[a-z0-9]{1,10})?"


class Stored(BaseModel):
    """Is read strictly: every field is known, of its type, and finite."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class ModelSummary(Stored):
    """What a list says of a model."""

    kind: str = Field(max_length=100)
    n_components: int | None = None
    n_features: int | None = None
    n_samples: int | None = None


class Summary(Stored):
    """What a list says of an item: sizes, and why it cannot be used."""

    rows: int | None = None
    columns: int | None = None
    picture_shape: tuple[int, ...] | None = Field(default=None, max_length=8)
    model: ModelSummary | None = None
    people_count: int | None = None
    problem: str | None = Field(default=None, max_length=200)
    error: str | None = Field(default=None, max_length=200)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it, without what is not known."""
        return self.model_dump(mode="json", exclude_none=True)


class Description(Stored):
    """The description of an item on disk.

    Attributes
    ----------
    id, kind, name, created, bytes
    file, details : str
        Names in the same folder: what was uploaded or fitted, and all facts.
    owner : str or None
        The visitor who put it there.
    summary : Summary
    reading : Reading
        Which part of data is read, and how.
    """

    id: str = Field(pattern=ID)
    kind: Kind
    name: str = Field(min_length=1, max_length=200)
    created: float = Field(ge=0)
    bytes: int = Field(ge=0)
    file: str = Field(pattern=f"^{FILE}$")
    details: str = Field(pattern=f"^{FILE}$")
    owner: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    summary: Summary = Summary()
    reading: Reading = Reading()


def summary_of(kind: Kind, facts: dict[str, Any]) -> Summary:
    """Return what a list says of an item with these facts.

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


def read_description(path: Path, id: str) -> Description:
    """Read the description of an item.

    Raises
    ------
    OSError, ValueError
        If it cannot be read, is not as this version writes it, or is not that item's.
    """
    return _checked(Description.model_validate_json(_read(path, LONGEST_DESCRIPTION)), id)


def read_facts(path: Path) -> dict[str, Any]:
    """Read all facts of an item.

    Raises
    ------
    OSError, ValueError
        If they cannot be read, or are not finite.
    """

    def refuse(name: str) -> float:
        raise ValueError(f"{name} is not JSON")

    try:
        facts = json.loads(_read(path, LONGEST_FACTS), parse_constant=refuse)
        check_depth(facts)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    if not isinstance(facts, dict):
        raise ValueError("it is not an object")
    return facts


def _checked(description: Description, id: str) -> Description:
    if not all(name.startswith(id) for name in (description.id, description.file, description.details)):
        raise ValueError("it names files of another item")
    return description


def _read(path: Path, longest: int) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise ValueError("it is not a file")
    if path.stat().st_size > longest:
        raise ValueError(f"it is longer than {longest:,} bytes")
    return path.read_bytes()
