"""The list of all kernels: complete, true and printable."""

import numpy as np

from gramian.kernels import kernel_from_name, table
from gramian.kernels.expression import FORMULAS, WIDTH, KernelEntry

ROWS = {row.name: row for row in table()}


def test_every_formula_is_there_once():
    names = [row.name for row in table()]
    assert len(set(names)) == len(names) == len(table())
    assert names[: len(FORMULAS)] == list(FORMULAS)
    assert {"a function", "precomputed"} < set(names)


def test_what_is_said_of_a_formula():
    for name in FORMULAS:
        row, kernel = ROWS[name], kernel_from_name(name)
        assert isinstance(row, KernelEntry), name
        assert row.formula == kernel.general, name
        assert row.validity == kernel.validity.status, name
        assert row.reason == kernel.validity.reason, name
        assert dict(row.parameters) == {
            key: repr(value) for key, value in FORMULAS[name]().get_params().items()
        }, name
        for key, _ in row.parameters:
            # Every parameter stands in the formula, or is one of its names for the width.
            assert key in row.formula or key == "nu", name


def test_only_the_sigmoid_is_refuted():
    assert [name for name in FORMULAS if ROWS[name].validity == "refuted"] == ["sigmoid"]
    assert all(ROWS[name].validity == "proven" for name in FORMULAS if name != "sigmoid")
    assert ROWS["a function"].validity == ROWS["precomputed"].validity == "unknown"


def test_combinations_are_proven_if_their_parts_are():
    for name in [
        "k1 + k2",
        "k1 * k2",
        "c * k",
        "k ** p",
        "exp(k)",
        "k.normalized()",
        "k.on(columns)",
        "k.after(map)",
    ]:
        row = ROWS[name]
        assert row.validity == "proven if its parts are", name
        assert row.reason, name
        assert row.formula, name
        named = name.replace("columns", "0").replace("map", "sqrt").replace("c *", "2 *").replace("p", "2", 1)
        if name not in ("exp(k)", "k.after(map)"):
            assert kernel_from_name(
                named.replace("k1", "rbf").replace("k2", "linear").replace("k", "rbf")
            ).psd, name


def test_it_prints_as_a_table():
    text = str(table())
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH + 16
    for row in table():
        assert f"{row.name:16}{row.formula}" in lines
    assert "                parameters: degree=3, gamma=None, coef0=1.0" in lines
    assert any(line.strip().startswith("refuted: It is f(x . y)") for line in lines)
    assert text.count("proven: ") >= 9
    assert np.all([line == line.rstrip() for line in lines])
