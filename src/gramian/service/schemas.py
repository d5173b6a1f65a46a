"""Parameters, bodies and responses as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from gramian.reading import ReadingOptions

Kind = Literal["model", "gallery", "data"]
Kinds = Literal["models", "galleries", "data"]
PLURALS: dict[Kind, Kinds] = {"model": "models", "gallery": "galleries", "data": "data"}
ID = r"^[0-9a-f]{32}$"


class Strict(BaseModel):
    """Rejects unknown fields."""

    model_config = ConfigDict(extra="forbid")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(_as_list)]  # a single name is a list of one


def _reading_fields() -> Iterator[tuple[str, Any]]:
    """Yield the options of reading as HTTP has them: without those that need several files of a client."""
    for option in fields(ReadingOptions):
        text = Names | None if option.metadata["metavar"] == "A,B,.." else str | None
        kind = text if option.type is Any else option.type
        pattern = r"^[0-9]{1,5}x[0-9]{1,5}$" if option.name == "size" else None
        if option.name not in ("labels_from", "unmatched"):
            about = f"{option.metadata['help']}."
            yield option.name, (kind, Field(default=option.default, description=about, pattern=pattern))


_Reading: Any = create_model("_Reading", __base__=Strict, **dict(_reading_fields()))


class Reading(_Reading):  # type: ignore[misc]
    """Which part of data is read, and how, as for ``gramian.scan``."""


class UploadQuery(Reading):
    """Uploaded data: its name and its reading options."""

    name: str = Field(default="data", min_length=1, max_length=200)
    draft: bool = Field(default=False, description="Also accept a table that cannot be read as it is.")


class DataQuery(Reading):
    """Uploaded data, and reading options for this request."""

    data: str | None = Field(default=None, pattern=ID, description="Id of uploaded data.")


class FigureQuery(DataQuery):
    """The options of a figure."""

    x: int = Field(default=1, ge=1, le=100_000, description="Component on the X axis.")
    y: int = Field(default=2, ge=1, le=100_000, description="Component on the Y axis.")
    color: str | None = Field(
        default=None,
        max_length=200,
        description="Column that sets the colour, by default the labels; empty for none.",
    )
    shape: str | None = Field(
        default=None,
        max_length=200,
        description="Column that sets the shape, by default the second of the labels; empty for none.",
    )
    width: int | None = Field(
        default=None, ge=200, le=2000, description="Width of the figure in pixels, with axes and labels."
    )


class KernelQuery(Strict):
    """A function that may be a kernel."""

    expression: str = Field(min_length=1, max_length=1000)
    features: int | None = Field(
        default=None, ge=1, le=10, description="Coordinates of the points, by default 1, 2 and 3."
    )


class ContoursQuery(Strict):
    """A kernel, and points in the plane."""

    expression: str = Field(min_length=1, max_length=1000)
    points: Literal["rings", "moons", "groups"] = "rings"


class ApplyQuery(DataQuery):
    """Rows for a model: the body, or uploaded data."""

    components: int | None = Field(default=None, ge=1, description="For reconstruct, by default all.")
    alpha: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="For monitor: share of normal rows with an alarm, by default 0.01.",
    )
    normal: str | None = Field(
        default=None,
        pattern=ID,
        description="For monitor: id of data with normal rows, which set the limits.",
    )


class Fit(Strict):
    """A fit: estimator, parameters and data."""

    data: str = Field(pattern=ID)
    estimator: Literal["PCA", "KernelPCA", "Whitener", "FaceSpace"] = "PCA"
    parameters: dict[str, Any] = Field(default={}, description="Parameters of the estimator, as in Python.")
    reading: Reading = Reading()
    name: str = Field(default="model", min_length=1, max_length=200)


class ItemFacts(BaseModel):
    """A model, a gallery or data."""

    id: str
    kind: Kind
    name: str
    created: float
    bytes: int
    whose: Literal["yours", "kept", "given"] = Field(
        description="Yours; kept in the store and shared; or given on the command line and read-only."
    )
    changeable: bool = Field(description="Whether you may replace or delete it.")
    facts: dict[str, Any] = Field(
        description="All facts of an item; in a list a summary. Those of a table have a `preview` of its "
        "columns, and `proposals`: a list of `option`, `value` and `why`, which nothing applies by itself."
    )


class PlanFacts(BaseModel):
    """The plan of a fit, as numbers and as text, and what it uses of the data."""

    plan: dict[str, Any] | None
    text: str
    used: str = Field(description="How many columns and rows, and what was done about missing values.")


class Recognised(BaseModel):
    """A result for each picture, the unreadable pictures, and the predicted error rates."""

    answers: list[dict[str, Any]]
    skipped: list[dict[str, str]]
    calibration: dict[str, Any]


class FigureNames(BaseModel):
    """The figures of a model, and what they show in words."""

    figures: list[str] = Field(description="Names, the most useful first.")
    titles: dict[str, str] = Field(description="The title of each figure.")
    columns: list[str] = Field(description="Columns that may set the colour of rows.")
    pair: list[int] = Field(description="The two components to show first, counted from 1.")
    shapes: list[str] = Field(description="Columns that may set the shape of points.")
    color: str = Field(description="The column that sets the colour by default, or empty.")
    shape: str = Field(description="The column that sets the shape by default, or empty.")
    findings: list[str] = Field(description="What the data show, in at most three sentences.")


class ServerFacts(BaseModel):
    """The version and the limits of the server."""

    version: str
    keeps_models: bool
    limits: dict[str, float]


class Login(Strict):
    """The token of the server."""

    token: str = Field(max_length=1000)
