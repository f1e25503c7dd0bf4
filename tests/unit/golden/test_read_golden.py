"""Every table that Hudi wrote reads to the rows that Hudi reads from it."""

import json

import pyarrow.compute as pc
import pytest

import pyhudi
from pyhudi.schema.metafields import FILE_NAME, META_FIELDS
from tests.support.golden import (
    expected_rows,
    golden_names,
    golden_queries,
    golden_table,
    row_texts,
    without,
)

# What Hudi gives in these columns, and why it is not given here:
#
# * in a table without meta columns Hudi leaves them out of the rows; here they are null;
# * an incremental query of 0.15 gives null for a partition column that only the path has;
# * 0.15 gives text out of the path for the column of a timestamp-based key generator, or in an
#   incremental query the number in the file; 1.1.1 always gives the number as text, which for the
#   snapshot is the expected row;
# * an incremental query of 1.1 gives a partition value as the path has it, escapes and all.
DIFFERENT_COLUMNS = {
    ("v6_cow_no_meta_fields", "snapshot"): META_FIELDS,
    ("v6_cow_no_meta_fields", "time"): META_FIELDS,
    ("v6_cow_drop_partition_columns", "incremental"): ("part",),
    ("v6_cow_timestamp_keygen", "time"): ("moment",),
    ("v6_cow_timestamp_keygen", "incremental"): ("moment",),
    ("v9_cow_no_meta_fields", "snapshot"): META_FIELDS,
    ("v9_cow_no_meta_fields", "time"): META_FIELDS,
    ("v9_cow_odd_partitions", "incremental"): ("part",),
}

# Where files of the range were cleaned, 1.0.2 looks through the latest files instead, which have
# nothing of rows that changed again since. Here such rows are as they were at the end of the range.
MORE_ROWS = {("v8_cow_from_v6", "incremental_20261121104900101_20261121104908676"): 6}

QUERIES = [
    pytest.param(name, query, id=f"{name}-{query}")
    for name in golden_names()
    for query in golden_queries(name)
    if (name, query) not in MORE_ROWS
]


def read(name: str, query: str) -> list[str]:
    """The row texts of a query named as its file of expected rows."""
    kind, _, instants = query.rpartition("_") if query.startswith("time") else (query, "", "")
    if kind == "time_travel":
        asked = {"as_of": instants}
    elif query.startswith("incremental"):
        begin, _, end = query.removeprefix("incremental_").partition("_")
        if name.startswith("v8"):
            begin = str(int(begin) - 1)  # 1.0.2, which read these, begins with the begin itself
        asked = {"query_type": "incremental", "begin": begin, "end": end or None}
    else:
        asked = {"query_type": query}
    return row_texts(pyhudi.read_table(golden_table(name), **asked))


@pytest.mark.parametrize(("name", "query"), QUERIES)
def test_a_table_of_hudi_reads_to_its_rows(name: str, query: str) -> None:
    found, expected = read(name, query), expected_rows(name, query)
    left_out = DIFFERENT_COLUMNS.get((name, query.split("_")[0]), ())
    assert without(found, *left_out) == without(expected, *left_out)
    assert left_out or found == expected


@pytest.mark.parametrize(("name", "query"), sorted(MORE_ROWS))
def test_rows_that_changed_since_the_end_of_a_range_are_as_they_were(name: str, query: str) -> None:
    found, expected = (
        {json.loads(row)["id"]: row for row in rows}
        for rows in (read(name, query), expected_rows(name, query))
    )
    assert len(found) == len(expected) + MORE_ROWS[name, query]
    assert {without([row], FILE_NAME)[0] for row in expected.values()} <= {
        without([row], FILE_NAME)[0] for row in found.values()
    }


MERGED = tuple(name for name in golden_names() if "_mor_" in name)


@pytest.mark.parametrize("name", MERGED)
def test_batches_of_a_merge_on_read_table_hold_its_rows(name: str) -> None:
    assert row_texts(pyhudi.read_batches(golden_table(name)).read_all()) == expected_rows(name)


# Others have columns of their own.
ORDERS = [
    name
    for name in MERGED
    if name != "v9_mor_multi" and not name.startswith(("v9_mor_types", "v9_mor_ntz"))
]


@pytest.mark.parametrize("column", ["note", "price", "_hoodie_commit_time"])
@pytest.mark.parametrize("name", ORDERS)
def test_one_column_of_merged_rows_can_be_read_alone(name: str, column: str) -> None:
    found = pyhudi.read_table(golden_table(name), columns=[column])
    assert row_texts(found) == row_texts(pyhudi.read_table(golden_table(name)).select([column]))


@pytest.mark.parametrize(
    "filters",
    [
        pytest.param((pc.field("ts") > 1500) | (pc.field("note") == "second"), id="values"),
        pytest.param((pc.field("part") == "north") & (pc.field("qty") > 5), id="partition"),
        pytest.param(pc.field("_hoodie_commit_time") > "202611211050", id="commit_time"),
    ],
)
@pytest.mark.parametrize("name", ORDERS)
def test_columns_and_filters_apply_to_merged_rows(name: str, filters: pc.Expression) -> None:
    columns = ["note", "id"]
    found = pyhudi.read_table(golden_table(name), columns=columns, filters=filters)
    every = pyhudi.read_table(golden_table(name))
    assert row_texts(found) == row_texts(every.filter(filters).select(columns))
