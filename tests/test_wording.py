import pytest

from gramian.checks import check_choice
from gramian.errors import DataError, ParameterError, RankWarning, by_surface, choice, option
from gramian.operations import operations
from refusals import golden, is_there

CASES = (
    # Made of marks; Python, shell, page
    (
        ParameterError("n_components", 12, "but 9 rows have 8"),
        "n_components=12 but 9 rows have 8.",
        "--components 12 but 9 rows have 8.",
        "Number of components 12 but 9 rows have 8.",
    ),
    (
        DataError(f"Use {option('missing', 'mean', 'em')}."),
        'Use missing="mean" or "em".',
        "Use --missing mean or em.",
        'Use missing values "mean" or "em".',
    ),
    (
        DataError(f"Use {choice('parallel', 'mle')} or {choice('cv')}."),
        "Use 'parallel', 'mle' or 'cv'.",
        "Use parallel, mle or cv.",
        "Use 'parallel', 'mle' or 'cv'.",
    ),
    (
        DataError(f"Give a number{by_surface(', or None', ', or leave it out')}."),
        "Give a number, or None.",
        "Give a number, or leave it out.",
        "Give a number, or leave it out.",
    ),
    (
        ParameterError("center", False, "is odd", f"The rule needs {option('center', True)}."),
        "center=False is odd. The rule needs center=True.",
        "--no-center is odd. The rule needs centred data (leave out --no-center).",
        "No centring is odd. The rule needs centring.",
    ),
    (
        ParameterError("tol", 2.0, "is wrong", f"Raise {option('memory_limit')}."),
        "tol=2.0 is wrong. Raise memory_limit.",
        "--tol 2 is wrong. Raise --memory-limit.",
        "Tolerance 2 is wrong. Raise memory limit.",
    ),
    (
        ParameterError("label", problem="select needs a label.", hint="Choose its column."),
        *("select needs a label. Choose its column.",) * 3,
    ),
    # Options of the shell and what is prose stay.
    (ParameterError("-o", "v1.0", "is an input"), *("-o v1.0 is an input.",) * 3),
    (DataError("'n_components=3' is a column, scale=2 a word."),)
    + ("'n_components=3' is a column, scale=2 a word.",) * 3,
    (
        RankWarning(f"{option('n_components', 3)} finds none."),
        "n_components=3 finds none.",
        "--components 3 finds none.",
        "Number of components 3 finds none.",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1])
def test_messages_are_in_the_terms_of_their_reader(case):
    operations()  # which declare the options
    message, python, shell, page = case
    assert str(message) == python
    assert message.worded("shell") == shell
    assert message.worded("page") == page


def test_what_is_meant_is_suggested():
    choices = {
        "scale": (("unit", "pareto"), {"standard": "unit", "True": "unit", "unti": "unit"}),
        "missing": (("mean", "em", "drop-rows"), {"median": "mean", "knn": "em", "na.omit": "drop-rows"}),
    }
    for name, (allowed, meant) in choices.items():
        for given, one in meant.items():
            with pytest.raises(ParameterError, match=f"Did you mean '{one}'"):
                check_choice(name, given, allowed)
    with pytest.raises(ParameterError, match=r"Allowed: 'a', 'b'\.$"):
        check_choice("scale", "standard", ("a", "b"))


def test_each_wording_is_of_a_test():
    assert golden()
    assert [test for test in golden() if not is_there(test)] == []
