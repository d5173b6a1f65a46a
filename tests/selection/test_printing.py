import pytest

from gramian.selection.printing import bar


@pytest.mark.parametrize(
    ("value", "largest", "text"),
    [
        (1.0, 1.0, "████"),
        (0.25, 1.0, "█"),
        (0.125, 1.0, "▌"),
        (0.0, 0.0, ""),
        (-1.0, 2.0, ""),
        (9.0, 3.0, "████"),
    ],
)
def test_bar_is_as_long_as_its_share(value, largest, text):
    assert bar(value, largest, width=4) == text
