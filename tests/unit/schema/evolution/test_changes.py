import pyarrow as pa

from pyhudi.schema.evolution.changes import schema_changes

_ITEM = pa.struct([("a", pa.int32()), ("b", pa.string())])


def test_each_change_is_said_at_every_depth():
    before = pa.schema(
        [
            ("gone", pa.float64()),
            ("id", pa.string()),
            ("n", pa.int32()),
            ("s", _ITEM),
            ("list", pa.list_(_ITEM)),
            ("map", pa.map_(pa.string(), pa.int32())),
            pa.field("must", pa.string(), nullable=False),
        ]
    )
    wider = pa.struct([("b", pa.string()), ("a", pa.int64()), ("c", pa.date32())])
    after = pa.schema(
        [
            ("id", pa.string()),
            ("n", pa.int64()),
            ("s", wider),
            ("list", pa.list_(pa.struct([("a", pa.int32())]))),
            ("map", pa.map_(pa.string(), pa.string())),
            ("must", pa.string()),
            ("new", pa.string()),
        ]
    )
    assert schema_changes(before, after) == (
        "column gone (double) is dropped",
        "column n was int32 and is int64",
        "column s.a was int32 and is int64",
        "column s.c (date32[day]) is new",
        "the fields of s are in another order",
        "column list.element.b (string) is dropped",
        "column map.value was int32 and is string",
        "column must may be null now",
        "column new (string) is new",
    )


def test_columns_in_another_order_are_a_change_and_the_same_schema_is_none():
    schema = pa.schema([("id", pa.string()), ("n", pa.int32())])
    assert schema_changes(schema, schema) == ()
    turned = pa.schema(list(schema)[::-1])
    assert schema_changes(schema, turned) == ("the columns are in another order",)
