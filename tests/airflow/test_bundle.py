"""The job scripts and the engine as files."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from airflow_provider_pyhudi.bundle import engine_zip, job_script
from airflow_provider_pyhudi.exceptions import PyhudiSetupError
from tests.support.source_tree import ENGINE


def test_the_script_of_a_job_is_a_file() -> None:
    assert Path(job_script("upsert")).is_file()


def test_an_unknown_job_is_refused() -> None:
    with pytest.raises(PyhudiSetupError, match=r"nonsense\.py"):
        job_script("nonsense")


def test_the_same_engine_makes_the_same_zip(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first, second = engine_zip(str(tmp_path)), engine_zip(str(tmp_path / "a"))
    assert Path(first).name == Path(second).name
    assert Path(first).read_bytes() == Path(second).read_bytes()


def test_the_zip_for_a_cluster_has_every_file_of_the_engine(tmp_path: Path) -> None:
    with zipfile.ZipFile(engine_zip(str(tmp_path))) as archive:
        names = set(archive.namelist())
    files = (path.relative_to(ENGINE.parent) for path in ENGINE.rglob("*") if path.is_file())
    wanted = {path.as_posix() for path in files if "__pycache__" not in path.parts}
    assert wanted == names, (
        "on a cluster the engine would lack what engine_zip leaves out; it takes files by suffix"
    )


def test_the_engine_and_its_schemas_are_read_from_its_zip(tmp_path: Path) -> None:
    path = engine_zip(str(tmp_path))
    script = (
        f"import sys; sys.path.insert(0, {path!r})\n"
        "from pyhudi.actions.rollback import InstantInfo, RollbackPlan\n"
        "plan = RollbackPlan(instant=InstantInfo(time='1', action='commit'), requests=())\n"
        "assert RollbackPlan.from_bytes(plan.to_bytes()) == plan\n"
        "print(RollbackPlan.to_bytes.__code__.co_filename)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(path)
