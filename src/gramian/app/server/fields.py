"""What requests say: parameters and bodies, made of the declarations of verbs; and refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from starlette.exceptions import HTTPException

from gramian.app.verb import Parameter, Verb, form_field, parameters_of, reading
from gramian.app.verbs import verb as verb_of
from gramian.app.verbs import verbs as all_verbs
from gramian.app.verbs.show import LOOKS
from gramian.core.checks import names_in

Kind = Literal["model", "data"]
Kinds = Literal["models", "data"]
KINDS: dict[str, Kind] = {"models": "model", "data": "data"}
ID = r"^[0-9a-f]{32}$"


class Refusal(HTTPException):
    """Ends a request with a status and one text."""

    def __init__(self, status: int, text: str, **headers: str) -> None:
        # It may quote the client, whose text may not be valid UTF-8.
        super().__init__(status, text.encode("utf-8", "replace").decode(), headers)


class Strict(BaseModel):
    """Rejects unknown fields."""

    model_config = ConfigDict(extra="forbid")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_columns(value: Any) -> Any:
    value = _as_list(value)
    return names_in(value[0]) if isinstance(value, list) and [*map(type, value)] == [str] else value


Names = Annotated[list[str], BeforeValidator(_as_list)]  # a single name is a list of one
Columns = Annotated[list[str], BeforeValidator(_as_columns)]  # or one text with commas; "" is none

# ------------------------------------------------------------------ verbs


def _fields(parameters: Iterable[Parameter]) -> Iterator[tuple[str, Any]]:
    """Yield options as HTTP has them: without those of one machine."""
    for param in parameters:
        if param.about.local:
            continue
        if list[str] in param.kinds:
            kind: Any = (Columns if param.name in ("answers", "pivot") else Names) | None
        else:
            kind = Annotated[param.kind, BeforeValidator(param.value)]
        default = ... if param.required else param.default
        yield param.name, (kind, Field(default=default, description=param.help))


def verbs() -> dict[str, Verb]:
    """Return the verbs that are about a model or data, as routes are made of them; others have their own."""
    return {
        name: verb
        for name, verb in all_verbs().items()
        if verb.inputs
        and not (verb.shell_only or name in ("fit", "plan"))
        and not any(option.positional for option in verb.options.values())  # texts
    }


def form_of(verb: Verb) -> dict[str, Any]:
    """Return what the form of a verb asks."""
    inputs = [
        {"name": param.name, "kind": param.about.kind, "required": param.required, "help": param.help}
        for param in verb.inputs[1:]
    ]
    options = [form_field(param) for param in verb.options.values() if not param.about.local]
    about = {"name": verb.name.split()[-1], "on": subject(verb), "summary": verb.summary}
    return about | {"inputs": inputs, "options": options}


def subject(verb: Verb) -> str:
    """Return what a verb is about, as URLs have it."""
    return "data" if verb.inputs[0].about.kind == "data" else "models"


# ------------------------------------------------------------------ queries and bodies

_Reading: Any = create_model("_Reading", __base__=Strict, **dict(_fields(parameters_of(reading))))


class Reading(_Reading):  # type: ignore[misc]
    """Which part of data is read, and how, as for ``gramian.scan``."""

    sheet: str | None = Field(default=None, max_length=31, description="Sheet of a workbook.")

    def options(self) -> dict[str, Any]:
        """Return the reading options that were chosen."""
        return dict(self.model_dump(exclude_defaults=True, include=set(Reading.model_fields)))


class UploadQuery(Reading):
    """Uploaded data: its name, whose suffix gives its kind, and its reading options."""

    name: str = Field(default="data", min_length=1, max_length=200)


class DataQuery(Reading):
    """Uploaded data, and reading options for this request."""

    data: str | None = Field(default=None, pattern=ID, description="Id of uploaded data.")


class PageQuery(Reading):
    """How the page of data reads a file, and the method, or the model, whose settings it begins with."""

    slips: Literal["read", "missing", ""] | None = None
    method: Literal["PCA", "KernelPCA"] = "PCA"
    model: str | None = Field(default=None, pattern=ID, description="Id of a model that was fitted to it.")


class VerbQuery(Strict):
    """Whether to draw."""

    draw: int | None = Field(default=None, ge=200, le=2000, description="Width of figures to return too.")


class RowsQuery(VerbQuery, Reading):
    """Reading options, and whether to draw."""


def query_of(verb: Verb) -> type[VerbQuery]:
    """Return the query of a verb: its options, and ids of what it takes besides the first input."""
    fields: dict[str, Any] = dict(_fields(verb.options.values()))
    for param in verb.inputs[1:]:
        required = param.required and param.name != "data"  # which may be the body
        kind, default = (str, ...) if required else (str | None, None)
        fields[param.name] = (kind, Field(default=default, description=f"Id. {param.help}", pattern=ID))
    reads = any(param.about.kind == "data" for param in verb.inputs)
    return create_model(f"{verb.name}Query", __base__=RowsQuery if reads else VerbQuery, **fields)


_looks = [param for param in verb_of("plot").options.values() if param.name in LOOKS]
_Looks: Any = create_model("_Looks", __base__=DataQuery, **dict(_fields(_looks)))


class FigureQuery(_Looks):  # type: ignore[misc]
    """The options of a figure, and the file."""

    reference: Columns | None = Field(
        default=None, description="First and last of the normal rows, by which a control chart is drawn."
    )
    width: int | None = Field(default=None, ge=200, le=2000, description="Width in pixels.")
    format: Literal["json", "svg", "png", "csv"] = Field(
        default="json", description="For a page, or as a file in light colours; csv is the table it draws."
    )


_audit = verb_of("kernels audit").options.values()
_Audit: Any = create_model("_Audit", __base__=Strict, **dict(_fields(_audit)))


class Audit(_Audit):  # type: ignore[misc]
    """A function that may be a kernel, and the options of ``gramian kernels audit``."""


class Fit(Strict):
    """A fit: estimator, parameters and data."""

    data: str = Field(pattern=ID)
    estimator: Literal["PCA", "KernelPCA", "Whitener"] = "PCA"
    parameters: dict[str, Any] = Field(default={}, description="Parameters of the estimator, as in Python.")
    reading: Reading = Reading()
    name: str = Field(default="model", min_length=1, max_length=200)
