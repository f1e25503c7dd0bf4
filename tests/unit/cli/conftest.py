"""What tests of the console command take."""

import pytest

from tests.support.console import Shell


@pytest.fixture
def pyhudi(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)
