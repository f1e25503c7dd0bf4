"""``pyhudi schema`` and ``pyhudi options``: what a table is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyhudi.cli.opening import open_given, subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report, Value
from pyhudi.cli.writes import told_by
from pyhudi.config.access.secret import HIDDEN, is_secret
from pyhudi.config.known import MODULES
from pyhudi.config.reference import declarations
from pyhudi.schema import avro
from pyhudi.schema.arrow import avro_to_arrow
from pyhudi.schema.evolution.changes import schema_changes
from pyhudi.schema.metafields import META_FIELDS, without_meta_avro
from pyhudi.table.table import Table

_COLUMNS = (
    Column(name="column", least=12),
    Column(name="type", least=20),
    Column(name="nullable"),
    Column(name="role"),
)
_CHANGES = (
    Column(name="instant", kind=Kind.INSTANT),
    Column(name="operation"),
    Column(name="change", least=24),
)
_PROPERTIES = (Column(name="property", least=30), Column(name="value", least=20))
_OPTIONS = (
    Column(name="option", least=30),
    Column(name="default", least=10),
    Column(name="meaning", least=20),
)


def schema(given: argparse.Namespace) -> Report:
    """The columns of a table, and how its commits changed them."""
    table = open_given(given)
    found = table.schema(as_of=given.as_of)
    own = [field for field in found if given.meta or field.name not in META_FIELDS]
    rows = tuple(
        (field.name, str(field.type), field.nullable, _role(table, field.name)) for field in own
    )
    changed = tuple(_changes(table))
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        grids=(
            Grid(name="columns", columns=_COLUMNS, rows=rows, empty="it has none yet"),
            Grid(
                name="changes",
                columns=_CHANGES,
                rows=changed,
                empty="none on the active timeline",
            ),
        ),
    )


def options(given: argparse.Namespace) -> Report:
    """What hoodie.properties says, and what options of pyhudi mean."""
    table = open_given(given)
    config = table.config
    word = (given.find or "").lower()
    said = tuple(
        (key, HIDDEN if is_secret(key, value) else value)
        for key, value in sorted(config.raw.items())
        if word in key.lower()
    )
    grids = [Grid(name="properties", columns=_PROPERTIES, rows=said)]
    if given.find is not None:
        known = tuple(_known(word))
        grids.append(Grid(name="options", columns=_OPTIONS, rows=known, empty="no such option"))
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            Fact(name="table_version", value=config.version.value),
            Fact(name="record_key", value=config.record_key_fields),
            Fact(name="partitioned_by", value=config.partition_fields),
            Fact(name="ordered_by", value=config.ordering_fields),
        ),
        grids=tuple(grids),
        notes=() if given.find is not None else ("--find WORD tells what options mean.",),
    )


def _role(table: Table, name: str) -> str | None:
    """What a column is for, beside holding values."""
    config = table.config
    roles = (
        ("record key", config.record_key_fields),
        ("partition", config.partition_fields),
        ("ordering", config.ordering_fields),
    )
    return ", ".join(role for role, fields in roles if name in _tops(fields)) or None


def _tops(fields: Sequence[str]) -> set[str]:
    return {field.partition(".")[0] for field in fields}


def _changes(table: Table) -> Iterator[tuple[Value, ...]]:
    """Each change of the schema, with the commit that made it."""
    before: pa.Schema | None = None
    for told in told_by(table, table.timeline.write_instants().completed()):
        text = None if told.commit is None or told.is_service else told.commit.schema_text
        if not text:
            continue
        after = avro_to_arrow(without_meta_avro(avro.parse(text)))
        found: tuple[str, ...] = () if before is None else schema_changes(before, after)
        yield from ((told.instant.time, told.operation, change) for change in found)
        before = after


def _known(word: str) -> Iterator[tuple[Value, ...]]:
    """The options that have a word in key or meaning."""
    for module in MODULES:
        for option, meaning in declarations(module):
            keys = (option.key, *option.aliases)
            if any(word in text.lower() for text in (*keys, meaning)):
                default = option.default
                shown = None if default is None else str(getattr(default, "value", default))
                yield option.key, shown, meaning
