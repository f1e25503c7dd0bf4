"""``pyhudi head`` and ``pyhudi count``: a few rows, and how many there are."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pyarrow as pa

from pyhudi.cli.cells import counted
from pyhudi.cli.opening import open_given, subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report
from pyhudi.config.read import ReadConfig
from pyhudi.errors import OptionError
from pyhudi.filegroup.slices import BaseFile, FileSlice
from pyhudi.fileslice.opener import open_base
from pyhudi.read.query import ReadPlan, plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.schema.metafields import META_FIELDS, RECORD_KEY
from pyhudi.schema.row_json import row_json
from pyhudi.table.table import Table

_THREADS = 8
_MOST_ROWS = 10_000
_COUNTED = (Column(name="partition", least=12), Column(name="rows", kind=Kind.COUNT))


def head(given: argparse.Namespace) -> Report:
    """The first rows that are at hand: of one file, as a rule, and of one batch of it."""
    table = open_given(given)
    if not 0 < given.rows <= _MOST_ROWS:
        raise OptionError(f"--rows is {given.rows}; allowed: 1 to {_MOST_ROWS:,}")
    plan = plan_read(table, _query(given, table), columns=_columns(given, table))
    rows = _first_rows(table, plan, given.rows)
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        grids=(
            Grid(
                name="rows",
                columns=tuple(_column(field) for field in rows.schema),
                rows=tuple(tuple(json.loads(row).values()) for row in row_json(rows).to_pylist()),
                empty="the table has none",
            ),
        ),
    )


def count(given: argparse.Namespace) -> Report:
    """How many rows the table has, by footers where they know."""
    table = open_given(given)
    plan = plan_read(table, _query(given, table), columns=[_cheapest_column(table)])
    with ThreadPoolExecutor(max_workers=_THREADS) as threads:
        by_footer = list(threads.map(lambda file: _rows_in(table, file), plan.files))
        merged = list(threads.map(lambda each: _merged_rows(table, plan, each), plan.slices))
    counts: Counter[str] = Counter()
    for file, rows in zip(plan.files, by_footer, strict=True):
        counts[file.partition] += rows
    for each, rows in zip(plan.slices, merged, strict=True):
        counts[each.partition] += rows
    how = f"the footers of {counted(len(plan.files), 'base file')}"
    if plan.slices:
        how += f", and the merged keys of {counted(len(plan.slices), 'slice')} with log files"
    grids: tuple[Grid, ...] = ()
    if given.by_partition:
        grids = (Grid(name="partitions", columns=_COUNTED, rows=tuple(sorted(counts.items()))),)
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            Fact(name="rows", value=counts.total(), kind=Kind.COUNT),
            Fact(name="counted_by", value=how),
        ),
        grids=grids,
    )


def _column(field: pa.Field) -> Column:
    is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    if is_number:
        return Column(name=field.name, kind=Kind.NUMBER)
    return Column(name=field.name, kind=Kind.DATA, least=20)


def _query(given: argparse.Namespace, table: Table) -> ReadConfig:
    return ReadConfig.of(
        query_type=given.query_type,
        as_of=given.as_of,
        custom_merger=given.custom_merger,
        zone=table.config.timezone,
    )


def _columns(given: argparse.Namespace, table: Table) -> list[str] | None:
    if given.columns:
        return [name.strip() for name in given.columns.split(",")]
    if given.meta:
        return None
    own = [name for name in table.schema().names if name not in META_FIELDS]
    return own or None


def _cheapest_column(table: Table) -> str:
    """A column that is read anyway where log files are merged: a key."""
    if table.config.populate_meta_fields or not table.config.record_key_fields:
        return RECORD_KEY
    return table.config.record_key_fields[0].partition(".")[0]


def _first_rows(table: Table, plan: ReadPlan, wanted: int) -> pa.Table:
    """The first rows of a plan: of base files that stand alone, which need no merge, at first."""
    files = (read_file(table.storage, plan, file) for file in plan.files)
    slices = (read_slice(table.storage, plan, each) for each in plan.slices)
    found: list[pa.Table] = []
    missing = wanted
    for rows in chain.from_iterable(chain(files, slices)):
        found.append(rows.slice(0, missing))
        missing -= found[-1].num_rows
        if missing <= 0:
            break
    return pa.concat_tables([plan.result_schema.empty_table(), *found])


def _rows_in(table: Table, file: BaseFile) -> int:
    with open_base(table.storage, file) as base:
        return base.row_count


def _merged_rows(table: Table, plan: ReadPlan, found: FileSlice) -> int:
    return sum(rows.num_rows for rows in read_slice(table.storage, plan, found))
