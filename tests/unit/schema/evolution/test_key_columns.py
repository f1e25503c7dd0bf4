import pyarrow as pa
import pytest

from pyhudi.config.options.evolution import EvolutionConfig
from pyhudi.errors import SchemaError
from pyhudi.schema.evolution.key_columns import check_keys_keep, check_order_keeps, check_types_stay


def _schema(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema(list(fields))


@pytest.mark.parametrize(
    ("found", "wanted", "is_alike"),
    [
        (pa.int32(), pa.int64(), True),
        (pa.int64(), pa.string(), True),
        (pa.decimal128(4, 1), pa.decimal128(6, 1), False),
        (pa.int32(), pa.float64(), False),
        (pa.binary(), pa.string(), False),
    ],
    ids=str,
)
def test_key_columns_keep_their_words(found, wanted, is_alike):
    batch, written = _schema(("id", found)), _schema(("id", wanted))
    if is_alike:
        check_keys_keep(["id"], batch, written, written)
        check_keys_keep(["id"], written, written, batch)
        return
    with pytest.raises(SchemaError, match="column id is part of the key"):
        check_keys_keep(["id"], batch, written, written)
    with pytest.raises(SchemaError, match="column id is part of the key"):
        check_keys_keep(["id"], written, written, batch)


def test_an_ordering_column_does_not_become_text():
    check_order_keeps(["ts"], _schema(("ts", pa.int64())), _schema(("ts", pa.int32())))
    with pytest.raises(SchemaError, match="ordering column ts would become string"):
        check_order_keeps(["ts"], _schema(("ts", pa.string())), _schema(("ts", pa.int32())))


_ROLES = {"a record key": ["s.id"], "a partition column": ["p"], "an ordering column": ["ts"]}
_STORED = _schema(("s", pa.struct([("id", pa.int64())])), ("p", pa.int32()), ("ts", pa.int32()))


@pytest.mark.parametrize(
    ("name", "kind", "role"),
    [
        ("s", pa.struct([("id", pa.string())]), "s.id is string .* int64 .* a record key"),
        ("p", pa.string(), "p is string .* int32 .* a partition column"),
        ("ts", pa.int64(), "ts is int64 .* int32 .* an ordering column"),
    ],
)
def test_what_a_table_rests_on_keeps_its_type_unless_just_that_is_allowed(name, kind, role):
    place = _STORED.get_field_index(name)
    written = _STORED.set(place, pa.field(name, kind))
    with pytest.raises(SchemaError, match=role) as caught:
        check_types_stay(_ROLES, written, _STORED, EvolutionConfig())
    assert "pyhudi.schema.allow.key.type.change=true" in str(caught.value)
    for allowing in (EvolutionConfig(changes_key_types=True), EvolutionConfig(write_schema="{}")):
        check_types_stay(_ROLES, written, _STORED, allowing)


def test_other_columns_and_new_ones_are_free_to_change():
    written = pa.schema([*_STORED, pa.field("more", pa.string())])
    check_types_stay({"a record key": ["more", "none"]}, written, _STORED, EvolutionConfig())
