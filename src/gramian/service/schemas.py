"""Parameters, bodies and responses as JSON, and what a request that fails answers."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from gramian.operations import operations
from gramian.operations.operation import Operation
from gramian.options import declared_of
from gramian.reading import ReadingOptions

Kind = Literal["model", "gallery", "data"]
Kinds = Literal["models", "galleries", "data"]
PLURALS: dict[Kind, Kinds] = {"model": "models", "gallery": "galleries", "data": "data"}
PARTS = ("name", "kind", "required", "help")  # of an input of an operation
ID = r"^[0-9a-f]{32}$"
# Of options that are any text elsewhere; a file of labels is uploaded data here.
PATTERNS = {"size": r"^[0-9]{1,5}x[0-9]{1,5}$", "labels_from": r"^[0-9a-f]{32}(:.{1,200})?$"}


class Strict(BaseModel):
    """Rejects unknown fields."""

    model_config = ConfigDict(extra="forbid")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_columns(value: Any) -> Any:
    value = _as_list(value)
    return next(csv.reader(value), []) if isinstance(value, list) and len(value) == 1 else value


Names = Annotated[list[str], BeforeValidator(_as_list)]  # a single name is a list of one
Columns = Annotated[list[str], BeforeValidator(_as_columns)]  # or one text with commas; "" is none


def _fields(record: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the options of a record as HTTP has them: without those of one machine."""
    hints = get_type_hints(record)
    for one in fields(record):
        declared, kind = declared_of(one), hints[one.name]
        if declared.local:
            continue
        if kind is Any:
            kind = Columns | None if one.name == "pivot" else Names | None if declared.is_list else str | None
        elif declared.choices:
            kind = Literal[tuple(declared.choices)] | (None if one.default is None else kind)
        help = declared.help.replace("another file", "uploaded data, ID or ID:COLUMN")
        about = Field(default=one.default, description=help, pattern=PATTERNS.get(one.name))
        yield one.name, (kind, about)


_Reading: Any = create_model("_Reading", __base__=Strict, **dict(_fields(ReadingOptions)))


class Reading(_Reading):  # type: ignore[misc]
    """Which part of data is read, and how, as for ``gramian.scan``."""

    sheet: str | None = Field(default=None, max_length=31, description="Sheet of a workbook (.xlsx).")

    def options(self) -> dict[str, Any]:
        """Return the reading options that were chosen."""
        return dict(self.model_dump(exclude_defaults=True, include=set(Reading.model_fields)))


class UploadQuery(Reading):
    """Uploaded data: its name and its reading options."""

    name: str = Field(default="data", min_length=1, max_length=200)
    draft: bool = Field(default=False, description="Also accept a table that cannot be read as it is.")


class DataQuery(Reading):
    """Uploaded data, and reading options for this request."""

    data: str | None = Field(default=None, pattern=ID, description="Id of uploaded data.")


class WidthQuery(Reading):
    """Reading options, and the scaling of columns."""

    scale: Literal["unit"] | None = Field(default=None, description="Columns of unit variance.")


class PageQuery(Reading):
    """How the page of data reads a file, and the method, or the model, whose settings it begins with."""

    method: Literal["PCA", "KernelPCA", "FaceSpace"] = "PCA"
    model: str | None = Field(default=None, pattern=ID, description="Id of a model that was fitted to it.")

    def reading(self) -> Reading:
        """Return the reading options but a pivot; an empty one says that there is none, as empty marks do."""
        marks = None if self.na_values == [""] else self.na_values
        return Reading(**self.options() | {"pivot": None, "na_values": marks})


class DrawQuery(Reading):
    """Reading options, and whether to draw."""

    draw: int | None = Field(default=None, ge=200, le=2000, description="Width of figures to return too.")


def on(operation: Operation) -> Kinds:
    """Return what an operation is about, as URLs have it."""
    return "data" if operation.inputs[0].kind == "data" else "models"


def query_of(operation: Operation) -> type[DrawQuery]:
    """Return the query of an operation: its options, and ids of what it takes besides the first input."""
    asked = dict(_fields(operation.options))
    for one in operation.inputs[1:]:
        required = one.required and one.name != "data"  # which may be the body
        kind, default = (str, ...) if required else (str | None, None)
        asked[one.name] = (kind, Field(default=default, description=f"Id. {one.help}", pattern=ID))
    made: type[DrawQuery] = create_model(f"{operation.options.__name__}Query", __base__=DrawQuery, **asked)
    return made


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
        description="Column that sets the shape; by default none.",
    )
    width: int | None = Field(
        default=None, ge=200, le=2000, description="Width of the figure in pixels, with axes and labels."
    )
    format: Literal["json", "svg", "png", "csv"] = Field(
        default="json", description="For a page, or as a file in light colours; csv is the table it draws."
    )


_Audit: Any = create_model("_Audit", __base__=Strict, **dict(_fields(operations()["kernels audit"].options)))


class KernelQuery(_Audit):  # type: ignore[misc]
    """A function that may be a kernel, and the options of ``gramian kernels audit``."""

    expression: str = Field(min_length=1, max_length=1000)


class ContoursQuery(Strict):
    """A kernel, and points in the plane."""

    expression: str = Field(min_length=1, max_length=1000)
    points: Literal["rings", "moons", "groups"] = "rings"


class Fit(Strict):
    """A fit: estimator, parameters and data."""

    data: str = Field(pattern=ID)
    estimator: Literal["PCA", "KernelPCA", "Whitener", "FaceSpace"] = "PCA"
    parameters: dict[str, Any] = Field(default={}, description="Parameters of the estimator, as in Python.")
    reading: Reading = Reading()
    propose: bool = Field(
        default=False, description="Choose what the data suggest where `reading` and `parameters` do not."
    )
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
        "columns, and `proposals` for `pca` and `kernel-pca`: lists of `option`, `value`, `why` and "
        "`evidence`. Fits apply them with `propose`."
    )


class OperationFacts(BaseModel):
    """An operation on a model or on data: what it takes besides, and its options, as fields of a form."""

    name: str
    on: Kinds
    summary: str
    inputs: list[dict[str, Any]]
    options: list[dict[str, Any]]

    @classmethod
    def of(cls, operation: Operation) -> OperationFacts:
        """Describe an operation."""
        inputs = [{part: getattr(one, part) for part in PARTS} for one in operation.inputs[1:]]
        return cls(
            name=operation.name,
            on=on(operation),
            summary=operation.summary,
            inputs=inputs,
            options=operation.form(),
        )


class PlanFacts(BaseModel):
    """The plan of a fit, as numbers and as text, and what it uses of the data."""

    plan: dict[str, Any] | None
    text: str
    used: str = Field(description="How many columns and rows, and what was done about missing values.")
    proposals: list[dict[str, Any]] = Field(default=[], description="What the data suggest, as applied.")


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
    pair: list[int] = Field(description="The two components that show the groups apart, counted from 1.")
    groups: dict[str, list[str]] = Field(
        description="Columns of few different labels, which may set the shape of points, with their labels."
    )
    color: str = Field(description="The column that sets the colour by default, or empty.")
    findings: list[str] = Field(
        description="What the data show; the last sentence says why the pair is not the first two."
    )


class ServerFacts(BaseModel):
    """The version and the limits of the server."""

    version: str
    keeps_models: bool
    limits: dict[str, float]


class Login(Strict):
    """The token of the server."""

    token: str = Field(max_length=1000)


# ------------------------------------------------------------------ failures


class Problem(BaseModel):
    """The JSON of a failed request."""

    error: str
    what_to_do: str | None = None
    field: str | None = Field(default=None, description="The parameter or option that is wrong, if one is.")


class Refusal(HTTPException):
    """Ends a request with a status and a :class:`Problem`."""

    def __init__(
        self,
        status: int,
        error: str,
        what_to_do: str | None = None,
        retry_after: int | None = None,
        field: str | None = None,
    ) -> None:
        # They may quote the client, whose text may not be valid UTF-8.
        error, name = (text.encode("utf-8", "replace").decode() for text in (error, field or ""))
        super().__init__(status, error)
        self.status, self.problem = status, Problem(error=error, what_to_do=what_to_do, field=name or None)
        self.headers: dict[str, str] = {} if retry_after is None else {"Retry-After": str(retry_after)}

    def response(self) -> JSONResponse:
        """Return the response."""
        return JSONResponse(self.problem.model_dump(exclude_none=True), self.status, self.headers)


def busy(what: str, seconds: int) -> Refusal:
    """Return the refusal of a busy server."""
    return Refusal(429, f"{what}.", f"Try again in {seconds} s.", seconds)


def disk_full() -> Refusal:
    """Return the refusal of a server whose disk is full."""
    return Refusal(507, "The server's disk is full.", "Try again later.")


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the problems of a route, for its OpenAPI description."""
    everywhere = (400, 401, 403, 404, 408, 413, 422, 429, 507)
    return {status: {"model": Problem} for status in (*everywhere, *statuses)}
