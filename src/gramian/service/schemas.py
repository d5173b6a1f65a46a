"""What comes in and goes out as JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gramian.reading import ReadingOptions

Kind = Literal["model", "gallery", "data"]
Kinds = Literal["models", "galleries", "data"]
PLURALS: dict[Kind, Kinds] = {"model": "models", "gallery": "galleries", "data": "data"}
ID = r"^[0-9a-f]{32}$"


class Strict(BaseModel):
    """Takes what it knows, and nothing else."""

    model_config = ConfigDict(extra="forbid")


def _option(name: str, **more: Any) -> Any:
    """Return an option of reading as HTTP has it."""
    option = ReadingOptions.__dataclass_fields__[name]
    return Field(default=option.default, description=f"{option.metadata['help']}.", **more)


class Reading(Strict):
    """Which part of data is read, and how: as ``gramian.scan``."""

    rows: str | None = _option("rows")
    columns: list[str] | None = _option("columns")
    drop: list[str] | None = _option("drop")
    id: str | None = _option("id")
    label: str | None = _option("label")
    transpose: bool = _option("transpose")
    missing: Literal["mean", "drop-rows", "drop-columns"] | None = _option("missing")
    size: str | None = _option("size", pattern=r"^[0-9]{1,5}x[0-9]{1,5}$")
    na_values: list[str] | None = _option("na_values")


class New(Reading):
    """Data that is uploaded: its name, and how it is read from then on."""

    name: str = Field(default="data", min_length=1, max_length=200)
    draft: bool = Field(default=False, description="Take also a table whose columns still need a use.")


class Shown(Reading):
    """Data beside a model: an id, and how it is read for this."""

    data: str | None = Field(default=None, pattern=ID, description="Id of data that was uploaded.")


class Drawn(Shown):
    """A figure: which components, and what points are coloured by."""

    x: int = Field(default=1, ge=1, le=100_000)
    y: int = Field(default=2, ge=1, le=100_000)
    color: str | None = Field(default=None, max_length=200, description="A column. By default the labels.")


class Asked(Strict):
    """A function that may be a kernel."""

    expression: str = Field(min_length=1, max_length=1000)
    features: int | None = Field(
        default=None, ge=1, le=10, description="Of the points. 1, 2 and 3 by default."
    )


class Applied(Shown):
    """What a model is applied to, the body or data that was uploaded, and with how many components."""

    components: int | None = Field(default=None, ge=1, description="For reconstruct. All by default.")


class Fit(Strict):
    """A fit: of what, to which data."""

    data: str = Field(pattern=ID)
    estimator: Literal["PCA", "KernelPCA", "Whitener", "FaceSpace"] = "PCA"
    parameters: dict[str, Any] = Field(default={}, description="Of the estimator, as in Python.")
    reading: Reading = Reading()
    name: str = Field(default="model", min_length=1, max_length=200)


class ItemFacts(BaseModel):
    """A model, a gallery or data: its name, what is known of it, and who may see and change it."""

    id: str
    kind: Kind
    name: str
    created: float
    bytes: int
    whose: Literal["yours", "kept", "given"]
    changeable: bool = Field(description="Whether you may replace or delete it.")
    facts: dict[str, Any] = Field(description="All that is known of one item; a summary in a list.")


class PlanFacts(BaseModel):
    """How a fit would compute: as numbers, and in words."""

    plan: dict[str, Any] | None
    text: str


class Recognised(BaseModel):
    """An answer for each picture, those that could not be read, and what thresholds promise."""

    answers: list[dict[str, Any]]
    skipped: list[dict[str, str]]
    calibration: dict[str, Any]


class FigureNames(BaseModel):
    """The figures that there are of a model, and what rows can be coloured by."""

    figures: list[str]
    columns: list[str]


class ServerFacts(BaseModel):
    """What the server is and allows."""

    version: str
    keeps_models: bool
    limits: dict[str, float]


class Login(Strict):
    """The token of the server."""

    token: str = Field(max_length=1000)
