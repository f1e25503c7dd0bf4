"""Values are frozen: they pass between threads, executors and tests unchanged."""

import ast

from tests.support.source_tree import base_name, classes

FROZEN = {"frozen": True, "slots": True, "kw_only": True}

OTHERWISE = {
    "pyhudi/filegroup/listing.py:StorageListing": ({"kw_only"}, "one field, what it lists"),
    "pyhudi/timeline/timeline.py:Timeline": ({"kw_only"}, "one field, the instants"),
    "pyhudi/pipeline/stopwatch.py:Stage": ({"frozen"}, "state of a running stage, counted up"),
    "pyhudi/fileslice/logs.py:LogCounts": ({"frozen"}, "counted up while log files are read"),
    "pyhudi/write/files/handle.py:RowCounts": (
        {"frozen", "kw_only"},
        "state of an open handle, counted up while it writes",
    ),
    "pyhudi/write/files/append.py:_LogFile": (
        {"frozen", "kw_only"},
        "state of an open log file, counted up while it is written",
    ),
    "pyhudi/write/files/append.py:_Block": (
        {"frozen", "kw_only"},
        "what a block will hold, gathered until it is full",
    ),
}
"""Dataclasses that leave something out, what it is, and why."""

JSON_AS_IT_IS = {
    "pyhudi/write/context.py:WriteContext.avro_schema": "an Avro schema, as fastavro takes it"
}
"""Fields that hold a plain dict, and what is in it."""

MUTABLE = {"list", "dict", "set", "List", "Dict", "Set", "defaultdict", "Counter", "bytearray"}


def test_a_dataclass_is_frozen_has_slots_and_takes_keywords() -> None:
    found = {where: lacks for where, (_, lacks) in _dataclasses().items() if lacks}
    allowed = {where: lacks for where, (lacks, _) in OTHERWISE.items()}
    wrong = {where: lacks for where, lacks in found.items() if allowed.get(where) != lacks}
    assert not wrong, (
        f"these dataclasses lack {wrong}. A value is @dataclass(frozen=True, slots=True, "
        "kw_only=True); state belongs to handles, writers and transactions. List it in OTHERWISE "
        "with the reason if it must differ"
    )
    stale = sorted(set(OTHERWISE) - set(found))
    assert not stale, f"OTHERWISE lists dataclasses that are frozen by now or gone: {stale}"


def test_a_value_holds_no_collection_that_can_change() -> None:
    wrong = [
        f"{where}.{ast.unparse(field.target)}: {ast.unparse(field.annotation)}"
        for where, (node, _) in _dataclasses().items()
        if where not in OTHERWISE
        for field in node.body
        if isinstance(field, ast.AnnAssign)
        and base_name(field.annotation) in MUTABLE
        and f"{where}.{ast.unparse(field.target)}" not in JSON_AS_IT_IS
    ]
    assert not wrong, (
        f"these fields of values can be changed in place: {wrong}. Use tuple, frozenset or Mapping"
    )


def _dataclasses() -> dict[str, tuple[ast.ClassDef, set[str]]]:
    """Every dataclass by its place, with what it lacks of the three."""
    found = {}
    for where, node in classes():
        for decorator in node.decorator_list:
            if base_name(decorator) == "dataclass":
                given = {
                    keyword.arg: getattr(keyword.value, "value", None)
                    for keyword in getattr(decorator, "keywords", ())
                }
                lacks = {key for key, value in FROZEN.items() if given.get(key) is not value}
                found[where] = (node, lacks)
    return found
