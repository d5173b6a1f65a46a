"""Commands made of verbs: their parameters become arguments and options, results text, JSON and files."""

import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from gramian.app import verb as verbs
from gramian.app.cli import inputs, outputs
from gramian.core.checks import plain, shown_lines
from gramian.core.progress import say, shows_progress
from gramian.errors import ParameterError
from gramian.figures.registry import function_of

ALARM = 3  # exit code
LONGEST = 1000  # letters of a command that is shown
CHANNELS = ("hue", "style")  # options whose columns are read too
AS_IS = verbs.Option("", "Take everything literally: apply nothing that the data suggest.")
AS_JSON = verbs.Option("", "Write the result as JSON to standard output.")
READS = {param.name: param for param in verbs.parameters_of(verbs.reading)}
Write = Callable[[verbs.Result], Any]  # writes a file; returns the number or the names of several

# ------------------------------------------------------------------ options


class Command(TyperCommand):
    """A command whose help lists its options in groups."""

    declared: dict[str, verbs.Parameter]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options."""
        return _spared(super().get_params(ctx))

    def explained(self) -> list[Any]:
        """Return the parameters with their help, which is read from docstrings where somebody wants it."""
        parameter: Any
        for parameter in self.params:
            if (described := self.declared.get(parameter.name)) is not None:
                parameter.metavar = described.metavar or parameter.metavar
                parameter.help = (
                    f"{described.help} [{described.usual}]" if described.usual else described.help
                )
        return self.params

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the groups of options."""
        self.explained()
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *verbs.PANELS)}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                positional = parameter.param_type_name == "argument"
                panel = getattr(parameter, "rich_help_panel", None) or verbs.OTHER
                groups["Arguments" if positional else panel].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options."""
        return _spared(super().get_params(ctx))


class _AsText:
    """Takes values as they are: texts, which verbs convert. Typer would import Pydantic for it."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a parameter."""
        return () if value is None and (param.multiple or param.nargs == -1) else value


def _spared(parameters: list[Any]) -> list[Any]:
    """Let parameters import no Pydantic, which takes a tenth of the time of a small fit."""
    for parameter in parameters:
        parameter.get_runtime_param = _AsText
    return parameters


def application(add_completion: bool = False) -> typer.Typer:
    """Return a group of commands with ``-h`` and grouped options."""
    return typer.Typer(
        cls=Group,
        rich_markup_mode=None,
        add_completion=add_completion,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def help_alone(context: typer.Context) -> None:
    """Print the help of a group of commands that was called without a command."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def command_of(verb: verbs.Verb) -> Any:
    """Return the command of a verb, with its inputs, options and files as parameters."""
    declared = {param.name: param for param in _parameters(verb)}
    signature = inspect.signature(verb.function)
    returns = signature.return_annotation is not None
    parameters = _for_typer(declared.values())
    for param in signature.parameters.values():
        if param.annotation is typer.Context:
            parameters.append(param.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def command(**arguments: Any) -> None:
        chosen = {
            name: value
            for name, value in arguments.items()
            if value or value == "" or (value is False and declared[name].default is True)
        }
        if returns:
            Call(verb, chosen).run()
        else:
            verb.function(**chosen | verb.values(chosen))

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {param.name: param.annotation for param in parameters}
    command.__doc__ = verb.help
    alone = application()
    alone.command(verb.name.rpartition(" ")[2], cls=Command)(command)
    made: Any = typer.main.get_command(alone)
    made.declared = declared
    return made


def _parameters(verb: verbs.Verb) -> list[verbs.Parameter]:
    """Return what a command takes: arguments, options of reading, of the verb, files, and of the shell."""
    inputs, function = list(verb.inputs), verb.function
    arguments = [param for param in verbs.parameters_of(function) if param.positional]
    if inputs and inputs[0].about.kind == "model":  # which may say where its rows are
        arguments = [_of_fit(param) for param in arguments]
    reads = READS.values() if any(param.about.kind == "data" for param in inputs) else ()
    found = [*arguments, *reads, *(param for param in verb.options.values() if not param.positional)]
    found += [param for param in inputs if not param.positional]
    for out in verb.outputs:
        default = inspect.Parameter.empty if out.required else None
        short = "-o" if out.name == "out" else ""
        option = verbs.Option(out.metavar, out.help, out.usual or out.default or "", short)
        found.append(verbs.Parameter(out.name, str, default, option, function))
    if inputs and arguments[0] in inputs and inputs[0].about.kind == "data":
        found.append(verbs.Parameter("as_is", bool, False, AS_IS, function, kinds={bool}))
    if inspect.signature(function).return_annotation is not None:
        found.append(verbs.Parameter("as_json", bool, False, AS_JSON, function, kinds={bool}))
    return found


def _of_fit(param: verbs.Parameter) -> verbs.Parameter:
    """Return DATA as what may be left out, because the model says where its rows are."""
    if getattr(param.about, "kind", "") != "data" or not param.required:
        return param
    return param._replace(default=None, about=param.about._replace(usual="the table of the fit"))


def _for_typer(params: Iterable[verbs.Parameter]) -> list[inspect.Parameter]:
    """Return parameters as typer reads them: flags, or texts; None where they are not given."""
    result = []
    for param in params:
        many = list[str] in param.kinds or getattr(param.about, "many", False)
        kind: Any = list[str] if many else bool if bool in param.kinds else str
        default = param.default if param.default is inspect.Parameter.empty else None
        if param.positional:
            declared: Any = typer.Argument(metavar=param.metavar or None, show_default=False)
        else:
            flag = "json" if param.name == "as_json" else param.name.replace("_", "-")
            flags = [f"--{flag}/--no-{flag}" if param.default is True else f"--{flag}"]
            if isinstance(param.about, verbs.Option):
                flags += [param.about.short] if param.about.short else []
            panel = getattr(param.function, "settings", {}).get("panel")
            panel = verbs.PANEL_OF.get(param.name, panel)
            declared = typer.Option(*flags, rich_help_panel=panel, show_default=False)
        annotation: Any = Annotated[kind if default is inspect.Parameter.empty else kind | None, declared]
        how: dict[str, Any] = {"default": default, "annotation": annotation}
        result.append(inspect.Parameter(param.name, inspect.Parameter.KEYWORD_ONLY, **how))
    return result


# ------------------------------------------------------------------ calls


class Call:
    """One call of a command: it opens the files that are named, and writes and prints the result.

    Parameters
    ----------
    verb : Verb
    given : dict
        What the command line names, by the names of parameters.
    """

    def __init__(self, verb: verbs.Verb, arguments: dict[str, Any]) -> None:
        self.verb, self.given = verb, _in_place(verb, arguments)
        self.as_json = arguments.get("as_json", False)
        self.reading = {
            name: _joined(name, value) if isinstance(value, list) else READS[name].value(value)
            for name, value in self.given.items()
            if name in READS
        }
        for name in self.reading:
            READS[name].check(self.reading[name])
        if "subset" in verb.options and ":" not in (rows := self.reading.get("rows", ":")):
            hint = f"To explain rows, name them in subset: --subset {shlex.quote(rows)}."
            raise ParameterError("rows", rows, "is no range of rows", hint)
        self.values = verb.values(self.given)
        self.is_fit = bool(verb.outputs) and verb.outputs[0].kind == "results"
        self.fitted: Any = None
        self.pictures = self.to_folder = False
        self.writers: list[tuple[verbs.Output, str, Write]] | None = None
        self.proposals: Any = ()
        self.repeated: dict[str, Any] | None = None  # arguments that read the rows in Python
        self.files: list[str] = []
        for param in verb.inputs:
            if (value := self.given.get(param.name)) is not None:
                files = value if param.about.many else [value]
                self.files += [str(verbs.model_path(value))] if param.about.kind == "model" else files
                self.files += inputs.files_of(self.reading) if param.about.kind == "data" else []

    @property
    def options(self) -> dict[str, Any]:
        """The options of reading and of the verb, in the order of the help."""
        arguments = self.reading | self.values
        return {name: arguments[name] for name in (*READS, *self.verb.options) if name in arguments}

    def open(self, param: verbs.Parameter, model: Any, limit: int | None) -> Any:
        """Open an input, once it is checked that the result can be written."""
        name: Any = self.given.get(param.name)
        kind, values = param.about.kind, self.values
        if kind == "model":
            self.fitted = None if name is None else inputs.read_model(name)
            return self.fitted
        if kind == "gallery":
            return inputs.open_gallery(name, model, param.about.access)
        needed = kind == "data" and param.positional and (param.required or param.about.needed(values, model))
        if name is None and needed:
            name = inputs.table_of_fit(self.given["model"], model)
            self.files.append(name)
        if name is None:
            for option in () if not param.positional else (*self.reading, *(["meta"] & self.given.keys())):
                problem = "is about the rows of DATA, but there is no DATA"
                raise ParameterError(option, allowed=problem, hint="Add its file after the other arguments.")
            return None
        self.check_outputs()
        if kind == "data":
            return self._rows(param, name, model, limit)
        if param.about.many:
            return inputs.read_all_pictures(name, model, required=param.about.required)
        return inputs.read_pictures(name, model, values.get("size"))

    def _rows(self, param: verbs.Parameter, name: str, model: Any, limit: int | None) -> Any:
        source, options, meta = None, self.reading, self.given.get("meta") if param.positional else None
        imputes = param.about.imputes and "kernel" not in self.values
        if param is self.verb.inputs[0] and "as_is" not in self.given:
            source, options, self.values, self.proposals = inputs.proposed(
                name, options, self.values, self.verb, imputes
            )
            self.reading = options
        self.verb.require_label({"label", "labels_from"} & options.keys() != set())
        if model is not None:
            name, options = inputs.recalled(model, name, options)
            of_fit = param.name not in self.given
            options = inputs.own_options(model) | options if of_fit else options
            channels = {option: self.values[option] for option in CHANNELS if option in self.values}
            table = inputs.read_new_data(name, options, model, limit, meta, channels)
            if of_fit:
                inputs.check_unchanged(model, name, table)
        else:
            table = inputs.read_table(name, options, source=source, limit=limit, imputes=imputes)
            table = table if meta is None else inputs.add_metadata(table, meta, options.get("id"))
        self.repeated = inputs.read_arguments(name, options) if param.positional and name != "-" else None
        if self.pictures:
            outputs.check_pictures(table, self.given["out"])
        return table

    # ---------------------------------------------------------------- files and text

    def run(self) -> None:
        """Run the verb, write its files, and print what was found."""
        opened = self.verb.opened(self.options, self.open)
        self.check_outputs()
        context = self._context()
        if self.proposals and context.command:
            again = shlex.join(context.command)
            if len(again) > LONGEST:
                again = f"{again[:LONGEST]} ... (whole in summary.md of --out)"
            say(f"gramian: the same without proposals: {again}")
        try:
            with shows_progress(self.verb.doing):
                result = self.verb(self.options, opened, context)
        except KeyboardInterrupt as stopped:
            for reached in stopped.args:
                print(shown_lines(reached), file=sys.stderr)
            raise
        for note in result.notes:
            say(f"gramian: {note}")
        files = []
        for out, name, write in self.writers or ():
            with shows_progress(self.verb.doing if out.kind == "rows" else "writing"):
                done = write(result)
            if isinstance(done, list):
                files += [(out, file, "") for file in done]
            else:
                files.append((out, name, f", {done:,} files" if (done or 1) > 1 else result.written))
        self._answer(result, files)
        if result.alarm or result.unanswered:
            raise typer.Exit(ALARM if result.alarm else 1)

    def _context(self) -> verbs.Context:
        """Return how the verb was called; the command of a fit repeats it without proposals."""
        command: tuple[str, ...] = ()
        if self.is_fit:
            options = {name: value for name, value in self.options.items() if name != "verbose"}
            out = ("-o", self.given["out"]) if "out" in self.given else ()
            command = (
                "gramian",
                self.verb.name,
                self.given["data"],
                *verbs.as_arguments(options),
                *out,
                "--as-is",
            )
        return verbs.Context(self.given.get("model", ""), self.repeated, command, self.given.get("out", ""))

    def check_outputs(self) -> None:
        """Check once that the files that are asked for can be written, and keep what writes them."""
        if self.writers is not None:
            return
        if self.is_fit:
            self.to_folder = "out" in self.given and not outputs.is_model_file(self.given["out"])
            for option in verbs.IN_FOLDER:
                if option in self.values and not self.to_folder:
                    allowed = "needs a folder of results"
                    raise ParameterError(option, allowed=allowed, hint="Name one with -o.")
        named = [(out, self.given.get(out.name, out.default)) for out in self.verb.outputs]
        self.writers = [(out, name, self._writer(out, name)) for out, name in named if name is not None]

    def _writer(self, out: verbs.Output, name: str) -> Write:
        path, suffix = Path(name), Path(name).suffix.lower()
        folder = name.endswith("/") or (path.is_dir() and suffix != ".zarr")
        if self.to_folder:
            outputs.check_results(path, *self.files)
            return lambda result: outputs.write_results(path, result, "report" in self.values)
        if out.kind == "figures":
            kind, width = self.values.get("format", "svg"), self.values.get("width")
            if suffix not in verbs.FIGURES or folder:
                outputs.check_place(path)
                return partial(_write_figures, path, kind, width)
            if "," in self.values.get("figures", ","):
                raise ParameterError("-o", name, "is one file, for one figure", "Name one, or a folder.")
            if "format" in self.values and suffix != f".{kind}":
                raise ParameterError("format", kind, f"and -o {name} differ", "Leave one of them out.")
            outputs.check_out(name, *self.files, as_json=self.as_json)
            return partial(_write_figure, path, width)
        as_model = out.kind in ("model", "results") or (suffix == ".gramian" and not folder)
        if as_model or out.ends or out.kind == "file":
            ends = (".gramian",) if as_model else out.ends
            writes = f"{self.verb.name} writes a {'model' if as_model else out.kind}"
            how = {"writes": writes, "name": "-o" if out.name == "out" else out.name}
            outputs.check_out(name, *self.files, as_json=self.as_json, ends=ends, **how)
        if as_model:
            return lambda result: result.model.save(name)
        if out.kind == "file":
            return lambda result: outputs.write_content(name, _value(result.content))
        if suffix in verbs.FIGURES and suffix in out.ends:
            function_of("style", "content")  # raises without its extra, before anything is computed
            return partial(_write_figure, path, None)
        if out.listing:
            of_pictures = self.fitted is None or getattr(self.fitted, "picture_shape_", None) is not None
            made = name != "-" and (folder or suffix not in verbs.TABLES)
            self.pictures = of_pictures and (made if self.fitted is None else suffix not in verbs.TABLES)
        listing = out.listing if self.pictures else ""
        target, kind = outputs.rows_target(name, self.as_json, *self.files, listing=listing)
        return partial(_write_rows, target, kind)

    def _answer(self, result: verbs.Result, files: list[tuple[verbs.Output, str, str]]) -> None:
        outs = self.verb.outputs
        names = [name for _, name, _ in files if name != "-"]
        text, piped = str(_value(result.text)), len(names) < len(files)
        if piped and (not text or outs[0].kind == "table"):
            return
        facts = dict(_value(result.facts)) if self.as_json else {}
        if result.fit:
            options = verbs.as_arguments(self.reading | dict(result.fit))
            facts["next"] = shlex.join(["gramian", "fit", self.given["data"], *options, "-o", "out"])
            text += f"\n\nFit it:\n  {facts['next']}"
        written = [f"Written: {name}{more}" for _, name, more in files if name != "-"]
        if self.is_fit:
            if self.as_json:
                facts["proposals"] = plain([asdict(proposal) for proposal in self.proposals])
            others = f" and {len(names) - 1} other files" if len(names) > 1 else ""
            written = [f"\n{written[-1]}{others}"] if written else []
        if outs:
            facts |= {"files": names} if outs[0].key == "files" else {"out": next(iter(names), None)}
        text = "\n".join(filter(None, [text, *written])) if names else text.rstrip("\n")
        if text or self.as_json:
            beside = piped or (outs and outs[0].beside)
            outputs.answer(self.as_json, facts, text, sys.stderr if beside else None)


def _in_place(verb: verbs.Verb, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what is given, where a text that could be left out is no name but the argument after it.

    What stands in the place of DATA and is no file names rows where a verb needs these.
    """
    data = arguments.get("data", "-")
    if "subset" in verb.options and "subset" not in arguments and data != "-" and not _is_file(data):
        arguments = {name: value for name, value in arguments.items() if name != "data"} | {"subset": [data]}
    for param, following in pairwise(
        param for param in verbs.parameters_of(verb.function) if param.positional
    ):
        text = arguments.get(param.name)
        if (
            param.required
            or text is None
            or following.name in arguments
            or not isinstance(param.about, verbs.Option)
        ):
            continue
        is_name = set(text.split(",")) <= set(param.about.suggestions)
        if not is_name and (os.path.exists(text) or not re.fullmatch("[a-z][a-z,-]*", text)):
            arguments = {name: value for name, value in arguments.items() if name != param.name}
            arguments[following.name] = text
    return arguments


def _is_file(name: str) -> bool:
    return os.path.exists(name) or os.path.exists(name.rpartition("::")[0])


def _joined(option: str, lists: list[str]) -> str:
    """Return the lists of a repeated option of reading as one.

    Raises
    ------
    ParameterError
        For a file of names together with more names.
    """
    if len(lists) > 1 and (files := [text for text in lists if text.startswith("@")]):
        advice = "Add the others to that file, or leave it out."
        raise ParameterError(option, files[0], "names all columns", advice)
    return ",".join(lists)


def _value(found: Any) -> Any:
    return found() if callable(found) else found


def _write_figures(folder: Path, kind: str, width: float | None, result: verbs.Result) -> list[str]:
    files = []
    for name, draw in result.figures.items():
        content, path = function_of("style", "content")(draw, kind, width), folder / f"{name}.{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        outputs.write_content(path, content)
        files.append(str(path))
    return files


def _write_figure(path: Path, width: float | None, result: verbs.Result) -> None:
    (draw,) = result.figures.values()
    outputs.write_content(path, function_of("style", "content")(draw, path.suffix[1:].lower(), width))


def _write_rows(target: Any, kind: str, result: verbs.Result) -> int | None:
    """Write rows, or the first table of a result; return the number of files of pictures."""
    from gramian.report import tables

    if result.rows is None:
        tables.write_table(target, next(iter(result.tables.values())), kind)
    elif kind == "pictures":
        assert result.rows.pictures is not None
        return result.rows.pictures(target)
    else:
        tables.write_blocks(target, result.rows.table, result.rows.blocks, kind, result.rows.names)
    return None
