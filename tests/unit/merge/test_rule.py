"""Each rule of merging, held against a plain statement of it."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.config.options.merging import DeleteMarker, MergeMode, PartialUpdate
from pyhudi.errors import CorruptTableError, RequestError
from pyhudi.merge.partial import Filling
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.metafields import COMMIT_TIME, RECORD_KEY

Row = dict[str, Any]
SCHEMA = pa.schema(
    [
        (RECORD_KEY, pa.string()),
        ("ts", pa.int64()),
        ("a", pa.string()),
        ("b", pa.struct([("x", pa.int32())])),
        ("n", pa.int32()),
        ("Op", pa.string()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)


def rows_strategy(keys: str, *, least: int, ts: st.SearchStrategy[int | None]) -> Any:
    row = st.fixed_dictionaries(
        {
            RECORD_KEY: st.sampled_from(keys),
            "ts": ts,
            "a": st.sampled_from([None, "p", "q"]),
            "b": st.sampled_from([None, {"x": None}, {"x": 1}]),
            "n": st.sampled_from([None, 0, 7]),
            "Op": st.sampled_from([None, "I", "d", "D"]),
            "_hoodie_is_deleted": st.sampled_from([None, False, False, True]),
        }
    )
    return st.lists(row, min_size=least, max_size=30)


TS = st.integers(0, 3)
MAYBE_TS = st.one_of(st.none(), TS)
BATCH = rows_strategy("abcd", least=1, ts=TS)
ROW = rows_strategy("a", least=1, ts=MAYBE_TS).map(lambda rows: rows[0])
PAIRS = st.lists(st.tuples(ROW, ROW))


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def later(before: Row, after: Row) -> Row:
    return after


def newest(before: Row, after: Row) -> Row:
    return before if before["ts"] > after["ts"] else after


def filled(upper: Row, lower: Row) -> Row:
    return {name: lower[name] if value is None else value for name, value in upper.items()}


def newest_filled(before: Row, after: Row) -> Row:
    base, other = (before, after) if before["ts"] > after["ts"] else (after, before)
    return after if base["_hoodie_is_deleted"] else filled(base, other)


def softly(row: Row) -> bool:
    return row["_hoodie_is_deleted"] is True


def by_dms(row: Row) -> bool:
    return softly(row) or row["Op"] in ("d", "D")


def is_newer(stored: Row, incoming: Row) -> bool:
    return None not in (stored["ts"], incoming["ts"]) and stored["ts"] > incoming["ts"]


# What becomes of a stored row beside an incoming one: "kept", "deleted" or the row in its place.
def overwrite(stored: Row, incoming: Row) -> Row | str:
    return "deleted" if softly(incoming) else incoming


def event_time(stored: Row, incoming: Row) -> Row | str:
    return "kept" if is_newer(stored, incoming) else overwrite(stored, incoming)


def partial_update(stored: Row, incoming: Row) -> Row | str:
    if softly(incoming):
        return "deleted"
    if not is_newer(stored, incoming):
        return filled(incoming, stored)
    return "deleted" if softly(stored) else filled(stored, incoming)


def non_defaults(stored: Row, incoming: Row) -> Row | str:
    row = filled(incoming, stored)
    # The default of n is 7, so that it is 7 that is not set, and null is.
    row["n"] = stored["n"] if incoming["n"] == 7 else incoming["n"]
    return "deleted" if softly(incoming) else row


def dms(stored: Row, incoming: Row) -> Row | str:
    return "deleted" if by_dms(incoming) else incoming


class LongerText:
    """Keeps the older row where its text is longer, deletes where both have the same."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """The newer rows, with what becomes of them."""
        left, right = older.column("a").to_pylist(), newer.column("a").to_pylist()
        place = newer.schema.names.index("_hoodie_is_deleted")
        same = pa.array([a == b for a, b in zip(left, right, strict=True)])
        marked = newer.set_column(place, "_hoodie_is_deleted", same)
        keeps = [(a or "") > (b or "") for a, b in zip(left, right, strict=True)]
        return marked.append_column("_pyhudi_keeps_older", pa.array(keeps))


def longer_text(before: Row, after: Row) -> Row:
    if (before["a"] or "") > (after["a"] or ""):
        return before
    return {**after, "_hoodie_is_deleted": before["a"] == after["a"]}


def by_longer_text(stored: Row, incoming: Row) -> Row | str:
    found = longer_text(stored, incoming)
    if found is stored:
        return "kept"
    return "deleted" if softly(found) else found


def by_ts(mode: MergeMode, **more: Any) -> MergeRule:
    return MergeRule(mode=mode, ordering_fields=("ts",), **more)


Join = Callable[[Row, Row], Row]
CUSTOM = MergeRule(mode=MergeMode.CUSTOM, merger=f"{__name__}:LongerText")
RULES: dict[str, tuple[MergeRule, Join, Callable[[Row, Row], Row | str]]] = {
    "overwrite": (MergeRule(mode=MergeMode.COMMIT_TIME), later, overwrite),
    "event time": (by_ts(MergeMode.EVENT_TIME), newest, event_time),
    "partial update": (by_ts(MergeMode.PARTIAL_UPDATE), newest_filled, partial_update),
    "non-defaults": (by_ts(MergeMode.NON_DEFAULTS, defaults={"n": 7}), newest, non_defaults),
    "DMS": (by_ts(MergeMode.DMS), newest, dms),
    "DMS unordered": (MergeRule(mode=MergeMode.DMS), later, dms),
    "custom": (CUSTOM, longer_text, by_longer_text),
}


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=60)
@given(batch=BATCH)
def test_a_batch_is_combined_as_the_plain_rule_says(name: str, batch: list[Row]) -> None:
    rule, join, _ = RULES[name]
    expected: dict[str, Row] = {}
    for row in batch:
        before = expected.get(row[RECORD_KEY])
        expected[row[RECORD_KEY]] = row if before is None else join(before, row)
    rows = table(batch)
    found = rule.combine(rows, rows.column(RECORD_KEY)).to_pylist()
    assert len(found) == len(expected)
    assert {row[RECORD_KEY]: row for row in found} == expected


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=60)
@given(pairs=PAIRS)
def test_stored_rows_become_what_the_plain_rule_says(name: str, pairs: list[tuple[Row, Row]]):
    rule, _, mode = RULES[name]
    stored, incoming = table([pair[0] for pair in pairs]), table([pair[1] for pair in pairs])
    expected = [mode(old, new) for old, new in pairs]
    needed = stored.select(rule.columns_to_merge(stored.schema.names))
    found = rule.merge(needed, incoming)
    assert found.is_kept.tolist() == [row == "kept" for row in expected]
    assert found.is_deleted.tolist() == [row == "deleted" for row in expected]
    assert found.rows.to_pylist() == [row for row in expected if not isinstance(row, str)]
    assert found.rows.schema == incoming.schema


@settings(max_examples=60)
@given(batch=BATCH)
def test_without_ordering_field_a_partial_update_fills_the_later_row(batch: list[Row]) -> None:
    rule = MergeRule(mode=MergeMode.PARTIAL_UPDATE)
    expected: dict[str, Row] = {}
    for row in batch:
        before = expected.get(row[RECORD_KEY])
        is_whole = before is None or softly(row)
        expected[row[RECORD_KEY]] = row if is_whole else filled(row, before or {})
    rows = table(batch)
    found = rule.combine(rows, rows.column(RECORD_KEY)).to_pylist()
    assert {row[RECORD_KEY]: row for row in found} == expected


@pytest.mark.parametrize("name", ["partial update", "event time", "non-defaults", "DMS"])
def test_rows_of_one_key_without_ordering_value_are_refused(name: str) -> None:
    rows = table([{RECORD_KEY: "a", "ts": 1}, {RECORD_KEY: "a"}])
    with pytest.raises(RequestError, match="no value in the ordering column"):
        RULES[name][0].combine(rows, rows.column(RECORD_KEY))


def test_the_order_of_combined_rows_is_that_of_their_last_arrival() -> None:
    keys = pa.array(list("abcabda"))
    rows = pa.table({RECORD_KEY: keys, "n": pa.array(range(7))})
    rule = MergeRule(mode=MergeMode.PARTIAL_UPDATE)
    assert rule.combine(rows, keys).column(RECORD_KEY).to_pylist() == list("cbda")


def test_a_batch_that_was_not_to_be_combined_meets_stored_rows_as_one_a_key() -> None:
    rows = table([{RECORD_KEY: "a", "ts": 7, "a": "p"}, {RECORD_KEY: "a", "ts": 6, "n": 1}])
    keys = rows.column(RECORD_KEY)
    for name, wanted in {
        "event time": (7, "p", None),
        "overwrite": (6, None, 1),
        "partial update": (6, "p", 1),
        "non-defaults": (6, "p", 1),
    }.items():
        (found,) = RULES[name][0].combine(rows, keys, is_lookup=True).to_pylist()
        assert (found["ts"], found["a"], found["n"]) == wanted


def test_a_marker_deletes_beside_hudis_own_column() -> None:
    marks = [("D", None), ("d", False), (None, True), ("I", False)]
    rows = table([{"Op": mark, "_hoodie_is_deleted": gone} for mark, gone in marks])
    rule = MergeRule(mode=MergeMode.COMMIT_TIME, delete_marker=DeleteMarker(field="Op", value="D"))
    found = rule.deleted(rows)
    assert found is not None
    assert found.tolist() == [True, False, True, False]
    assert rule.deleted(rows.select(["ts"])) is None
    assert replace(rule, ignores_deletes=True).deleted(rows) is None


@pytest.mark.parametrize(
    ("column", "marker"), [(pa.array([0, 1, None]), "1"), (pa.array([False, True, None]), "true")]
)
def test_a_marker_may_be_a_number_or_a_boolean(column: pa.Array, marker: str) -> None:
    mark = DeleteMarker(field="gone", value=marker)
    rule = MergeRule(mode=MergeMode.COMMIT_TIME, delete_marker=mark)
    found = rule.deleted(pa.table({"gone": column}))
    assert found is not None
    assert found.tolist() == [False, True, False]


def test_a_column_of_hudis_name_and_another_type_deletes_nothing() -> None:
    rows = pa.table({"_hoodie_is_deleted": pa.array(["true"])})
    assert MergeRule(mode=MergeMode.COMMIT_TIME).deleted(rows) is None


def test_meta_columns_are_those_of_the_incoming_row() -> None:
    stored = pa.table({COMMIT_TIME: ["1"], "ts": [2], "a": ["s"]})
    incoming = pa.table({COMMIT_TIME: ["2"], "ts": [1], "a": pa.array([None], pa.string())})
    for name in ("partial update", "non-defaults"):
        found = replace(RULES[name][0], defaults={}).merge(stored, incoming).rows.to_pylist()
        assert [(row[COMMIT_TIME], row["a"]) for row in found] == [("2", "s")]


def test_stored_rows_may_be_dictionary_encoded() -> None:
    stored = pa.table({"ts": [1, 1], "a": pa.array(["s", "t"]).dictionary_encode()})
    incoming = pa.table({"ts": [2, 2], "a": pa.array([None, "i"])})
    found = RULES["partial update"][0].merge(stored, incoming).rows
    assert (found.column("a").to_pylist(), found.schema) == (["s", "i"], incoming.schema)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_travels_to_workers(name: str) -> None:
    rule = RULES[name][0]
    assert pickle.loads(pickle.dumps(rule)) == rule


def test_what_is_written_last_stands_without_asking_the_stored_row() -> None:
    asking = {mode for mode in MergeMode if MergeRule(mode=mode).asks_stored_rows}
    assert asking == set(MergeMode) - {MergeMode.COMMIT_TIME, MergeMode.DMS}


def test_a_rule_names_the_columns_by_which_rows_delete() -> None:
    marker = DeleteMarker(field="state", value="gone")
    assert MergeRule(mode=MergeMode.EVENT_TIME).deleting_columns == ("_hoodie_is_deleted",)
    found = MergeRule(mode=MergeMode.DMS, delete_marker=marker).deleting_columns
    assert found == ("_hoodie_is_deleted", "Op", "state")


UNSENT = "__debezium_unavailable_value"
EVENTS = {
    MergeMode.POSTGRES: ("_event_lsn", pa.int64(), 5, 4),
    # Positions are numbers: by their texts the ninth would be the later one.
    MergeMode.MYSQL: ("_event_seq", pa.string(), "000002.10", "000002.9"),
}


def event(mode: MergeMode, at: object, value: str | None, operation: str = "u") -> pa.Table:
    name, kind, *_ = EVENTS[mode]
    schema = pa.schema({name: kind, "a": pa.string(), "_change_operation_type": pa.string()})
    return pa.table([[at], [value], [operation]], schema=schema)


@pytest.mark.parametrize("mode", EVENTS)
def test_of_two_events_the_later_one_stands_and_may_delete(mode: MergeMode) -> None:
    rule, (*_, late, early) = MergeRule(mode=mode), EVENTS[mode]
    stored = event(mode, late, "s")
    for operation in "ud":
        merged = rule.merge(stored, event(mode, early, "i", operation))
        assert (merged.is_kept.tolist(), merged.is_deleted.tolist()) == ([True], [False])
    for below in (event(mode, early, "s"), stored, event(mode, None, "s")):
        merged = rule.merge(below, event(mode, late, "i"))
        assert merged.rows.column("a").to_pylist() == ["i"]
        assert rule.merge(below, event(mode, late, "i", "D")).is_deleted.tolist() == [True]


@pytest.mark.parametrize("mode", EVENTS)
def test_what_postgres_did_not_send_is_that_of_the_stored_row(mode: MergeMode) -> None:
    *_, late, early = EVENTS[mode]
    merged = MergeRule(mode=mode).merge(event(mode, early, "s"), event(mode, late, UNSENT))
    found = "s" if mode is MergeMode.POSTGRES else UNSENT
    assert merged.rows.column("a").to_pylist() == [found]


def test_a_place_in_a_log_of_mysql_that_is_none_is_named() -> None:
    rule = MergeRule(mode=MergeMode.MYSQL)
    odd = event(MergeMode.MYSQL, "here.there", "s")
    with pytest.raises(CorruptTableError, match="_event_seq"):
        rule.merge(odd, odd)


def test_rows_of_one_key_in_a_batch_fill_each_other_where_the_table_says_so() -> None:
    filling = Filling(kind=PartialUpdate.IGNORE_DEFAULTS)
    rule = MergeRule(mode=MergeMode.EVENT_TIME, ordering_fields=("ts",), filling=filling)
    lines = [("k", 7, None, 1), ("k", 6, "older", 2), ("l", 1, "x", 3), ("k", 8, None, None)]
    rows = table(
        [{RECORD_KEY: key, "ts": ts, "a": a, "n": n, "Op": None} for key, ts, a, n in lines]
    )
    found = rule.combine(rows, rows.column(RECORD_KEY)).select([RECORD_KEY, "ts", "a", "n"])
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == [
        ("k", 8, "older", 1),
        ("l", 1, "x", 3),
    ]


def test_of_a_batch_the_event_at_the_later_place_of_a_log_of_mysql_stands() -> None:
    rule = MergeRule(mode=MergeMode.MYSQL, ordering_fields=("_event_seq",))
    rows = pa.concat_tables(
        [event(MergeMode.MYSQL, "2.10", "late"), event(MergeMode.MYSQL, "2.9", "early")]
    )
    found = rule.combine(rows, pa.chunked_array([["k", "k"]]))
    assert found.column("a").to_pylist() == ["late"]
