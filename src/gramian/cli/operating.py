"""Commands made of operations: arguments become options and data, results become text, JSON and files."""

import inspect
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import typer

from gramian.checks import shown_lines
from gramian.cli import faces
from gramian.cli.inputs import (
    add_metadata,
    model_path,
    proposed,
    read_arguments,
    read_model,
    read_new_data,
    read_table,
    recalled,
)
from gramian.cli.options import (
    AsIsFlag,
    JsonFlag,
    Reading,
    argument,
    parameter_as,
    parameter_of,
    spread_parameters,
)
from gramian.cli.outputs import (
    FIGURES,
    TABLES,
    answer,
    check_out,
    check_pictures,
    check_place,
    rows_target,
    write_content,
)
from gramian.errors import ParameterError
from gramian.operations.operation import Asked, Input, Operation, Out, Result
from gramian.options import OUTPUT, Declared, as_arguments, spelled
from gramian.plots.registry import function_of
from gramian.progress import say, shows_progress

ALARM = 3  # exit code
Write = Callable[[Result], Any]  # writes a file; returns the number or the names of several


def command_of(operation: Operation) -> Callable[..., None]:
    """Return the command of an operation, with its inputs, options and files as parameters."""
    parameters = [_argument(one) for one in operation.inputs if not one.option]
    reads = any(one.kind == "data" for one in operation.inputs)
    records: dict[str, Any] = {"reading": Reading} if reads else {}
    records |= {"options": operation.options}
    spread, made = spread_parameters(records)
    parameters += spread
    for one in operation.inputs:
        if one.option:
            default = ... if one.kind == "text" and one.required else None
            parameters.append(parameter_of(one.name, str, default, one.declared))
    for out in operation.outs:
        panel = OUTPUT if out.name == "out" else ""
        declared = Declared(out.metavar, out.help, out.usual or out.default or "", panel=panel)
        parameters.append(parameter_of(out.name, str, ... if out.required else out.default, declared))
    if operation.inputs and operation.inputs[0].kind == "data":
        parameters.append(parameter_as("as_is", AsIsFlag, False))
    parameters.append(parameter_as("as_json", JsonFlag, False))

    def command(**given: Any) -> None:
        records = made(given)
        Call(operation, given, records.get("reading", Reading())).run(records["options"])

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = operation.help
    return command


def _argument(one: Input) -> inspect.Parameter:
    text: Any = list[str] if one.many else str if one.required else str | None
    kind = Annotated[text, argument(one.metavar, one.help)]
    return parameter_as(one.name, kind, inspect.Parameter.empty if one.required else None)


class Call:
    """One call of a command: it opens the files that are named, and writes and prints the result.

    Parameters
    ----------
    operation : Operation
    given : dict
        The names of files and the text of inputs, by the names of parameters.
    reading : Reading
    """

    def __init__(self, operation: Operation, given: dict[str, Any], reading: Reading) -> None:
        self.operation, self.given, self.reading = operation, given, reading
        self.as_json, self.fitted, self.pictures = given["as_json"], None, False
        self.options: Any = None
        self.repeated: dict[str, Any] | None = None  # arguments that read the rows in Python
        self.inputs: list[str] = []
        for one in operation.inputs:
            name = given[one.name]
            if name is not None and one.kind != "text":
                name = str(model_path(name)) if one.kind == "model" else name
                self.inputs += name if one.many else [name]
                self.inputs += reading.inputs(name)[1:] if one.kind == "data" else []

    # ------------------------------------------------- what the operation reads with

    def model(self, asked: Input) -> Any:
        """Open a model file."""
        name = self.given[asked.name]
        if name is not None:
            self.fitted = read_model(name, whole=True)
        return None if name is None else self.fitted

    def data(self, asked: Input, model: Any, limit: int | None, **how: Any) -> Any:
        """Read rows, once it is checked that the result can be written."""
        name, source = self.given[asked.name], None
        if name is None:
            for given in () if asked.option else (*as_arguments(self.reading), *self._meta()):
                raise ParameterError(
                    given,
                    allowed="is about the rows of DATA, but there is no DATA",
                    hint="Add its file after the other arguments.",
                )
            return None
        if not self.given.get("as_is", True):
            heeds, imputes = self.operation.heeds, how.get("imputes", False)
            source, self.reading, self.options, _ = proposed(
                name, self.reading, self.options, imputes=imputes, keep=heeds
            )
        self.operation.require_label(self.reading.labelled)
        self.writers  # noqa: B018
        meta = None if asked.option else self.given.get("meta")
        if model is not None:
            reading = self.reading
            name, reading = recalled(model, name, reading)
            table = read_new_data(name, reading, model, limit, meta, **how)
        else:
            table = read_table(name, self.reading, source=source, limit=limit, **how)
            table = table if meta is None else add_metadata(table, meta, self.reading.id)
            reading = self.reading
        self.repeated = None if asked.option or name == "-" else read_arguments(name, reading)
        if self.pictures:
            check_pictures(table, self.given["out"])
        return table

    def faces(self, asked: Input, model: Any, **how: Any) -> Any:
        """Read pictures of faces, once it is checked that the result can be written."""
        self.writers  # noqa: B018
        read = faces.read_arguments if asked.many else faces.read_pictures
        return read(self.given[asked.name], model, **how)

    def gallery(self, asked: Input, model: Any) -> Any:
        """Open a gallery."""
        return faces.open_gallery(self.given[asked.name], model, asked.access)

    def text(self, asked: Input) -> Any:
        """Return an argument."""
        return self.given[asked.name]

    def asked(self) -> Asked:
        """Return how the command was called."""
        from gramian.base.model_file import read_model as stored

        model = self.given["model"]
        return Asked(model, stored(model_path(model)).versions, self.repeated)

    # ---------------------------------------------------------------- files and text

    def run(self, options: Any) -> None:
        """Run the operation, write its files, and print what was found."""
        self.options = options
        inputs, writers = self.operation.opened(options, self), self.writers
        try:
            with shows_progress(self.operation.doing):
                result = self.operation(self.options, **inputs)
        except KeyboardInterrupt as stopped:
            for reached in stopped.args:
                print(shown_lines(reached), file=sys.stderr)
            raise
        for note in result.notes:
            say(f"gramian: {note}")
        files = []
        for out, name, write in writers:
            with shows_progress(self.operation.doing if out.kind == "rows" else "writing"):
                done = write(result)
            if isinstance(done, list):
                files += [(out, one, "") for one in done]
            else:
                files.append((out, name, f", {done:,} files" if (done or 1) > 1 else result.written))
        self._answer(result, files)
        if result.alarm or result.unanswered:
            raise typer.Exit(ALARM if result.alarm else 1)

    @cached_property
    def writers(self) -> list[tuple[Out, str, Write]]:
        """What writes the files that are asked for, once it is checked that they can be written."""
        named = [(out, self.given[out.name]) for out in self.operation.outs]
        return [(out, name, self._writer(out, name)) for out, name in named if name is not None]

    def _writer(self, out: Out, name: str) -> Write:
        place, suffix = Path(name), Path(name).suffix.lower()
        folder = name.endswith("/") or (place.is_dir() and suffix != ".zarr")
        if out.ends:
            check_out(name, *self.inputs, as_json=self.as_json, ends=out.ends, writes=out.writes)
        if out.kind == "model" or (out.kind == "rows" and suffix == ".gramian" and not folder):
            if suffix != ".gramian":
                raise ParameterError(f"--{out.name}", name, ": name a file that ends in .gramian")
            check_out(name, *self.inputs)
            return lambda result: result.model.save(name)
        if out.kind == "figure":
            function_of("style", "room")  # raises without its extra, before anything is computed
            return lambda result: next(iter(result.figures.values()))().save(name)
        if out.kind == "figures":
            if suffix in FIGURES:
                advice = f"Name a folder, and use --format {suffix[1:]}."
                raise ParameterError("-o", name, f": {out.writes}", advice)
            check_place(place)
            return partial(_write_figures, place, self.options.format)
        if out.kind == "file":
            if not out.ends:
                check_out(name, *self.inputs, as_json=self.as_json)
            return lambda result: write_content(name, _known(result.content))
        if out.listing:
            of_pictures = self.fitted is None or getattr(self.fitted, "picture_shape_", None) is not None
            made = name != "-" and (folder or suffix not in TABLES)
            self.pictures = of_pictures and (made if self.fitted is None else suffix not in TABLES)
        target, kind = rows_target(name, out.listing, self.as_json, *self.inputs, pictures=self.pictures)
        return partial(_write_table if out.kind == "table" else _write_rows, target, kind)

    def _answer(self, result: Result, files: list[tuple[Out, str, str]]) -> None:
        outs = self.operation.outs
        names = [name for _, name, _ in files if name != "-"]
        text, piped = str(_known(result.text)), len(names) < len(files)
        if piped and (not text or outs[0].kind == "table"):
            return
        facts = dict(_known(result.facts))
        if result.fit:
            facts["next"] = command = self._fit(result.fit)
            text += f"\n\nFit it:\n  {command}"
        if outs:
            facts |= {"files": names} if outs[0].key == "files" else {"out": next(iter(names), None)}
        written = [f"Written: {name}{more}" for _, name, more in files if name != "-"]
        text = "\n".join(filter(None, [text, *written])) if names else text.rstrip("\n")
        if text or self.as_json:
            answer(self.as_json, facts, text, sys.stderr if piped or (outs and outs[0].beside) else None)

    def _fit(self, options: Mapping[str, str]) -> str:
        """Return the command of a fit of the same data."""
        chosen = [part for name, value in options.items() for part in (spelled(name), value)]
        data = [self.given["data"], *as_arguments(self.reading)]
        return shlex.join(["gramian", "fit", *data, *chosen, "-o", "out"])

    def _meta(self) -> list[str]:
        return [] if self.given.get("meta") is None else ["--meta"]


def _known(value: Any) -> Any:
    return value() if callable(value) else value


def _write_figures(folder: Path, kind: str, result: Result) -> list[str]:
    files = []
    for name, draw in result.figures.items():
        drawn, path = draw(), folder / f"{name}.{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        drawn.save(path)
        files.append(str(path))
    return files


def _write_table(target: Any, kind: str, result: Result) -> None:
    from gramian.report.tables import write_table

    write_table(target, next(iter(result.tables.values())), kind)


def _write_rows(target: Any, kind: str, result: Result) -> int | None:
    from gramian.report.tables import write_blocks

    rows = result.rows
    assert rows is not None
    if kind == "pictures":
        assert rows.pictures is not None
        return rows.pictures(target)
    write_blocks(target, rows.table, rows.blocks, kind, rows.names)
    return None
