"""The job scripts and the engine as files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_pyhudi.bundle import engine_zip, job_script
from airflow_provider_pyhudi.exceptions import PyhudiEnvironmentError


def test_the_script_of_a_job_is_a_file() -> None:
    assert Path(job_script("upsert")).is_file()


def test_an_unknown_job_is_refused() -> None:
    with pytest.raises(PyhudiEnvironmentError, match=r"nonsense\.py"):
        job_script("nonsense")


def test_the_same_engine_makes_the_same_zip(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first, second = engine_zip(str(tmp_path)), engine_zip(str(tmp_path / "a"))
    assert Path(first).name == Path(second).name
    assert Path(first).read_bytes() == Path(second).read_bytes()


def test_the_engine_can_be_imported_from_its_zip(tmp_path: Path) -> None:
    path = engine_zip(str(tmp_path))
    script = f"import sys; sys.path.insert(0, {path!r}); import pyhudi.jobs; print(pyhudi.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(path)
