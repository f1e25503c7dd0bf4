"""``pyhudi files``: the file slices that hold a table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pyhudi.cli.opening import open_given, subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report, Value
from pyhudi.config.instant_text import normalise_instant
from pyhudi.errors import RequestError
from pyhudi.filegroup.slices import FileSlice, GroupId, RowSource
from pyhudi.read.retention import refuse_unreadable
from pyhudi.table.table import Table

_SLICES = (
    Column(name="partition", least=12),
    Column(name="file_id", least=20),
    Column(name="slice", kind=Kind.INSTANT),
    Column(name="base", kind=Kind.SIZE),
    Column(name="logs", kind=Kind.COUNT),
    Column(name="log_bytes", kind=Kind.SIZE),
    Column(name="older", kind=Kind.COUNT, rank=1),
    Column(name="pending", rank=2),
)
_SOURCES = (Column(name="source", kind=Kind.SIZE), Column(name="source_file", least=24, rank=3))
"""Of tables whose rows lie in part where they were bootstrapped from."""


def files(given: argparse.Namespace) -> Report:
    """The latest slice of every file group, or those as of an instant."""
    table = open_given(given)
    partitions = _partitions(table, given.partition)
    as_of = None
    if given.as_of is not None:
        as_of = normalise_instant(given.as_of, table.config.timezone)
        refuse_unreadable(table, as_of)
    found = table.files(partitions)
    slices = found.latest_slices(as_of)
    shown = slices[: given.limit] if given.limit else slices
    kept = {group.id: len(group.slices) - 1 for group in found.file_groups()}
    pending = _pending(table)
    bases = [each.base_file for each in slices if each.base_file is not None]
    logs = [log for each in slices for log in each.log_files]
    sources = [base.source for base in bases if base.source is not None]
    notes: tuple[str, ...] = ()
    if len(shown) < len(slices):
        notes = (f"The first {len(shown):,} of {len(slices):,} slices; --limit 0 shows all.",)
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            Fact(name="partitions", value=len({e.partition for e in slices}), kind=Kind.COUNT),
            Fact(name="slices", value=len(slices), kind=Kind.COUNT),
            Fact(name="base_files", value=len(bases), kind=Kind.COUNT),
            Fact(name="base_bytes", value=sum(e.size_bytes for e in bases), kind=Kind.SIZE),
            Fact(name="log_files", value=len(logs), kind=Kind.COUNT),
            Fact(name="log_bytes", value=sum(e.size_bytes for e in logs), kind=Kind.SIZE),
            *source_facts(sources),
        ),
        grids=(
            Grid(
                name="file_slices",
                columns=(*_SLICES, *(_SOURCES if sources else ())),
                rows=tuple(
                    (*_row(each, kept, pending), *(_source(each) if sources else ()))
                    for each in shown
                ),
                empty="the table has no files",
            ),
        ),
        notes=notes,
    )


def _row(
    found: FileSlice, kept: dict[GroupId, int], pending: dict[GroupId, str]
) -> tuple[Value, ...]:
    group = found.partition, found.file_id
    return (
        found.partition,
        found.file_id,
        found.base_instant,
        None if found.base_file is None else found.base_file.size_bytes,
        len(found.log_files),
        sum(log.size_bytes for log in found.log_files) or None,
        kept.get(group, 0),
        pending.get(group),
    )


def source_facts(sources: Sequence[RowSource]) -> tuple[Fact, ...]:
    """How many files outside a table have rows of it, and their bytes; nothing where none has."""
    if not sources:
        return ()
    total = sum(each.size_bytes for each in sources)
    return (
        Fact(name="source_files", value=len(sources), kind=Kind.COUNT),
        Fact(name="source_bytes", value=total, kind=Kind.SIZE),
    )


def _source(found: FileSlice) -> tuple[Value, ...]:
    source = None if found.base_file is None else found.base_file.source
    return (None, None) if source is None else (source.size_bytes, source.uri)


def _pending(table: Table) -> dict[GroupId, str]:
    """What is about to be done to file groups."""
    compacted = {group: f"compaction {at}" for group, at in table.pending_compactions().items()}
    return dict.fromkeys(table.clustered_groups(), "clustering") | compacted


def _partitions(table: Table, asked: list[str] | None) -> list[str] | None:
    if not asked:
        return None
    there = table.partitions()
    strange = [each for each in asked if each not in there]
    if strange:
        shown = ", ".join(there[:5]) + (", ..." if len(there) > 5 else "")
        raise RequestError(
            f"the table has no partition {', '.join(strange)}; it has {shown or 'none'}",
            where=table.storage.uri,
        )
    return asked
