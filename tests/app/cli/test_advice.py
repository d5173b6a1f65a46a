"""What an error proposes for faulty rows: given to the same command, it works."""

import ast
import csv
import io
import re
import shlex

import numpy as np
import pytest

NAMES, ROWS = "abcde", 60


def rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 5)) + rng.standard_normal((n, 5))
    return [[f"{x:.3f}" for x in row] for row in X]


def with_entries(*entries):
    """Return rows with some other entries, by row and column."""

    def changed(table):
        for row, column, text in entries:
            table[row][column] = text

    return changed


def with_column(text):
    """Return rows whose third column is changed."""

    def changed(table):
        for place, row in enumerate(table):
            row[2] = text(place, row[2])

    return changed


FAULTS = {
    "a hole": with_entries((7, 2, "")),
    "a text": with_entries((7, 2, "err")),
    "a text in the first row": with_entries((0, 2, "err")),
    "texts and a hole": with_entries((7, 2, "err"), (9, 2, "n/a?"), (11, 4, "-"), (12, 1, "")),
    "a text with a comma": with_entries((7, 2, '"error, sensor"')),
    "a slip": with_entries((7, 2, "1O.5")),
    "words": with_column(lambda place, _: "ns"[place % 2]),
    "no value": with_column(lambda *_: ""),
    "commas": with_column(lambda _, text: f'"{text.replace(".", ",")}"'),
    "an empty row": with_entries(*((7, column, "") for column in range(5))),
}
FITS = ("fit DATA -o new", "fit DATA --kernel rbf -o new", "plan DATA", "choose-components DATA")
FITS += ("choose-kernel DATA", "whiten DATA -o new.csv", "relations DATA")
APPLIED = ("transform MODEL DATA -o new.csv", "reconstruct MODEL DATA -o new.csv", "monitor MODEL DATA")


@pytest.fixture
def folder(tmp_path, gramian, monkeypatch):
    """Return a folder with the faulty tables and models of a good one."""
    monkeypatch.chdir(tmp_path)
    for name, change in ({"good": lambda _: None, "hole": FAULTS["a hole"]} | FAULTS).items():
        table = rows(ROWS, 1 if name in ("good", "hole") else 2)
        change(table)
        (tmp_path / f"{name}.csv").write_text("\n".join([",".join(NAMES), *map(",".join, table)]))
    for name, asked in {
        "plain": "good.csv",
        "kernel": "good.csv --kernel rbf",
        "em": "hole.csv --missing em",
        "mean": "hole.csv --missing mean",
    }.items():
        assert (
            gramian("fit", *asked.split(), "--n-components", "2", "--as-is", "-o", f"{name}.gramian").code
            == 0
        )
    return tmp_path


def shell(name, value):
    """Return a parameter as an option of the shell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(value if isinstance(value, list) else [value])
    return [f"--{name.replace('_', '-')}", text.getvalue()]


def advice(error):
    """Return the options that the last line of an error gives, one list for each way."""
    text = error.splitlines()[-1]
    if found := re.search(r"\b[Rr]ead it with (\w+=.*)\.$", text):
        keywords = ast.parse(f"dict({found[1]})", mode="eval").body.keywords
        return [[word for key in keywords for word in shell(key.arg, ast.literal_eval(key.value))]]
    if found := re.search(r"Use (missing=.*)\. For other methods", text):
        ways = re.findall(r'"([a-z-]+)"', found[1])
        needed = ["--n-components", "2"]  # of a model that imputes
        return [["--missing", way, *(needed if way in ("em", "iterative") else ())] for way in ways]
    if "Leave such rows out, of a file by" in text and f"in {ROWS} rows" not in text:
        return [["--missing", "drop-rows"]]
    # The table itself must change, or the model.
    assert re.search(r"right file|Fit a PCA|no value at all|Leave such rows out, of a file by", text), text
    return []


@pytest.mark.parametrize("command", FITS)
@pytest.mark.walk
def test_what_a_fit_proposes_works(command, folder, gramian):
    proposed = 0
    for name in FAULTS:
        args = [
            f"{name}.csv" if one == "DATA" else one.replace("new", f"{name} 0") for one in command.split()
        ]
        ran = gramian(shlex.join([*args, "--as-is"]))
        assert ran.code == 1, (name, ran.out)
        for at, options in enumerate(advice(ran.err), 1):
            words = [one.replace(f"{name} 0", f"{name} {at}") for one in args]
            again = gramian(shlex.join([*words, "--as-is", *options]))
            assert again.code == 0, (name, options, again.err)
            proposed += 1
    assert proposed >= 11


@pytest.mark.parametrize("command", APPLIED)
@pytest.mark.walk
def test_what_is_proposed_for_new_rows_works(command, folder, gramian):
    proposed = 0
    for model in ("plain", "kernel", "em", "mean"):
        if model == "kernel" and command.startswith("reconstruct"):
            continue
        for name in FAULTS:
            out, data = f"{model} {name}", f"{name}.csv"
            args = [one.replace("new", f"{out} 0") for one in command.split()]
            args = [{"MODEL": f"{model}.gramian", "DATA": data}.get(one, one) for one in args]
            ran = gramian(shlex.join(args))
            if ran.code == 0:
                continue
            for options in advice(ran.err):
                words = [one.replace(f"{out} 0", f"{out} 1") for one in args]
                again = gramian(shlex.join([*words, *options]))
                assert again.code == 0, (model, name, options, again.err)
                proposed += 1
    assert proposed >= 2
