"""The record of a choice, and how it prints."""

import copy
import json
import pickle
import sys

import numpy as np
import pytest

from gramian import KernelPCA
from gramian.errors import MissingExtraError
from gramian.kernels import RBF, Linear, Sigmoid
from gramian.selection.kernel_choice import KernelChoice, KernelTrial, judgement

LONG = RBF(sigma=(1.25, 2.5, 3.75, 4.125, 5.0625)) + 0.5 * Linear()


def trial(kernel, value, error, number, remark=""):
    return KernelTrial(kernel, value, error, number, remark, KernelPCA(kernel=kernel, preimage="ridge"))


CHOICE = KernelChoice(
    place=1,
    n_components=4,
    criterion="score",
    measure="accuracy",
    candidates=(
        trial(Linear(), 0.5, 0.01, 2),
        trial(RBF(sigma=2), 0.98765, None, 4),
        trial(Sigmoid(), None, None, None, "It is no kernel on these rows. " * 6),
        trial(LONG, 0.75, 0.125, None),
    ),
    reason="rbf is the best of them.",
    notes=("First note.", "Second note."),
    about="10 rows x 2 columns",
)


def test_the_best_is_ready_to_be_fitted():
    assert CHOICE.best == RBF(sigma=2)
    model = CHOICE.model
    assert (model.n_components, model.kernel, model.preimage) == (4, RBF(sigma=2), "ridge")
    assert model.fit_transform(np.random.default_rng(0).standard_normal((10, 2))).shape == (10, 4)


def test_it_prints_as_a_table():
    lines = str(CHOICE).splitlines()
    assert lines[0] == "Kernel for 10 rows x 2 columns, by score"
    assert lines[1].split() == ["kernel", "accuracy", "std.", "error", "components"]
    assert lines[2].split() == ["linear()", "0.5", "0.01", "2"]
    assert lines[3].split() == ["*", "rbf(sigma=2)", "0.9877", "-", "4"]
    assert lines[4].split() == ["sigmoid()", "-"]
    assert lines[5].startswith("    It is no kernel on these rows.")
    assert max(map(len, lines)) <= 110
    assert lines[-3:] == ["rbf is the best of them.", "- First note.", "- Second note."]
    assert repr(CHOICE) == str(CHOICE)
    assert CHOICE._repr_html_().startswith("<pre>Kernel for")


def test_a_long_kernel_has_its_numbers_below():
    lines = str(CHOICE).splitlines()
    place = next(i for i, line in enumerate(lines) if repr(LONG) in line)
    assert lines[place + 1].split() == ["0.75", "0.12"]


def test_rows_and_plain_values():
    assert CHOICE.rows()[1] == ("rbf(sigma=2)", 0.98765, None, 4, True, "")
    facts = json.loads(json.dumps(CHOICE.to_dict(), allow_nan=False))
    assert (facts["kernel"], facts["components"], facts["measure"]) == ("rbf(sigma=2)", 4, "accuracy")
    assert [row["best"] for row in facts["candidates"]] == [False, True, False, False]
    assert facts["candidates"][2]["value"] is None


def test_to_frame():
    frame = CHOICE.to_frame()
    assert list(frame.columns) == ["accuracy", "standard_error", "components", "best", "remark"]
    assert frame.loc["linear()", "components"] == 2
    assert np.isnan(frame.loc["sigmoid()", "accuracy"])


def test_to_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"A data frame needs pandas"):
        CHOICE.to_frame()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda choice: pickle.loads(pickle.dumps(choice))])
def test_copies_know_the_best_too(again):
    assert str(again(CHOICE)) == str(CHOICE)


def test_judgements_are_means_over_folds():
    values = np.array([[0.2, 0.5], [0.4, 0.9], [0.3, 0.4]])
    found = judgement(values, 1, (2, 8), rank=5, said=("a",))
    assert found.value == pytest.approx(0.6)
    assert found.standard_error == pytest.approx(np.std([0.5, 0.9, 0.4], ddof=1) / np.sqrt(3))
    assert (found.n_components, found.said) == (5, ("a",))
    assert judgement(values[:1], 0, (8,), rank=5).standard_error is None
    assert judgement(values[:1, :1], 0, (8,), rank=5).n_components == 8
