"""The files that a clean would delete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyhudi.cli.opening import subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report
from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.config.write import WriteConfig
from pyhudi.jobs.clean import CleanRequest
from pyhudi.pipeline.clean import clean_service, counted_by_partition
from pyhudi.pipeline.environment import environment_on
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.services.clean import Decision, pending_cleans
from pyhudi.table.table import Table

_CLEANED = (
    Column(name="partition", least=12),
    Column(name="files", kind=Kind.COUNT),
    Column(name="bytes", kind=Kind.SIZE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedClean:
    """What a clean would delete now: what is planned already, and what is due.

    Shapes: ``by_partition`` has the number of files and their bytes.
    """

    decisions: tuple[Decision, ...]

    @property
    def by_partition(self) -> Mapping[str, Mapping[str, int]]:
        """The files and bytes that would go, by partition path."""
        return counted_by_partition(self.decisions)

    @property
    def retained_since(self) -> str | None:
        """The earliest instant whose files all stay; None where the policy counts none."""
        earliest = (each.plan.earliest for each in self.decisions)
        return max((each.time for each in earliest if each is not None), default=None)


def clean_now(
    table: Table, config: WriteConfig, mode: str, instant: str | None = None
) -> PlannedClean:
    """The clean of a table that one of the modes of a request stands for at this moment.

    Raises:
        UnsupportedError: a table that cannot be cleaned.
        CorruptTableError: files that commits name are not there, so that a clean would stop.
    """
    service = clean_service(environment_on(InProcessRunner()), table.storage, config)
    return PlannedClean(decisions=service.decisions(mode, instant))


def clean_plan(table: Table, request: CleanRequest) -> Report:
    """How many files of which partitions a clean would delete now."""
    config = WriteConfig.from_options(request.options())
    asked = parse_exact_instant(request.instant) if request.instant else None
    digits = None if asked is None else asked.on(table.config.timezone)
    found = clean_now(table, config, request.mode, digits)
    sizes, cleaning = found.by_partition, config.services.clean
    waiting = tuple(each.time for each in pending_cleans(table))
    emptied = {path for each in found.decisions for path in each.plan.emptied}
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            Fact(name="policy", value=cleaning.policy.value),
            Fact(name="retained_since", value=found.retained_since, kind=Kind.INSTANT),
            Fact(name="files", value=sum(e["files"] for e in sizes.values()), kind=Kind.COUNT),
            Fact(name="bytes", value=sum(e["bytes"] for e in sizes.values()), kind=Kind.SIZE),
            Fact(name="emptied_partitions", value=len(emptied), kind=Kind.COUNT),
            *_source_facts(found),
            Fact(name="planned_already", value=waiting),
        ),
        grids=(
            Grid(
                name="partitions",
                columns=_CLEANED,
                rows=tuple((path, each["files"], each["bytes"]) for path, each in sizes.items()),
                empty="nothing to delete: the policy keeps every file, or none was written since "
                "the last clean",
            ),
        ),
    )


def _source_facts(found: PlannedClean) -> Iterator[Fact]:
    """The files outside the table that would go, where the options ask for it."""
    uris = [uri for each in found.decisions for own in each.files.sources.values() for uri in own]
    if uris:
        yield Fact(name="sources", value=tuple(uris))
