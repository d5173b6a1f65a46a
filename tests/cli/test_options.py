import inspect
from dataclasses import fields

from gramian.cli.options import Data, Model, Reading, as_arguments, spread
from gramian.estimators import exact_kernel, linear_fit


def test_only_what_was_given_is_repeated():
    assert as_arguments(Model()) == []
    assert as_arguments(Model(components="0.9", no_center=True, ddof=0)) == [
        "--components",
        "0.9",
        "--no-center",
        "--ddof",
        "0",
    ]


def test_the_fields_of_records_become_parameters():
    seen = []

    def command(data: Data, reading: Reading) -> None:
        seen.append((data, reading))

    wide = spread(command)
    assert list(inspect.signature(wide).parameters)[:3] == ["data", "rows", "columns"]
    given = {name: p.default for name, p in inspect.signature(wide).parameters.items() if name != "data"}
    wide(data="a.csv", **{**given, "rows": "0:3"})
    assert seen == [("a.csv", Reading(rows="0:3"))]


def test_every_solver_is_in_the_help():
    (said,) = (one.metadata["help"] for one in fields(Model) if one.name == "solver")
    assert all(name in said for name in (*linear_fit.SOLVERS, *exact_kernel.SOLVERS))
