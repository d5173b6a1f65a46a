"""Fits, and the plan of one."""

import inspect
import math
import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from gramian.app import verb
from gramian.core.checks import solver_names
from gramian.errors import ParameterError
from gramian.tables.reading import IMPUTED

KERNEL_OPTIONS = ("gamma", "degree", "coef0")  # of a kernel whose name stands alone
LISTED = 10  # components that are printed, and computed where nothing is asked
DESCRIBED = 3  # components whose columns are described, where the file does
Center = Annotated[bool, verb.Option()]
Ddof = Annotated[int | None, verb.Option("NUMBER", usual="1")]
Scale = Annotated[Literal["unit", "pareto", "genotype"] | None, verb.Option(usual="by the data")]
Rows = Annotated[Any, verb.DATA._replace(streamed=True, imputes=True)]


SOLVERS, KERNEL_SOLVERS = solver_names("PCA"), solver_names("KernelPCA")
SOLVER = verb.Option(
    "NAME",
    f"PCA: {', '.join(SOLVERS)}; kernel PCA: {', '.join(KERNEL_SOLVERS)}, of which "
    f"{' and '.join(solver_names('KernelPCA', True))} are approximate, for many rows.",
    "auto",
    suggestions=tuple(dict.fromkeys(SOLVERS + KERNEL_SOLVERS)),
)
DOCUMENTED = {
    "PCA": "gramian.models.pca.estimator:PCA",
    "Kernel PCA": "gramian.models.kernel_pca.estimator:KernelPCA",
}


@verb.about(documented=DOCUMENTED, panel=verb.METHOD)
def estimator(
    *,
    kernel: str | None = None,
    n_components: Annotated[
        int | float | Literal["parallel", "cv", "mle", "sign-flip", "gavish-donoho"] | None,
        verb.Option("K", usual="10, or all of fewer", short="-k", check=verb.check_count),
    ] = None,
    gamma: Annotated[float | Literal["scale", "median"] | None, verb.Option("NUMBER")] = None,
    degree: Annotated[int | None, verb.Option("NUMBER", usual="3")] = None,
    coef0: Annotated[float | None, verb.Option("NUMBER", usual="1")] = None,
    center: Center = True,
    scale: Scale = None,
    whiten: Annotated[bool, verb.Option()] = False,
    ddof: Ddof = None,
    solver: Annotated[str | None, SOLVER] = None,
    n_landmarks: Annotated[int | None, verb.Option("NUMBER")] = None,
    landmarks: Annotated[Literal["rpcholesky", "uniform"] | None, verb.Option(usual="rpcholesky")] = None,
    tol: Annotated[float | None, verb.Option("NUMBER")] = None,
    certificate: Annotated[
        Literal["probabilistic", "deterministic"] | None, verb.Option(usual="probabilistic")
    ] = None,
    random_state: verb.Seed = 0,
    memory_limit: verb.MemoryLimit = None,
    repair: Annotated[Literal["clip"] | None, verb.Option(usual="an error")] = None,
    preimage: Annotated[
        Literal["auto", "fixed-point", "ridge"] | None, verb.Option(usual="by the kernel")
    ] = None,
    missing: Annotated[str | None, verb.ELSEWHERE] = None,
) -> Any:
    """Return the unfitted PCA or KernelPCA that the options describe.

    Raises
    ------
    ParameterError
        For an option that does not belong to what is computed, or whose value is not understood.

    Parameters
    ----------
    kernel : KERNEL
        Kernel PCA, by a name such as rbf or an expression such as 'rbf(sigma=2) + 0.5*linear'; see gramian
        kernels table. PCA without it.
    """
    arguments = {name: value for name, value in locals().items() if value is not None and value is not False}
    arguments |= {"center": center}
    arguments.pop("missing", None)
    kind = estimator_class(kernel)
    takes = inspect.signature(kind).parameters
    what = "kernel PCA: give a kernel" if kernel is None else "PCA, without a kernel"
    verb.only_for(what, arguments, *(name for name in arguments if name not in takes))
    if kernel is not None:
        _check_kernel_options(kernel, arguments)
    elif missing in IMPUTED and not isinstance(n_components, int):
        advice = 'Give one, such as n_components=2; with missing="mean", n_components="cv" suggests one.'
        raise ParameterError("missing", missing, "imputes with a number of components", advice)
    return kind(**arguments)


def estimator_class(kernel: str | None) -> type[Any]:
    """Return PCA, or KernelPCA for a kernel, the only one that is imported."""
    if kernel is None:
        from gramian.models.pca.estimator import PCA

        return PCA
    from gramian.models.kernel_pca.estimator import KernelPCA

    return KernelPCA


def _check_kernel_options(kernel: str, options: Mapping[str, Any]) -> None:
    """Refuse what a kernel would ignore, and scales that it has not; the estimator checks all else."""
    from gramian.kernels.expression import PRECOMPUTED, parse
    from gramian.models.kernel_pca.projection import check_scale

    check_scale(options.get("scale"), precomputed=kernel.strip() == PRECOMPUTED)
    made = None if kernel.strip() == PRECOMPUTED else parse(kernel)
    takes = () if made is None or not kernel.strip().isidentifier() else made.get_params(deep=False).keys()
    accepted = ", ".join(name for name in KERNEL_OPTIONS if name in takes) or "no such option"
    for name in KERNEL_OPTIONS:
        if name in options and name not in takes:
            allowed = f"does not apply to kernel={kernel!r}, which takes {accepted}"
            raise ParameterError(name, allowed=allowed, hint="Leave it out, or write it into an expression.")


def with_usual_components(made: Any, table: Any) -> Any:
    """Return an estimator that computes ten components, or all of fewer, if none are asked for.

    Shell, server and page have this default; in Python None stands for all, as in scikit-learn.
    """
    n, *shape = table.values.shape
    most = min(n, (made.n_landmarks or n) if made.model_kind.kernel else math.prod(shape))
    return made if made.n_components is not None or most <= LISTED else made.set_params(n_components=LISTED)


def _ready(model: Any, data: Any) -> Any:
    """Return an estimator that imputes what reading left in."""
    if not model.model_kind.kernel and data.missing.method in IMPUTED:
        model.set_params(missing=data.missing.method)
    return with_usual_components(model, data)


def plan(data: Rows, *, model: Annotated[Any, verb.Of(estimator)]) -> verb.Result:
    """Show the solver that fit would use, and why.

    Nothing is computed.
    """
    from gramian.report.facts import data_facts, plan_facts

    chosen = _ready(model, data).plan(data)
    return verb.Result(chosen, {"data": data_facts(data), "plan": plan_facts(chosen)})


def _check_writing(values: Mapping[str, Any]) -> None:
    if values.get("loadings") is not None and values.get("kernel") is not None:
        allowed = "applies only to PCA: components of kernel PCA have no loadings"
        raise ParameterError("loadings", allowed=allowed, hint="Leave it out.")
    if values.get("loadings") == "correlation" and not values.get("center", True):
        raise ParameterError("loadings", "correlation", "needs centred data", "Leave out center=False.")


@verb.about(check=_check_writing)
def fit(
    data: Rows,
    *,
    model: Annotated[Any, verb.Of(estimator)],
    loadings: Literal["unit", "correlation"] | None = None,
    format: Literal["csv", "parquet"] | None = None,
    report: bool = False,
    verbose: bool = False,
    context: verb.Context = verb.Context(),
) -> Annotated[verb.Result, verb.Output("results")]:
    """Find components; write model, tables, pictures.

    \b
    gramian fit table.csv
    gramian fit table.csv --label species --scale unit -o results --report
    gramian fit table.csv --kernel rbf --n-components 3 -o model.gramian

    The folder gets a summary.md that explains the result, the solver and the reason for it, and the error
    bounds. Results of an earlier fit in it are replaced; other files stay. Without -o the command
    prints what was used, the components with their largest loadings, certificate and plan, and writes
    nothing.

    Parameters
    ----------
    loadings : default: unit
        unit vectors, or correlation of columns with scores.
    format : default: csv
        Tables as csv or parquet.
    report
        Also write report.html, one page for a browser, into the folder.
    verbose
        Print the whole plan and certificate.

    Files
    -----
    out : PATH, default: nothing is written
        A folder for all results, or FILE.gramian for the model alone.
    """
    import numpy as np

    from gramian.answers.diagnose import diagnosis_of
    from gramian.report import facts, sentences, tables
    from gramian.report.headline import headline

    made = _ready(model, data)
    start, scores = time.perf_counter(), np.empty((0, 0))
    # Scores of a table in a file are computed when they are written.
    if data.in_memory:
        scores = np.asarray(made.fit_transform(data))
    else:
        made.fit(data)
    seconds, table = time.perf_counter() - start, tables.completed(made, data)
    diagnosis, command = diagnosis_of(made, table), tuple(context.command)
    answer = headline(made, table, scores, diagnosis)
    loaded = (name for columns in facts.loaded_columns(made, DESCRIBED) for name, _ in columns)
    used = [*sentences.used_lines(made, table), *(f"  {line}" for line in table.described(loaded))]
    untold = answer.kind == "groups" and not getattr(answer.evidence, "group", ())  # of no column so far
    lines = [" ".join(answer.sentences[: 1 + untold]), facts.in_brief(made), *used, ""]
    kinds, prepared = (loadings or "unit", format or "csv"), (diagnosis, answer if data.in_memory else None)
    return verb.Result(
        "\n".join([*lines, *model_lines(made, diagnosis, verbose)]),
        lambda: {
            "data": facts.data_facts(table),
            "model": facts.model_facts(made),
            "components": facts.component_facts(made),
            **facts.diagnosis_facts(diagnosis),
            "seconds": seconds,
            "command": command,
            "versions": facts.versions(),
        },
        model=made,
        fitted=facts.Fitted(made, table, scores, command, seconds, *kinds, context.reading, *prepared),
    )


def model_lines(model: Any, diagnosis: Any, verbose: bool = True) -> list[str]:
    """Return what is said of every fitted model: what misleads, components, sample, certificate, plan."""
    from gramian.answers.diagnose import serious_and_notes
    from gramian.statistics.sampling import sampling_note

    serious, notes = serious_and_notes(diagnosis)
    above = [*serious, ""] if serious else []
    lines = [*above, *component_table(model), "", *notes, *filter(None, [sampling_note(model)])]
    if not verbose:
        return [*lines, model.certificate_.brief, model.plan_.brief]
    return [*lines, str(model.plan_), "", str(model.certificate_)]


def component_table(model: Any, count: int = LISTED) -> list[str]:
    """Return the first components as lines of a text table, with their largest loadings."""
    from gramian.report.facts import component_rows, largest_loadings

    named = largest_loadings(model, count)
    head = ["", "eigenvalue", "std. dev.", "ratio", "cumulative", "largest loadings" if named else ""]
    rows = component_rows(model, count)
    rows = [[*row, text] for row, text in zip(rows, named or [""] * len(rows), strict=True)]
    lines = [
        f"{name:8}{value:>14}{deviation:>14}{ratio:>10}{total:>12}  {loaded}".rstrip()
        for name, value, deviation, ratio, total, loaded in [head, *rows]
    ]
    if model.n_components_ > count:
        lines.append(f"... and {model.n_components_ - count} more")
    return lines
