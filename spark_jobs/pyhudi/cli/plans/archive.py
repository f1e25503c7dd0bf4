"""The instants that would be archived."""

from __future__ import annotations

from pyhudi.cli.opening import subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report
from pyhudi.config.options.archive import ArchiveConfig
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.pipeline.archive import PlannedInstant, planned_instants
from pyhudi.services.archive_plan import instants_to_keep
from pyhudi.table.table import Table

_ARCHIVED = (
    Column(name="instant", kind=Kind.INSTANT),
    Column(name="action"),
    Column(name="files", kind=Kind.COUNT),
    Column(name="bytes", kind=Kind.SIZE),
)


def archive_now(table: Table, config: ArchiveConfig) -> tuple[PlannedInstant, ...]:
    """The instants that options archive at this moment, oldest first."""
    return planned_instants(table, config)


def archive_plan(table: Table, request: ArchiveRequest) -> Report:
    """Which instants would leave the timeline now, and how many commits may stay."""
    config = ArchiveConfig.from_options(request.options())
    found = archive_now(table, config)
    least, most = instants_to_keep(table.timeline, config)
    commits = table.timeline.write_instants().completed()
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            Fact(name="commits", value=len(commits), kind=Kind.COUNT),
            Fact(name="archived_above", value=most, kind=Kind.COUNT),
            Fact(name="commits_that_stay", value=least, kind=Kind.COUNT),
            Fact(name="instants", value=len(found), kind=Kind.COUNT),
            Fact(name="files", value=sum(each.files for each in found), kind=Kind.COUNT),
            Fact(name="bytes", value=sum(each.size_bytes for each in found), kind=Kind.SIZE),
        ),
        grids=(
            Grid(
                name="instants_to_archive",
                columns=_ARCHIVED,
                rows=tuple(
                    (each.instant.time, each.instant.action.value, each.files, each.size_bytes)
                    for each in found
                ),
                empty=f"none: the timeline has no more than {most} commits, or none that may "
                "leave it",
            ),
        ),
    )
