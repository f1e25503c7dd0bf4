"""The body of a savepoint."""

from pyhudi.actions.savepoint import SavepointMetadata
from tests.support.golden import golden_table


def test_a_savepoint_reads_back_as_it_was_written() -> None:
    savepoint = SavepointMetadata(
        user="airflow",
        created_ms=1_795_258_345_596,
        comment="before the backfill",
        files={"north": ("a.parquet", ".a.log.1_0-0-0"), "south": ()},
    )
    assert SavepointMetadata.from_bytes(savepoint.to_bytes()) == savepoint


def test_a_savepoint_of_hudi_is_read() -> None:
    folder = golden_table("v6_cow_restore") / ".hoodie"
    found = SavepointMetadata.from_bytes((folder / "20261121105224697.savepoint").read_bytes())
    assert (found.user, found.comment) == ("oracle", "made by the oracle")
    assert found.files == {
        "north": ("7f963cc8-d9e4-4b9d-a3d3-40d29f657945-0_0-4786-6710_20261121105224697.parquet",),
        "south": ("ec5ec541-1687-460e-959e-9028ade642b9-0_0-4768-6688_20261121105224147.parquet",),
    }
