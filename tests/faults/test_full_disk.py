"""A disk without space: who is told what, and what is left."""

import pytest

from pyhudi.errors import StorageError
from tests.support.crashes import World
from tests.support.faulty import Fault, Faults
from tests.support.in_process import SAVING, clock_at, options_of, outcome, write

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
