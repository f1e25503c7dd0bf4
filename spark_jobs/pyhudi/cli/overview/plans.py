"""What each service would do to a table now, or why it cannot say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyhudi.cli.plans.archive import archive_plan
from pyhudi.cli.plans.clean import clean_plan
from pyhudi.cli.plans.compaction import compaction_plan
from pyhudi.cli.report import Report
from pyhudi.config.table import TableType
from pyhudi.errors import HudiError
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a service would do: a report, or the problem for which there is none."""

    service: str
    report: Report | None = None
    problem: str | None = None


def plans(table: Table) -> Iterator[Plan]:
    """The plans of compaction, clean and archive by the default options; nothing is written."""
    where = table.storage.uri
    if table.config.table_type is TableType.MERGE_ON_READ:
        yield _plan(
            "compaction", lambda: compaction_plan(table, CompactionRequest(base_path=where))
        )
    yield _plan("clean", lambda: clean_plan(table, CleanRequest(base_path=where)))
    yield _plan("archive", lambda: archive_plan(table, ArchiveRequest(base_path=where)))


def _plan(service: str, gather: Callable[[], Report]) -> Plan:
    try:
        return Plan(service=service, report=gather())
    except HudiError as error:
        return Plan(service=service, problem=str(error))
