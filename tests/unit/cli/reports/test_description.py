"""What a table is: its columns, its properties."""

from pathlib import Path

from tests.support.console import Shell
from tests.support.golden import golden_table


def test_columns_are_told_with_what_they_are_for(pyhudi: Shell, table: Path) -> None:
    found = pyhudi.json("schema", table)
    roles = {each["column"]: each["role"] for each in found["columns"]}
    assert roles == {"id": "record key", "part": "partition", "ts": "ordering", "value": None}
    assert found["changes"] == []
    assert len(pyhudi.json("schema", table, "--meta")["columns"]) == 9


def test_each_change_of_the_schema_is_told_with_its_commit(pyhudi: Shell) -> None:
    table = golden_table("v6_cow_evolution")
    instants = [each["instant"] for each in pyhudi.json("timeline", table)["timeline"]]
    changes = pyhudi.json("schema", table)["changes"]
    assert {each["instant"] for each in changes} <= {*instants[1:]}
    assert any("is new" in each["change"] for each in changes)
    before = pyhudi.json("schema", table, "--as-of", instants[0])["columns"]
    assert len(before) < len(pyhudi.json("schema", table)["columns"])


def test_properties_are_told_and_secrets_hidden(pyhudi: Shell, table: Path) -> None:
    properties = table / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text() + "my.secret.key=hidden\n")
    found = pyhudi.json("options", table)
    said = {each["property"]: each["value"] for each in found["properties"]}
    assert said["hoodie.table.name"] == "orders"
    assert said["my.secret.key"] == "***"
    assert (found["record_key"], found["partitioned_by"]) == (["id"], ["part"])


def test_options_are_found_by_a_word(pyhudi: Shell, table: Path) -> None:
    found = pyhudi.json("options", table, "--find", "parquet.small.file")
    assert [each["option"] for each in found["options"]] == ["hoodie.parquet.small.file.limit"]
    assert found["properties"] == []
