"""What savepoints keep from those who delete."""

from pathlib import Path

from pyhudi.table.savepoints import saved_files, saved_instants
from pyhudi.table.table import open_table
from tests.support.golden import golden_copy, golden_table

SAVED = "20261121105224697"


def test_the_instant_of_a_savepoint_and_the_files_it_names_are_kept() -> None:
    table = open_table(golden_table("v6_cow_restore"))
    assert saved_instants(table.active, table.timeline) == {SAVED}
    assert saved_files(table.active, table.timeline) == {
        f"north/7f963cc8-d9e4-4b9d-a3d3-40d29f657945-0_0-4786-6710_{SAVED}.parquet",
        "south/ec5ec541-1687-460e-959e-9028ade642b9-0_0-4768-6688_20261121105224147.parquet",
    }


def test_a_savepoint_that_is_not_completed_or_was_deleted_keeps_nothing(tmp_path: Path) -> None:
    path = golden_copy("v6_cow_restore", tmp_path)
    before = open_table(path)
    (path / ".hoodie" / f"{SAVED}.savepoint").unlink()
    for table in (before, open_table(path)):
        assert saved_instants(table.active, table.timeline) == frozenset()
        assert saved_files(table.active, table.timeline) == frozenset()
