"""The rule of a table, and what is refused before rows are merged by it."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from pyhudi.config.options.merging import (
    CUSTOM_PAYLOAD,
    DMS_PAYLOAD,
    NON_DEFAULTS_PAYLOAD,
    OVERWRITE_PAYLOAD,
    PARTIAL_UPDATE_PAYLOAD,
    DeleteMarker,
    MergeMode,
)
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.versions import TableVersion
from pyhudi.errors import OptionError, RequestError, UnsupportedError
from pyhudi.merge.resolve import bulk_rule, default_values, resolve_rule, stored_rule
from pyhudi.merge.rule import MergeRule
from tests.support.tasks import COMMIT_TIME, EVENT_TIME

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("s", pa.struct([("at", pa.date32())])),
        ("data", pa.binary()),
        ("ratio", pa.float64()),
        ("Op", pa.string()),
    ]
)
MARKER = DeleteMarker(field="Op", value="D")


def config_of(payload: str | None = None, *ordering: str, **more: Any) -> TableConfig:
    return TableConfig(
        name="t",
        table_type=TableType.COPY_ON_WRITE,
        version=TableVersion.SIX,
        payload_class=payload,
        ordering_fields=ordering,
        **more,
    )


def settled(config: TableConfig, schema: pa.Schema = SCHEMA, **more: Any) -> MergeRule:
    chosen: dict[str, Any] = {"defaults": {}, "is_merging": True, **more}
    return resolve_rule(config, schema, chosen.pop("given", schema.names), **chosen)


def test_without_wishes_an_ordering_field_means_event_time() -> None:
    assert settled(config_of(None, "ts")) == EVENT_TIME
    assert settled(config_of()) == COMMIT_TIME


def test_commit_time_orders_a_batch_unless_it_was_asked_for_by_its_own_name() -> None:
    assert settled(config_of(OVERWRITE_PAYLOAD, "ts")).ordering_fields == ("ts",)
    named = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
    assert settled(config_of(OVERWRITE_PAYLOAD, "ts", raw=named)).ordering_fields == ()


def test_commit_time_needs_no_ordering_values_but_the_column() -> None:
    settled(config_of(OVERWRITE_PAYLOAD, "ts"), given=["id"])
    with pytest.raises(RequestError, match="the ordering column when is not among"):
        settled(config_of(OVERWRITE_PAYLOAD, "when"))
    settled(config_of(OVERWRITE_PAYLOAD, "when"), is_merging=False)


def test_a_batch_may_lack_the_ordering_column_where_null_is_no_matter() -> None:
    settled(config_of(PARTIAL_UPDATE_PAYLOAD, "ts"), given=["id"])
    with pytest.raises(RequestError, match="ts"):
        settled(config_of(None, "ts"), given=["id"])


@pytest.mark.parametrize("path", ["s.at", "ts", "Op", "ratio"])
def test_what_has_an_order_may_order(path: str) -> None:
    assert settled(config_of(None, path)).ordering_fields == (path,)


@pytest.mark.parametrize("path", ["s", "data"])
def test_what_has_no_order_is_refused_with_its_type(path: str) -> None:
    kind = str(SCHEMA.field(path).type)[:6]
    with pytest.raises(RequestError, match=f"{path} has the type {kind}"):
        settled(config_of(None, path))


def test_dms_needs_its_column() -> None:
    assert settled(config_of(DMS_PAYLOAD, "ts")).mode is MergeMode.DMS
    with pytest.raises(RequestError, match="Op"):
        settled(config_of(DMS_PAYLOAD, "ts"), pa.schema([("id", pa.string()), ("ts", pa.int64())]))


def test_a_delete_marker_goes_with_the_rules_that_keep_whole_rows() -> None:
    assert settled(config_of(None, "ts", delete_marker=MARKER)).delete_marker == MARKER
    assert settled(config_of(delete_marker=MARKER)).delete_marker == MARKER
    assert settled(config_of(DMS_PAYLOAD, delete_marker=MARKER)).delete_marker is None
    for payload in (PARTIAL_UPDATE_PAYLOAD, NON_DEFAULTS_PAYLOAD):
        with pytest.raises(UnsupportedError, match=r"hoodie\.payload\.delete\.field"):
            settled(config_of(payload, delete_marker=MARKER))
    with pytest.raises(UnsupportedError, match="ratio, of the type double"):
        settled(config_of(delete_marker=DeleteMarker(field="ratio", value="1")))


def test_a_merger_that_is_not_there_is_refused() -> None:
    with pytest.raises(OptionError, match=r"no\.such:Merger"):
        settled(config_of(CUSTOM_PAYLOAD, custom_merger="no.such:Merger"))


def test_a_bulk_insert_combines_by_ordering_value_and_writes_deletes() -> None:
    config = config_of(OVERWRITE_PAYLOAD, "ts")
    rule = bulk_rule(settled(config), config)
    assert (rule.mode, rule.ordering_fields) == (MergeMode.EVENT_TIME, ("ts",))
    assert rule.deleted(pa.table({"ts": [1], "_hoodie_is_deleted": [True]})) is None


def test_defaults_are_those_that_are_numbers_or_booleans() -> None:
    fields = [
        {"name": "id", "type": "string"},
        {"name": "a", "type": ["null", "int"], "default": None},
        {"name": "b", "type": ["int", "null"], "default": 7},
        {"name": "c", "type": ["boolean", "null"], "default": False},
        {"name": "d", "type": ["string", "null"], "default": "none"},
    ]
    avro = {"type": "record", "fields": fields}
    assert default_values(avro) == {"b": 7, "c": False}
    assert default_values(None) == {}
    assert settled(config_of(NON_DEFAULTS_PAYLOAD, "ts"), defaults={"b": 7}).defaults == {"b": 7}
    assert settled(config_of(None, "ts"), defaults={"b": 7}).defaults == {}


def stored(payload: str | None, *ordering: str, **more: Any) -> MergeRule:
    return stored_rule(config_of(payload, *ordering, **more), SCHEMA, defaults={"ratio": 1.0})


def test_what_is_stored_is_merged_by_the_tables_own_rule() -> None:
    assert stored(None, "ts") == EVENT_TIME
    assert stored(OVERWRITE_PAYLOAD, "ts") == COMMIT_TIME
    partial = replace(EVENT_TIME, mode=MergeMode.PARTIAL_UPDATE)
    assert stored(PARTIAL_UPDATE_PAYLOAD, "ts") == partial
    by_defaults = MergeRule(mode=MergeMode.NON_DEFAULTS, defaults={"ratio": 1.0})
    assert stored(NON_DEFAULTS_PAYLOAD, "ts") == by_defaults
    assert stored(DMS_PAYLOAD, "ts", delete_marker=MARKER) == MergeRule(mode=MergeMode.DMS)
    marked = replace(EVENT_TIME, delete_marker=MARKER)
    assert stored(None, "ts", delete_marker=MARKER) == marked


def test_an_ordering_column_that_the_table_has_not_orders_nothing_stored() -> None:
    assert stored(None, "nowhere") == COMMIT_TIME
    assert stored(None, "nowhere", "s.at") == replace(EVENT_TIME, ordering_fields=("s.at",))
