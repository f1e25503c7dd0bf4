"""A disk without space: who is told what, and what is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyhudi.errors import StorageError
from tests.support.crashes import World
from tests.support.faulty import Fault, Faults
from tests.support.in_process import SAVING, clock_at, options_of, outcome, write
from tests.support.spark import ROOT

ROWS = {("x", "a"): (1, "one"), ("x", ""): (1, "no key")}


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_whichever_file_finds_no_space_is_named(table_type: str) -> None:
    """Data files, log files and saved records too, whose errors come from Arrow."""
    options = options_of(table_type, **SAVING)
    world, named = World(), set()
    write(world.table, {("x", "a"): (0, "old")}, clock_at(), "insert", options_of(table_type))
    for at in range(1, 200):
        faults, tried = Faults(Fault.FULL_DISK, at), world.copy()
        raised = outcome(
            lambda tried=tried, faults=faults: tried.stop(
                lambda table, failed: write(
                    table, ROWS, clock_at(), "upsert", options, failed=failed
                ),
                faults,
            )
        )
        if raised is None:
            break
        assert isinstance(raised, StorageError), (at, raised)
        named |= {name for name in (".parquet", ".log.") if name in str(raised)}
    assert named == ({".parquet"} if table_type == "COPY_ON_WRITE" else {".parquet", ".log."})


@pytest.mark.spark
def test_a_real_disk_without_space_costs_nothing_but_the_job(tmp_path: Path) -> None:
    """Two small disks are mounted where nobody else sees them, for which no rights are needed."""
    disks = [tmp_path / name for name in ("tables", "spark")]
    for disk in disks:
        disk.mkdir()
    mounts = "".join(f"mount -t tmpfs -o size=24m small '{disk}' && " for disk in disks)
    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{mounts}exec "$@"']
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/faults/on_small_disks.py"]
    done = subprocess.run(
        [*apart, "sh", sys.executable, *tests],
        cwd=ROOT,
        env={**os.environ, "TABLES_DISK": str(disks[0]), "SPARK_DISK": str(disks[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
