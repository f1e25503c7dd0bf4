"""What ``import pyhudi`` offers, and what it costs."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import pyhudi
from pyhudi import errors


def test_importing_the_package_loads_no_heavy_library() -> None:
    script = (
        "import sys, pyhudi\n"
        "print([name for name in ('pyarrow', 'pyspark', 'fastavro', 'numpy', 'airflow')"
        " if name in sys.modules])"
    )
    command = [sys.executable, "-c", script]
    paths = {"PYTHONPATH": ":".join(path for path in sys.path if path.endswith("spark_jobs"))}
    done = subprocess.run(command, capture_output=True, text=True, env=paths, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", pyhudi.__all__)
def test_every_public_name_is_found_where_it_is_said_to_be(name: str) -> None:
    assert getattr(pyhudi, name).__name__ == name


def test_every_error_is_public() -> None:
    names = [name for name, value in vars(errors).items() if inspect.isclass(value)]
    assert set(names) <= set(pyhudi.__all__)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pyhudi.nothing  # noqa: B018
