"""Rows of a skeleton and its source meet by position, however either file is cut."""

from collections.abc import Iterable
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from pyhudi.basefile.condition import RowCondition
from pyhudi.basefile.orc.file import OrcReader
from pyhudi.basefile.parquet import ParquetReader
from pyhudi.errors import BootstrapSourceError
from pyhudi.fileslice.side_by_side import SideBySideReader
from pyhudi.schema.metafields import COMMIT_TIME, META_FIELDS, RECORD_KEY

KEY, VALUE = RECORD_KEY, "n"
SKELETON = pa.schema([pa.field(name, pa.string()) for name in META_FIELDS])


def parquet(rows: pa.Table, sizes: Iterable[int]) -> ParquetReader:
    """The rows in row groups of these sizes."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, rows.schema) as writer:
        start = 0
        for size in sizes:
            writer.write_table(rows.slice(start, size), row_group_size=max(size, 1))
            start += size
    return ParquetReader(sink.getvalue())


def skeleton_of(count: int) -> pa.Table:
    texts = {name: [f"{name}{n}" for n in range(count)] for name in META_FIELDS}
    return pa.table({**texts, KEY: [f"k{n:06d}" for n in range(count)]}, schema=SKELETON)


def source_of(count: int) -> pa.Table:
    return pa.table(
        {VALUE: pa.array(range(count), pa.int64()), "text": [f"k{n:06d}" for n in range(count)]}
    )


def beside(skeleton: ParquetReader, source: ParquetReader | OrcReader) -> SideBySideReader:
    return SideBySideReader(lambda: skeleton, lambda: source, name="the source")


@st.composite
def cuts(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two ways to cut one number of rows, at least one, into parts."""
    count = draw(st.integers(1, 40))
    inner = st.lists(st.integers(1, count), max_size=6)

    def sizes() -> list[int]:
        ends = [*sorted(set(draw(inner)) - {count}), count]
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]

    return sizes(), sizes()


@settings(max_examples=150, deadline=None)
@given(cuts(), st.integers(1, 11), st.data())
def test_each_row_meets_its_own_whatever_is_read(
    cut: tuple[list[int], list[int]], batch_rows: int, data: st.DataObject
) -> None:
    ours, theirs = cut
    count = sum(ours)
    both = beside(parquet(skeleton_of(count), ours), parquet(source_of(count), theirs))
    groups = data.draw(
        st.none() | st.lists(st.integers(0, len(theirs) - 1), unique=True).map(sorted)
    )
    columns = data.draw(st.permutations([KEY, VALUE, "text", COMMIT_TIME]))
    found = list(both.iter_tables(columns, groups, batch_rows=batch_rows))
    starts = [0, *accumulate(theirs)]
    chosen = range(len(theirs)) if groups is None else groups
    expected = [row for number in chosen for row in range(starts[number], starts[number + 1])]
    assert all(0 < each.num_rows <= batch_rows for each in found)
    assert all(each.column_names == columns for each in found)
    rows = [row for each in found for row in each.to_pylist()]
    assert [row[VALUE] for row in rows] == expected
    assert [row[KEY] for row in rows] == [row["text"] for row in rows]


@settings(max_examples=80, deadline=None)
@given(cuts(), st.integers(0, 40), st.integers(0, 40))
def test_filters_prune_by_both_files_and_lose_no_row(
    cut: tuple[list[int], list[int]], least: int, key: int
) -> None:
    ours, theirs = cut
    count = sum(ours)
    both = beside(parquet(skeleton_of(count), ours), parquet(source_of(count), theirs))
    asked = (pc.field(VALUE) >= least) & (pc.field(KEY) <= f"k{key:06d}")
    condition = RowCondition(expression=asked, columns=(KEY, VALUE), schema=both.schema)
    kept = both.matching_row_groups(condition)
    starts = [0, *accumulate(theirs)]
    meant = {row for row in range(count) if least <= row <= key}
    read = {row for n in kept for row in range(starts[n], starts[n + 1])}
    assert meant <= read
    by_value = {n for n in range(len(theirs)) if starts[n + 1] > least}
    assert set(kept) <= by_value
    tables = list(both.iter_tables([KEY, VALUE], kept))
    rows = pa.concat_tables(tables).filter(asked).to_pylist() if tables else []
    assert [row[VALUE] for row in rows] == sorted(meant)


def refuse() -> ParquetReader:
    raise AssertionError("nothing of this file is needed")


def test_the_source_is_opened_when_a_column_of_it_is_read() -> None:
    skeleton, source = parquet(skeleton_of(4), [4]), parquet(source_of(4), [2, 2])
    keys = SideBySideReader(lambda: skeleton, refuse, name="s")
    assert [t.num_rows for t in keys.iter_tables([KEY])] == [4]
    assert keys.row_count == 4
    assert keys.footer == skeleton.footer
    values = SideBySideReader(refuse, lambda: source, name="s")
    above = RowCondition(expression=pc.field(VALUE) > 1, columns=(VALUE,), schema=source.schema)
    assert values.matching_row_groups(above) == [1]


def test_a_condition_on_a_column_that_neither_has_prunes_nothing() -> None:
    both = beside(parquet(skeleton_of(4), [4]), parquet(source_of(4), [2, 2]))
    schema = pa.schema([*both.schema, pa.field("part", pa.string())])
    part = RowCondition(expression=pc.field("part") == "x", columns=("part",), schema=schema)
    assert both.matching_row_groups(part) == [0, 1]


@pytest.mark.parametrize("groups", [None, [0], []], ids=["all groups", "one", "none"])
@pytest.mark.parametrize("columns", [[KEY, VALUE], [VALUE], None], ids=["some", "data", "all"])
def test_no_row_is_given_where_there_are_not_as_many(
    columns: list[str] | None, groups: list[int] | None
) -> None:
    both = beside(parquet(skeleton_of(5), [5]), parquet(source_of(4), [4]))
    with pytest.raises(BootstrapSourceError, match="the source has 4 rows, and had 5"):
        list(both.iter_tables(columns, groups))


def test_keys_of_chosen_row_groups_are_counted_by_the_source() -> None:
    both = beside(parquet(skeleton_of(5), [2, 3]), parquet(source_of(5), [1, 4]))
    assert pa.concat_tables(both.iter_tables([KEY], [0])).to_pylist() == [{KEY: "k000000"}]
    with pytest.raises(BootstrapSourceError, match="has 6 rows"):
        list(
            beside(parquet(skeleton_of(5), [5]), parquet(source_of(6), [6])).iter_tables([KEY], [0])
        )


def test_stripes_of_an_orc_source_are_its_row_groups() -> None:
    sink = pa.BufferOutputStream()
    with orc.ORCWriter(sink, stripe_size=1, batch_size=3) as writer:
        for start in (0, 3, 6):
            writer.write(source_of(8).slice(start, 3))
    source = OrcReader(sink.getvalue())
    assert list(source.group_rows) == [3, 3, 2]
    both = beside(parquet(skeleton_of(8), [4, 4]), source)
    rows = pa.concat_tables(both.iter_tables([VALUE, KEY], [1, 2])).to_pylist()
    assert rows == [{VALUE: n, KEY: f"k{n:06d}"} for n in range(3, 8)]


def test_files_without_rows_give_none() -> None:
    both = beside(parquet(skeleton_of(0), [0]), parquet(source_of(0), [0]))
    assert sum(t.num_rows for t in both.iter_tables([KEY, VALUE])) == 0
    assert both.row_count == 0
