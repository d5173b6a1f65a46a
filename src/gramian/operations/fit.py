"""Fits, and the plan of one."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from gramian.checks import check_choice, solver_names
from gramian.errors import ParameterError
from gramian.operations.operation import DATA, Result, operation
from gramian.operations.shared import DEVICE, SEED, number_or_name, read_components
from gramian.options import (
    LIMITS,
    METHOD,
    OUTPUT,
    declared_of,
    flag,
    given_options,
    only_for,
    option,
)
from gramian.reading import IMPUTED

KERNEL_OPTIONS = ("gamma", "degree", "coef0")  # of a kernel whose name stands alone
LISTED = 10  # components that are printed, and computed where nothing is asked
LANDMARKS = ("rpcholesky", "uniform", "kmeans")
CENTER = flag("Do not subtract the mean.", label="no centring", parameters=("center",))
SCALE = option(
    "HOW",
    "unit (variance 1), also for kernel PCA; only for PCA: pareto (divides by the root of the standard "
    "deviation) or genotype (for allele counts); none.",
    usual="by the data",
    choices=("unit", "pareto", "genotype", "none"),
    label="scaling",
)
DDOF = option("NUMBER", "PCA: variances divide by rows - ddof.", usual="1")


def _check_landmarks(flag: str, value: str) -> str:
    if value.isdecimal():
        raise ParameterError(
            flag, value, "is a number, but this names a rule", f"Use n_landmarks={int(value)!r}."
        )
    return check_choice(flag, value, LANDMARKS)


def _solvers(estimator: str, approximate: bool = False) -> str:
    return (" or " if approximate else ", ").join(solver_names(estimator, approximate))


@dataclass(frozen=True)
class Model:
    """Parameters of ``gramian.PCA``, or with a kernel of ``gramian.KernelPCA``."""

    panel: ClassVar[str] = METHOD

    kernel: str | None = option(
        "KERNEL",
        "Kernel PCA, by a name such as rbf or an expression such as 'rbf(sigma=2) + 0.5*linear'; "
        "see gramian kernels table. PCA without it.",
    )
    components: str | None = option(
        "K",
        "A number such as 10, an explained variance ratio such as 0.95, or a rule: parallel, cv, "
        "and for PCA mle, sign-flip, gavish-donoho.",
        usual="10, or all of fewer",
        label="number of components",
        parameters=("n_components",),
    )
    max_rmse: float | None = option(
        "NUMBER",
        "PCA: the fewest components whose root-mean-square error of an entry is at most this.",
        label="largest root-mean-square error",
    )
    gamma: str | None = option(
        "NUMBER",
        "Factor of rbf, poly, laplacian, sigmoid, chi2; scale: 1 / (columns * variance of all entries); "
        "median: by the median distance of rows.",
        usual="1 / columns; 1 for chi2",
        suggestions=("scale", "median"),
    )
    degree: int | None = option("NUMBER", "Power of poly.", usual="3")
    coef0: float | None = option("NUMBER", "Constant of poly and sigmoid.", usual="1")
    no_center: bool = CENTER
    scale: str | None = SCALE
    whiten: bool = flag("PCA: scores of variance 1.", label="scores of variance 1")
    ddof: int | None = DDOF
    solver: str | None = option(
        "NAME",
        f"PCA: {_solvers('PCA')}; kernel PCA: {_solvers('KernelPCA')}. Approximate: "
        f"{_solvers('KernelPCA', True)} for a kernel PCA of many rows.",
        usual="auto",
        suggestions=tuple(dict.fromkeys((*solver_names("PCA"), *solver_names("KernelPCA")))),
    )
    n_landmarks: int | None = option(
        "NUMBER",
        "Landmarks of nystroem, or number of random features.",
        usual="1000",
        label="number of landmarks",
    )
    landmarks: str | None = option(
        "HOW",
        "Landmarks of nystroem: rpcholesky, uniform or kmeans.",
        usual="rpcholesky",
        choices=LANDMARKS,
        label="rule for landmarks",
        check=_check_landmarks,
    )
    tol: float | None = option(
        "NUMBER",
        "Bound on residuals over the largest eigenvalue.",
        usual="1e-6; 1e-5 in float32",
        label="tolerance",
    )
    certificate: str | None = option(
        "KIND",
        "PCA of float32 data: bound rounding by a random probe, or deterministic: by the worst case.",
        usual="probabilistic",
        choices=("probabilistic", "deterministic"),
        label="bounds on rounding",
    )
    seed: int = SEED
    memory_limit: str | None = option(
        "BYTES",
        "Working memory, such as 4GB, without data and results.",
        usual="80 % of the machine's",
        panel=LIMITS,
        local=True,
    )
    device: str | None = DEVICE
    repair: str | None = option(
        "HOW", "Kernel PCA: clip sets negative eigenvalues to 0.", usual="an error", choices=("clip",)
    )
    preimage: str | None = option(
        "HOW",
        "Kernel PCA, method of pre-images: fixed-point, gradient or ridge.",
        usual="by the kernel",
        choices=("auto", "fixed-point", "gradient", "ridge"),
        label="pre-images",
    )


@dataclass(frozen=True)
class Fit(Model):
    """A fit, and what is written of it."""

    loadings: str | None = option(
        "KIND",
        "unit vectors, or correlation of columns with scores.",
        usual="unit",
        choices=("unit", "correlation"),
        panel=OUTPUT,
    )
    format: str | None = option(
        "KIND", "Tables as csv or parquet.", usual="csv", choices=("csv", "parquet"), panel=OUTPUT
    )
    report: bool = flag("Also write report.html, one page for a browser, into the folder.", panel=OUTPUT)
    verbose: bool = flag("Print the whole plan and certificate.", panel=OUTPUT)


def estimator(options: Model) -> Any:
    """Return the unfitted PCA or KernelPCA that the options describe.

    Raises
    ------
    ParameterError
        For an option that does not belong to what is computed, or whose value is not understood.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.pca.rules import check_rmse

    pca = options.kernel is None
    kind, rules = kind_and_rules(pca)
    names = {one.name: (declared_of(one).parameters or (one.name,))[0] for one in fields(Model)}
    takes = inspect.signature(kind).parameters
    what = "a kernel, which --kernel names" if pca else "PCA, without --kernel"
    only_for(what, options, *(own for own, name in names.items() if name not in takes))
    if options.kernel is not None:
        _check_kernel_options(options, options.kernel)
    memory_limit_bytes(options.memory_limit)
    if options.solver is not None:
        check_choice("--solver", options.solver, ("auto", *solver_names(kind.__name__)))
    if options.max_rmse is not None:
        check_rmse(options.max_rmse)
    given: dict[str, Any] = {
        names[name]: value for name, value in given_options(options).items() if name in names
    }
    given["n_components"] = read_components(options.components, rules)
    given["center"] = not options.no_center
    if options.scale == "none":
        del given["scale"]
    if options.gamma is not None:
        given["gamma"] = number_or_name("gamma", options.gamma, ("median", "scale"))
    return kind(**given)


def kind_and_rules(pca: bool) -> tuple[type[Any], Sequence[str]]:
    """Return PCA or KernelPCA, the only one that is imported, and its rules for numbers of components."""
    if pca:
        from gramian.pca.estimator import PCA
        from gramian.pca.rules import NAMED

        return PCA, NAMED
    from gramian.kernel_pca.estimator import KernelPCA
    from gramian.kernel_pca.fits import COUNT_RULES

    return KernelPCA, COUNT_RULES


def _check_kernel_options(options: Model, kernel: str) -> None:
    from gramian.kernel_pca.projection import check_scale
    from gramian.kernels.expression import PRECOMPUTED, parse

    check_scale(options.scale, precomputed=kernel.strip() == PRECOMPUTED)
    if options.solver != "nystroem":
        only_for("--solver nystroem", options, "landmarks")
        if options.solver != "random-features":
            only_for("--solver nystroem or random-features", options, "n_landmarks")
    made = None if kernel.strip() == PRECOMPUTED else parse(kernel)
    alone = made is not None and kernel.strip().isidentifier()
    known = made.get_params(deep=False) if made is not None and alone else {}
    takes = [name for name in KERNEL_OPTIONS if name in known]
    for name in KERNEL_OPTIONS:
        if getattr(options, name) is not None and name not in takes:
            allowed = ", ".join(f"--{option}" for option in takes) or "no such option"
            where = "" if alone or made is None else ": write it inside of the expression"
            raise ParameterError(
                f"--{name}",
                allowed=f"does not apply to --kernel {kernel}, which takes {allowed}{where}",
                hint="Leave it out.",
            )


def estimator_of(options: Model, missing: str | None) -> Any:
    """Return the unfitted model, which imputes what reading leaves in.

    Raises
    ------
    ParameterError
    """
    made = estimator(options)
    imputes = options.kernel is None and missing in IMPUTED
    if imputes and not (options.components or "").isdecimal():
        raise ParameterError(
            "--missing",
            missing,
            "imputes with a number of components",
            "Name one, such as --components 2; with --missing mean, --components cv suggests one.",
        )
    return made.set_params(missing=missing) if imputes else made


def with_usual_components(made: Any, table: Any) -> Any:
    """Return an estimator that computes ten components, or all of fewer, if none are asked for.

    Shell, server and page have this default; in Python None stands for all, as in scikit-learn.
    """
    n, *shape = table.values.shape
    most = min(n, (made.n_landmarks or n) if made.model_kind.kernel else math.prod(shape))
    asks = made.n_components is not None or getattr(made, "max_rmse", None) is not None
    return made if asks or most <= LISTED else made.set_params(n_components=LISTED)


def _in_file(options: Model) -> dict[str, Any]:
    """Return how rows are read for a fit."""
    return {"imputes": options.kernel is None}


ROWS = replace(DATA, streamed=True, how=_in_file)


@operation(ROWS, check=estimator)
def plan(options: Model, data: Any) -> Result:
    """Show the solver that fit would use, and why.

    Nothing is computed.
    """
    from gramian.report.facts import data_facts, plan_facts

    chosen = with_usual_components(estimator_of(options, data.missing.method), data).plan(data)
    return Result(chosen, {"data": data_facts(data), "plan": plan_facts(chosen)})


@operation(ROWS, check=estimator)
def fit(
    options: Fit,
    data: Any,
    reading: Mapping[str, Any] | None = None,
    command: Sequence[str] = (),
    maps: bool = False,
) -> Result:
    """Find components; write model, tables, pictures.

    The folder gets a summary.md that explains the result, the solver and the reason for it, and the error
    bounds. Results of an earlier fit in it are replaced; other files stay. Without -o the command
    prints what was used, the components with their largest loadings, certificate and plan, and writes
    nothing.
    """
    import numpy as np

    from gramian.inspect.diagnose import diagnosis_of
    from gramian.report.facts import component_facts, data_facts, diagnosis_facts, model_facts, versions
    from gramian.report.fitted import Fitted
    from gramian.report.pieces import completed
    from gramian.report.sentences import headline, used_lines

    made = with_usual_components(estimator_of(options, data.missing.method), data)
    start, scores = time.perf_counter(), np.empty((0, 0))
    if maps and data.in_memory:  # scores of a table in a file are computed when they are written
        scores = np.asarray(made.fit_transform(data))
    else:
        made.fit(data)
    seconds, table = time.perf_counter() - start, completed(made, data)
    kinds = options.loadings or "unit", options.format or "csv"
    diagnosis = diagnosis_of(made, table)
    facts = {
        "data": data_facts(table),
        "model": model_facts(made),
        "components": component_facts(made),
        **diagnosis_facts(diagnosis),
        "seconds": seconds,
        "command": command,
        "versions": versions(),
    }
    lines = [headline(made), *used_lines(made, table), ""]
    return Result(
        "\n".join([*lines, *model_lines(made, diagnosis, options.verbose)]),
        facts,
        model=made,
        fitted=Fitted(made, table, scores, tuple(command), seconds, *kinds, reading, diagnosis),
    )


def model_lines(model: Any, diagnosis: Any, verbose: bool = True) -> list[str]:
    """Return what is said of every fitted model: what misleads, components, sample, certificate, plan."""
    from gramian.analysis.sampling import sampling_note
    from gramian.inspect.diagnose import serious_and_notes

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
