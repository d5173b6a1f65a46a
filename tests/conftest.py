"""Fixtures and settings that every test may rely on."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Derandomized: the same tests give the same verdict on every machine and every run.
settings.register_profile("gramian", deadline=None, derandomize=True)
settings.load_profile("gramian")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of public data sets: $GRAMIAN_TEST_DATA, or shared/data beside the repository."""
    named = os.environ.get("GRAMIAN_TEST_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; set GRAMIAN_TEST_DATA to their folder")
    return folder
