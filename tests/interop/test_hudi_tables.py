"""Tables that real Hudi began, its metadata table included: we write on, Hudi goes on reading."""

import pytest

from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, user_columns
from tests.interop.scenarios import SCENARIOS, Scenario

BY_NAME = {s.name: s for s in SCENARIOS}
BEGUN = ("bulk_unsorted", "two_hive_partitions", "odd_partitions_encoded", "every_type")


@pytest.mark.parametrize("name", BEGUN)
@pytest.mark.parametrize("metadata", ["true", "false"], ids=["metadata_table", "plain"])
def test_we_write_on_to_a_table_of_hudi(name: str, metadata: str, hudi: RealHudi, spark, tmp_path):
    if metadata == "true" and name not in BEGUN[:2]:
        pytest.skip("the metadata table does not depend on this")
    scenario, table = BY_NAME[name], tmp_path / "table"
    model = scenario.model()
    first, second = scenario.batch(range(30), 1), scenario.batch(range(20, 40), 2)
    options = {**scenario.options, "hoodie.metadata.enable": metadata, **payload(scenario)}
    hudi.write(table, first, scenario.operation, options=options, mode="overwrite")
    hudi.write(table, second, "upsert")
    model.upsert(first)
    model.upsert(second)
    assert_same_rows(ours.read(table), hudi.read(table))
    assert_same_rows(user_columns(ours.read(table)), model.rows())

    third, gone = scenario.batch(range(35, 60), 3), scenario.batch(range(5), 4)
    ours.write(spark, table, third, "upsert", scenario.options)
    model.upsert(third)
    ours.write(spark, table, gone, "delete", scenario.options)
    model.delete(gone)
    by_hudi = hudi.read(table)
    assert_same_rows(user_columns(by_hudi), model.rows())
    assert_same_rows(ours.read(table), by_hudi)
    assert hudi.failures(table) == []


def payload(scenario: Scenario) -> dict[str, str]:
    """The payload class that 0.15 would not choose by itself."""
    name = "DefaultHoodieRecordPayload" if scenario.ordering else "OverwriteWithLatestAvroPayload"
    return {"hoodie.datasource.write.payload.class": f"org.apache.hudi.common.model.{name}"}
