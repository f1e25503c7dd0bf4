"""``pyhudi upgrade`` and ``pyhudi downgrade``: the version of a table."""

from __future__ import annotations

import argparse

from pyhudi.cli.opening import open_given, place_of, subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Report
from pyhudi.config.versions import TableVersion
from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.version_change import (
    ChangedVersion,
    change_table_version,
    planned_change,
    told,
)
from pyhudi.runner.in_process import InProcessRunner

_PROPERTIES = (Column(name="property", least=20), Column(name="value", least=20))
_NOT_DONE = "This is what would be done now; nothing was changed."
_COMPACTED = "The {} file slices with log files would be compacted first."
_GONE = "(gone)"


def upgrade(given: argparse.Namespace) -> Report:
    """Give a table a newer version."""
    return _change(given, is_upgrade=True)


def downgrade(given: argparse.Namespace) -> Report:
    """Give a table an older version."""
    return _change(given, is_upgrade=False)


def _change(given: argparse.Namespace, *, is_upgrade: bool) -> Report:
    to = TableVersion.of(given.to)
    if given.dry_run:
        table = open_given(given)
        change = planned_change(table, to, is_upgrade=is_upgrade)
        if change is None:
            none = ChangedVersion(before=to, after=to, properties={}, is_done=False)
            return _report(given, none, _NOT_DONE)
        logged = sum(bool(each.log_files) for each in table.latest_slices())
        notes = (_COMPACTED.format(logged),) if logged else ()
        return _report(given, told(change, is_done=False), *notes, _NOT_DONE)
    place = place_of(given)
    environment = environment_on(InProcessRunner(), place.storage_options)
    done = change_table_version(
        environment, place.path, to, place.hoodie_conf, is_upgrade=is_upgrade
    )
    return _report(given, done)


def _report(given: argparse.Namespace, found: ChangedVersion, *notes: str) -> Report:
    table = open_given(given)
    status = "changed" if found.is_done else "planned" if found.properties else "nothing_to_do"
    rows = tuple(
        (key, _GONE if value is None else value) for key, value in found.properties.items()
    )
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            Fact(name="status", value=status),
            Fact(name="version_before", value=found.before.value),
            Fact(name="version", value=found.after.value),
        ),
        grids=(Grid(name="properties", columns=_PROPERTIES, rows=rows, empty="none change"),),
        notes=notes,
    )
