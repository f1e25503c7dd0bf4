import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.config.options.evolution import EvolutionConfig, MissingColumns
from pyhudi.errors import SchemaError
from pyhudi.schema.arrow import arrow_to_avro, avro_to_arrow
from pyhudi.schema.avro import dumps, parse
from pyhudi.schema.evolution.promotion import can_become, can_widen
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.schema.evolution.writer_schema import check_compatible, written_schema
from tests.support.golden import golden_table


def _schema(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema(list(fields))


_TABLE = _schema(("id", pa.string()), ("n", pa.int32()), ("x", pa.float64()))


def test_batch_of_the_same_columns_is_written_in_the_tables_order():
    batch = _schema(("x", pa.float64()), ("id", pa.large_string()), ("n", pa.int32()))
    assert check_compatible(_TABLE, batch) == _TABLE


def test_added_column_comes_last_and_is_nullable():
    batch = pa.schema([*_TABLE, pa.field("new", pa.int16(), nullable=False)])
    assert check_compatible(_TABLE, batch) == pa.schema([*_TABLE, ("new", pa.int32())])


def test_missing_column_is_refused_unless_allowed():
    batch = _schema(("id", pa.string()), ("x", pa.float64()))
    with pytest.raises(SchemaError, match=r"column n \(int32\) is missing"):
        check_compatible(_TABLE, batch)
    assert check_compatible(_TABLE, batch, missing=MissingColumns.NULL) == _TABLE


def test_every_misfit_is_named_with_what_was_found_and_expected():
    batch = _schema(("id", pa.bool_()), ("n", pa.date32()), ("x", pa.float64()))
    with pytest.raises(SchemaError) as caught:
        check_compatible(_TABLE, batch)
    assert "column id is bool where the table has string" in str(caught.value)
    assert "column n is date32[day] where the table has int32" in str(caught.value)


def test_column_that_differs_by_case_alone_is_refused():
    with pytest.raises(SchemaError, match="column ID differs from the column id by case alone"):
        check_compatible(_TABLE, pa.schema([*_TABLE, ("ID", pa.string())]))


def test_nested_columns_grow_inside():
    table = _schema(("s", pa.list_(pa.struct([("a", pa.int32())]))))
    batch = _schema(("s", pa.list_(pa.struct([("b", pa.string()), ("a", pa.int64())]))))
    expected = _schema(("s", pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())]))))
    assert check_compatible(table, batch) == expected


def test_schema_of_the_evolved_table_is_what_hudi_committed():
    paths = sorted(
        golden_table("v6_cow_evolution").glob("north/*.parquet"), key=lambda p: p.name[-25:]
    )
    old, new = (
        avro_to_arrow(parse(pq.read_metadata(path).metadata[b"parquet.avro.schema"].decode()))
        for path in paths[:2]
    )
    assert check_compatible(old, new) == new


def _asked(*fields: pa.Field, missing: MissingColumns = MissingColumns.REFUSE) -> EvolutionConfig:
    text = dumps(arrow_to_avro(pa.schema(list(fields)), "t"))
    return EvolutionConfig(write_schema=text, missing=missing)


_ID = pa.field("id", pa.string())
_N = pa.field("n", pa.int32(), nullable=False)
_X = pa.field("x", pa.float64())


def test_requested_schema_is_the_tables_in_its_own_order_and_nullability():
    asked = (_X, _N, _ID, pa.field("new", pa.date32()))
    batch = _schema(("id", pa.string()), ("n", pa.int64()))
    assert written_schema(_TABLE, batch, _asked(*asked)) == pa.schema(asked)
    assert written_schema(pa.schema([]), batch, _asked(*asked)) == pa.schema(asked)


@pytest.mark.parametrize(
    ("asked", "batch", "words"),
    [
        ((_ID, _N), _TABLE, "column x .double. is missing"),
        ((_ID, _N, _X), pa.schema([*_TABLE, ("more", pa.string())]), "more .string. is not in it"),
        ((_ID, _N, _X), _schema(("id", pa.string())), "n .int32. is missing and may not be null"),
        ((_ID, _N, pa.field("x", pa.float32())), _TABLE, "narrows the table"),
        ((_ID, _N, _X), _schema(("id", pa.string()), ("n", pa.bool_())), "n is bool where int32"),
    ],
    ids=["drops", "lacks", "null", "narrows", "type"],
)
def test_requested_schema_that_would_lose_something_is_refused(asked, batch, words):
    with pytest.raises(SchemaError, match=words):
        written_schema(_TABLE, batch, _asked(*asked))


def test_requested_schema_may_drop_columns_when_told_to():
    config = _asked(_ID, _N, missing=MissingColumns.DROP)
    batch = _schema(("id", pa.string()), ("n", pa.int32()))
    assert written_schema(_TABLE, batch, config) == pa.schema([_ID, _N])


def test_requested_schema_that_is_no_schema_names_the_option():
    with pytest.raises(SchemaError, match=r"hoodie\.write\.schema"):
        written_schema(_TABLE, _TABLE, EvolutionConfig(write_schema="{}"))


def test_dropped_columns_leave_the_table_nested_ones_too():
    table = _schema(("id", pa.string()), ("s", pa.struct([("a", pa.int32()), ("b", pa.int32())])))
    batch = _schema(("s", pa.struct([("b", pa.int64())])), ("id", pa.string()))
    expected = _schema(("id", pa.string()), ("s", pa.struct([("b", pa.int64())])))
    assert check_compatible(table, batch, missing=MissingColumns.DROP) == expected


def test_reconciling_takes_the_order_of_rows_that_have_more_and_the_tables_otherwise():
    new = pa.field("new", pa.int32())
    config = EvolutionConfig(missing=MissingColumns.NULL, keeps_row_order=True)
    more = _schema(("x", pa.float32()), ("new", pa.int32()), ("n", pa.int32()), ("id", pa.string()))
    n = pa.field("n", pa.int32())
    assert written_schema(_TABLE, more, config) == pa.schema([_X, new, n, _ID])
    assert written_schema(_TABLE, _schema(("n", pa.int32())), config) == _TABLE
    with pytest.raises(SchemaError, match="the rows add new and lack"):
        written_schema(_TABLE, _schema(("new", pa.int32()), ("n", pa.int32())), config)


_SCALARS = (pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string())
_NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)
_COLUMNS = _NAMES.flatmap(
    lambda names: st.tuples(*(st.tuples(st.just(n), st.sampled_from(_SCALARS)) for n in names))
)


@given(_COLUMNS, _COLUMNS, st.sampled_from(MissingColumns))
def test_schema_is_the_tables_then_the_batchs_each_column_in_the_wider_type(table, batch, missing):
    known, given_columns = dict(table), dict(batch)
    lacking = known.keys() - given_columns.keys()
    if lacking and missing is MissingColumns.REFUSE:
        with pytest.raises(SchemaError, match="missing"):
            check_compatible(_schema(*table), _schema(*batch), missing=missing)
        return
    kept = [n for n in known if n not in lacking or missing is MissingColumns.NULL]
    expected = []
    for name in [*kept, *(n for n in given_columns if n not in known)]:
        types = {columns[name] for columns in (known, given_columns) if name in columns}
        expected.append((name, max(types, key=_SCALARS.index)))
    assert check_compatible(_schema(*table), _schema(*batch), missing=missing) == _schema(*expected)


def _plain(value: object, before: pa.DataType, after: pa.DataType) -> object:
    """What a value that was stored as one type reads as in another."""
    if value is None or before == after:
        return value
    if pa.types.is_string(after):
        return str(value)
    return float(value) if pa.types.is_floating(after) else value


@given(
    st.lists(st.sampled_from(_SCALARS), min_size=1, max_size=4),
    st.lists(st.none() | st.integers(1 - 10**6, 10**6 - 1)),
)
def test_old_values_read_in_the_type_that_writes_have_given_the_column(kinds, values):
    table = _schema(("c", kinds[0]))
    stored = pa.array([_plain(v, pa.int64(), kinds[0]) for v in values], kinds[0])
    for kind in kinds[1:]:
        table = check_compatible(table, _schema(("c", kind)))
    found = reconcile(pa.table({"c": stored}), table).column("c").to_pylist()
    kind = table.field("c").type
    assert found == [_plain(value, kinds[0], kind) for value in stored.to_pylist()]


@pytest.mark.parametrize("found", _SCALARS, ids=str)
@pytest.mark.parametrize("wanted", _SCALARS, ids=str)
def test_what_a_column_may_turn_into_its_values_may_become(found, wanted):
    assert can_become(found, wanted) or not can_widen(found, wanted)
