import subprocess
import sys

import pytest

import gramian.faces


def test_every_name_is_there_and_is_that_of_its_module():
    from gramian.faces.recognition import identify, verify

    assert all(getattr(gramian.faces, name) is not None for name in gramian.faces.__all__)
    assert gramian.faces.identify is identify
    assert gramian.faces.verify is verify
    assert dir(gramian.faces) == sorted(gramian.faces.__all__)
    assert set(gramian.faces._HOME) == set(gramian.faces.__all__)


def test_what_is_not_there():
    with pytest.raises(AttributeError, match=r"module 'gramian\.faces' has no attribute 'enrol'"):
        _ = gramian.faces.enrol


def test_nothing_is_loaded_before_it_is_used():
    program = "import sys, gramian.faces; print([n for n in sys.modules if n.startswith('gramian.faces.')])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
