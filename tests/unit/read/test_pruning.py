"""What a filter rules out without reading a row, and what it must not rule out."""

import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyhudi.config.table import TableConfig
from pyhudi.errors import RequestError
from pyhudi.read.pruning import can_match, filter_columns, partition_filter, path_values
from pyhudi.schema.metafields import with_meta

TEXTS = {"id": pa.string(), "part": pa.string()}
OTHERS = {"qty": pa.int64(), "day": pa.date32(), "info": pa.struct({"a": pa.int32()})}
SCHEMA = with_meta(pa.schema({**TEXTS, **OTHERS}))
QTY, PART, PATH = pc.field("qty"), pc.field("part"), pc.field("_hoodie_partition_path")


def config(**properties: str) -> TableConfig:
    """The configuration of a table partitioned by ``part``, unless said otherwise."""
    known = {
        "hoodie.table.name": "t",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": "6",
        "hoodie.timeline.layout.version": "1",
        "hoodie.table.partition.fields": "part",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    }
    named = {f"hoodie.{key.replace('__', '.')}": value for key, value in properties.items()}
    return TableConfig.from_properties({**known, **named})


def test_a_filter_needs_the_columns_it_names_nested_ones_by_their_top() -> None:
    filters = (QTY > 3) & (pc.field("info", "a") == 1) | pc.field("_hoodie_record_key").is_null()
    assert filter_columns(filters, SCHEMA) == ("_hoodie_record_key", "qty", "info")


def test_a_filter_on_no_column_needs_none() -> None:
    assert filter_columns(pc.scalar(True), SCHEMA) == ()


@pytest.mark.parametrize(
    ("filters", "problem"),
    [
        pytest.param(pc.field("price") > 3, "price", id="unknown_column"),
        pytest.param(QTY > "three", "greater", id="another_type"),
        pytest.param(QTY + 1, "qty", id="no_condition"),
    ],
)
def test_a_filter_that_does_not_apply_is_refused_with_the_columns_there_are(
    filters: pc.Expression, problem: str
) -> None:
    with pytest.raises(RequestError, match=rf"(?s){problem}.*columns _hoodie_commit_time, .*info"):
        filter_columns(filters, SCHEMA)


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        pytest.param(PART == "north", ["north"], id="equal"),
        pytest.param(PART != "north", ["south"], id="not_equal"),
        pytest.param(PART.isin(["south", "west"]), ["south"], id="one_of"),
        pytest.param((PART == "north") & (QTY > 5), ["north"], id="and_another_column"),
        pytest.param((PART == "north") | (QTY > 5), ["north", "south"], id="or_another_column"),
        pytest.param(QTY > 5, ["north", "south"], id="another_column"),
        pytest.param(PATH == "south", ["south"], id="by_path"),
    ],
)
def test_partitions_are_ruled_out_by_the_values_in_their_paths(
    filters: pc.Expression, kept: list[str]
) -> None:
    is_kept = partition_filter(filters, SCHEMA, config())
    assert [path for path in ("north", "south") if is_kept(path)] == kept


TIMESTAMPS = {"table__keygenerator__class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator"}
COMPLEX = {"table__keygenerator__class": "org.apache.hudi.keygen.ComplexKeyGenerator"}
# A filter, the path of a partition that it must keep, and settings of the table.
KEPT: dict[str, tuple[pc.Expression | None, str, dict[str, str]]] = {
    "no filter": (None, "anything", {}),
    "nulls in the default partition": (PART.is_null(), "__HIVE_DEFAULT_PARTITION__", {}),
    "empty texts in the default partition": (PART == "", "__HIVE_DEFAULT_PARTITION__", {}),
    "a path made from a timestamp": (PART == "1700000000000", "2023/11/14", TIMESTAMPS),
    "null meta columns": (PATH.is_null(), "north", {"populate__meta__fields": "false"}),
}


@pytest.mark.parametrize("what", KEPT)
def test_a_path_that_says_nothing_about_the_column_rules_nothing_out(what: str) -> None:
    filters, path, settings = KEPT[what]
    assert partition_filter(filters, SCHEMA, config(**settings))(path)


def test_a_column_that_no_file_holds_is_what_its_path_says() -> None:
    dropped = config(**TIMESTAMPS, datasource__write__drop__partition__columns="true")
    assert path_values("2023-11-14", SCHEMA, dropped)["part"].as_py() == "2023-11-14"
    assert not partition_filter(PART == "2023-11-15", SCHEMA, dropped)("2023-11-14")


def test_a_path_with_more_levels_than_fields_says_nothing_about_the_columns() -> None:
    two_fields = config(**COMPLEX, table__partition__fields="day,part")
    assert partition_filter(PART == "x", SCHEMA, two_fields)("2024/01/02/north")
    assert not partition_filter(PART == "x", SCHEMA, two_fields)("2024-01-02/north")


def test_path_values_have_the_types_of_their_columns() -> None:
    hive = {"datasource__write__hive_style_partitioning": "true"}
    settings = config(**COMPLEX, **hive, table__partition__fields="day,qty")
    values = path_values("day=2024-01-02/qty=7", SCHEMA, settings)
    found = {name: value.as_py() for name, value in values.items()}
    assert found == {"day": datetime.date(2024, 1, 2), "qty": 7}


def test_what_is_known_of_commit_times_rules_out_older_files() -> None:
    known = pc.field("_hoodie_commit_time") <= "20260102000000000"
    wanted = pc.field("_hoodie_commit_time") > "20260102000000000"
    assert not can_match(wanted, SCHEMA, known)
    assert can_match(wanted | (QTY > 0), SCHEMA, known)
