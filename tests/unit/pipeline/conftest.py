"""Where the tables of these tests lie."""

from pathlib import Path

import pytest


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The path of a table that is not made yet."""
    return tmp_path / "table"
