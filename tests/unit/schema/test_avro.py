import pytest

from pyhudi.errors import SchemaError
from pyhudi.schema.avro import dumps, is_name, parse, record_name, split_union


@pytest.mark.parametrize(
    ("table_name", "name", "namespace"),
    [
        ("flights", "flights_record", "hoodie.flights"),
        ("my table", "my__table_record", "hoodie.my__table"),
        ("1abc", "__abc_record", "hoodie.__abc"),
        ("a-b.c", "a__b__c_record", "hoodie.a__b__c"),
        ("ü1", "__1_record", "hoodie.__1"),
        ("9", "___record", "hoodie.__"),
        ("-x", "__x_record", "hoodie.__x"),
    ],
)
def test_record_is_named_after_the_table_as_hudi_does(table_name, name, namespace):
    assert record_name(table_name) == (name, namespace)


def test_schema_text_comes_back_as_it_was():
    fields = '[{"name":"b","type":"int"},{"name":"a","type":"int"}]'
    text = f'{{"type":"record","name":"é","fields":{fields}}}'
    assert dumps(parse(text)) == text


@pytest.mark.parametrize("text", ["", "{", '"int"', '{"type":"enum"}'])
def test_what_is_no_record_schema_is_refused(text):
    with pytest.raises(SchemaError, match="Avro"):
        parse(text)


@pytest.mark.parametrize("kind", [["null", "int"], ["int", "null"]])
def test_union_with_null_is_a_nullable_type_in_either_order(kind):
    assert split_union(kind, "c") == ("int", True)


def test_union_of_several_types_names_its_column():
    with pytest.raises(SchemaError, match=r"column who\.age is the Avro union"):
        split_union(["null", "int", "string"], "who.age")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a_1", True), ("_a", True), ("größe", True), ("1a", False), ("a b", False), ("", False)],
)
def test_field_names_are_those_avro_allows(text, expected):
    assert is_name(text) is expected
