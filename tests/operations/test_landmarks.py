"""The old spelling of the number of landmarks says the new one."""

import pytest

from gramian.cli import main
from gramian.errors import ParameterError
from gramian.operations.fit import _check_landmarks


def test_a_number_in_place_of_a_rule_for_landmarks_names_the_other_option(capsys):
    with pytest.raises(ParameterError, match="is a number, but this names a rule") as raised:
        _check_landmarks("--landmarks", "50")
    assert (raised.value.parameter, raised.value.value) == ("--landmarks", "50")
    assert main(["fit", "x.csv", "--kernel", "rbf", "--solver", "nystroem", "--landmarks", "50"]) == 2
    assert "Use n_landmarks=50." in capsys.readouterr().err
    assert main(["fit", "x.csv", "--kernel", "rbf", "--landmarks", "worst"]) == 2
    assert "Allowed: 'rpcholesky', 'uniform', 'kmeans'" in capsys.readouterr().err
