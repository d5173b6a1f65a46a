import pytest

from gramian.cli.run import run


@pytest.mark.parametrize("command", ["table", "audit"])
def test_each_command_explains_itself(command, capsys):
    assert run(["kernels", command, "--help"]) == 0
    assert f"Usage: gramian kernels {command}" in capsys.readouterr().out


def test_the_group_alone_shows_its_commands_and_is_no_success(capsys):
    assert run(["kernels"]) == 2
    assert "table" in capsys.readouterr().out
