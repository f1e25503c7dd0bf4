import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.basefile.encoding import dictionary_columns, joined, repeating_texts, stored_schema

_TEXT = pa.dictionary(pa.int32(), pa.string())


def test_values_that_repeat_get_a_dictionary_and_keys_never_do():
    rows = pa.table(
        {
            "_hoodie_commit_seqno": ["x"] * 100,
            "_hoodie_record_key": ["k"] * 100,
            "few": [i % 5 for i in range(100)],
            "many": list(range(100)),
            "nulls": pa.nulls(100, pa.string()),
        }
    )
    assert dictionary_columns(rows.schema, [rows]) == ["few", "nulls"]


def test_nested_columns_are_named_by_their_leaves():
    schema = pa.schema(
        [
            ("l", pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))),
            ("m", pa.map_(pa.string(), pa.int32())),
        ]
    )
    leaves = ["l.list.element.a", "l.list.element.b", "m.key_value.key", "m.key_value.value"]
    assert dictionary_columns(schema, []) == leaves


def test_text_that_comes_encoded_is_stored_from_its_dictionary():
    schema = pa.schema([("_hoodie_file_name", pa.string()), ("a", pa.string()), ("b", pa.string())])
    encoded = pa.array(["x"]).dictionary_encode()
    first = pa.table({"_hoodie_file_name": ["f"], "a": encoded, "b": ["y"]})
    assert stored_schema(schema, [first]).types == [_TEXT, _TEXT, pa.string()]


def test_plain_and_encoded_columns_are_joined_to_one_type():
    plain = pa.chunked_array([["a", None]])
    encoded = pa.chunked_array([pa.array(["b"]).dictionary_encode()])
    wide = pa.chunked_array([pa.array(["c"], pa.dictionary(pa.int8(), pa.string()))])
    for kind in (_TEXT, pa.string()):
        found = joined([plain, encoded, wide], kind)
        assert (found.type, found.to_pylist()) == (kind, ["a", None, "b", "c"])


def test_texts_repeat_that_all_row_groups_hold_with_a_dictionary():
    """Not where a dictionary was given up, nor where there is none, however few the texts."""
    count = 20_000
    texts = {
        "few": ["red", "blue"] * (count // 2),
        "plain": [None, None, None, "a"] * (count // 4),
        "later": ["red"] * (count // 2) + [f"a long text {n}" for n in range(count // 2)],
    }
    sink = pa.BufferOutputStream()
    sizes = {"row_group_size": count // 2, "dictionary_pagesize_limit": 1000}
    pq.write_table(pa.table(texts), sink, use_dictionary=["few", "later"], **sizes)
    footer = pq.read_metadata(pa.BufferReader(sink.getvalue()))
    assert repeating_texts(footer, [0, 1], texts) == {"few"}
    assert repeating_texts(footer, [0], texts) == {"few", "later"}
    assert repeating_texts(footer, [0], ["later"]) == {"later"}
