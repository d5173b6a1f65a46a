import pytest

from gramian.checks import check_choice
from gramian.errors import ParameterError
from gramian.wording import worded

CASES = (
    # Python, shell, page
    (
        "n_components=12 but 9 rows have 8.",
        "--components 12 but 9 rows have 8.",
        "Number of components 12 but 9 rows have 8.",
    ),
    ("Use missing='mean' or 'em'.", "Use --missing mean or em.", "Use missing values \"mean\" or 'em'."),
    ("Set repair='clip' (or solver=\"dense\").", "Set --repair clip (or --solver dense).", None),
    ('Leave out with drop=["a b", "c", ...].', "Leave out with --drop 'a b,c', ....", None),
    ("Give n_components=10.", "Give --components 10.", "Give number of components 10."),
    ("Give a number, or None for all.", "Give a number, or leave it out for all.", None),
    (
        "tol=2.0 is wrong. In Python also f(x, 0.5). Try 1.",
        "--tol 2 is wrong. Try 1.",
        "Tolerance 2 is wrong. Try 1.",
    ),
    ("center=False is odd. Use center=True.", "--no-center is odd. Leave out --no-center.", None),
    ("scale=True is odd.", "--scale true is odd.", "Scaling true is odd."),
    # What the data hold, parameters of kernels and other words stay.
    ("'n_components=3' is a column, rbf(gamma=2) a kernel.",) * 3,
    ("column 'mean' of size.csv lacks scale: 'b'.",) * 3,
    ("--kernel rbf(gamma=2) and X=3",) * 3,
)


@pytest.mark.parametrize("case", CASES)
def test_messages_are_in_the_terms_of_their_reader(case):
    python, shell, page = case
    assert worded(python, "shell") == shell
    assert page is None or worded(python, "page") == page


def test_what_is_meant_is_suggested():
    choices = {
        "scale": (("unit", "pareto"), {"standard": "unit", "True": "unit", "unti": "unit"}),
        "missing": (("mean", "em", "drop-rows"), {"median": "mean", "knn": "em", "na.omit": "drop-rows"}),
    }
    for name, (allowed, meant) in choices.items():
        for given, choice in meant.items():
            with pytest.raises(ParameterError, match=f"Did you mean '{choice}'"):
                check_choice(name, given, allowed)
    with pytest.raises(ParameterError, match=r"Allowed: 'a', 'b'\.$"):
        check_choice("scale", "standard", ("a", "b"))
