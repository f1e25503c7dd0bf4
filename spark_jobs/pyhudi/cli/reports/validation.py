"""``pyhudi validate``: whether a table holds together."""

from __future__ import annotations

import argparse
import time

from pyhudi.cli.history import has_archive
from pyhudi.cli.opening import open_given, subject_of, zone_of
from pyhudi.cli.progress import progress_bar
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report
from pyhudi.cli.validation.findings import Grade
from pyhudi.cli.validation.validate import Scope, Validation, validate_table

_NOT_ARCHIVED = "Files were not held against archived commits; --archived does that too."
_FINDINGS = (
    Column(name="grade"),
    Column(name="what", least=10),
    Column(name="where", least=20),
    Column(name="detail", least=24),
)


def validate(given: argparse.Namespace) -> Report:
    """What is not as it must be, file by file."""
    table = open_given(given)
    scope = Scope(
        compares_keys=not given.no_keys,
        wants_unique=given.unique_keys,
        reads_archive=given.archived,
    )
    started = time.perf_counter()
    with progress_bar("looking into files") as progress:
        found = validate_table(table, scope, progress)
    seconds = time.perf_counter() - started
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=_facts(found, seconds),
        grids=(
            Grid(
                name="findings",
                columns=_FINDINGS,
                rows=tuple(
                    (each.grade.value, each.what, each.where, each.detail)
                    for each in found.findings
                ),
                empty="none; the table holds together",
            ),
        ),
        notes=(_NOT_ARCHIVED,) if has_archive(table) and not given.archived else (),
        has_findings=bool(found.count(Grade.ERROR) or found.count(Grade.ORPHAN)),
    )


def _facts(found: Validation, seconds: float) -> tuple[Fact, ...]:
    counts = (
        ("instants", found.instants),
        ("files", found.files),
        ("slices", found.slices),
        ("base_file_rows", found.rows),
        ("record_keys_compared", found.keys),
        ("errors", found.count(Grade.ERROR)),
        ("orphans", found.count(Grade.ORPHAN)),
        ("notes", found.count(Grade.NOTE)),
    )
    return (
        *(Fact(name=name, value=value, kind=Kind.COUNT) for name, value in counts),
        Fact(name="bytes", value=found.size_bytes, kind=Kind.SIZE),
        Fact(name="took", value=round(seconds, 2), kind=Kind.SECONDS),
    )
