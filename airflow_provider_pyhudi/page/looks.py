"""What each page is told: a look at a table through the engine's own reports, held against rights.

Everything that a template gets of DAG runs goes through here, so that none is named to a user who
may not read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException

from airflow_provider_pyhudi.page.places import Group, Place
from airflow_provider_pyhudi.page.rights import Rights
from airflow_provider_pyhudi.page.runs import Run, RunLink, links_of, span_of
from airflow_provider_pyhudi.page.shown import bars
from pyhudi.errors import HudiError

if TYPE_CHECKING:
    from pyhudi.cli.report import Fact, Report
    from pyhudi.cli.writes import Told
    from pyhudi.table.table import Table

ROWS = 50
"""How many instants a page has."""
MARKS = 160
"""In how many places the strip of the timeline is cut."""
_THREADS = 8
_OF_AIRFLOW = "airflow."


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An instant and the run that asked for it, as far as the user may know.

    ``is_hidden`` when a run asked for it that the user may not read.
    """

    told: Told
    link: RunLink | None
    is_hidden: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """Looks at tables for a user with these rights."""

    rights: Rights

    def rows_of(self, group: Group) -> Mapping[str, Any]:
        """A group with a glance at each of its tables."""
        with ThreadPoolExecutor(max_workers=_THREADS) as threads:
            found = list(threads.map(_glance_or_problem, group.places))
        told = [each["glance"].last_write for each in found if each["glance"] is not None]
        seen = iter(self._seen([each for each in told if each is not None]))
        rows = [
            each
            | {
                "last": next(seen)
                if each["glance"] is not None and each["glance"].last_write is not None
                else None
            }
            for each in found
        ]
        return {"group": group, "rows": rows}

    def table(self, place: Place, *, before: str | None, action: str | None) -> Mapping[str, Any]:
        """A table at a glance and some of its instants, the newest before a time."""
        from pyhudi.cli.overview.glance import glance, past
        from pyhudi.cli.overview.lanes import lanes
        from pyhudi.timeline.clock import SystemClock

        table = _open(place)
        found = glance(table, SystemClock())
        shown = past(table, ROWS, before=before, actions=(action,) if action else ())
        last = [] if found.last_write is None else [found.last_write]
        seen = self._seen([*last, *shown.told])
        return {
            "glance": found,
            "lanes": lanes(found.instants, marks=MARKS),
            "marks": MARKS,
            "past": shown,
            "last": seen[0] if last else None,
            "rows": seen[len(last) :],
            "before": before,
            "action": action,
        }

    def files(self, place: Place) -> Mapping[str, Any]:
        """The sizes of a table's files."""
        from pyhudi.cli.overview.sizes import sizes

        found = sizes(_open(place))
        return {"sizes": found, "bars": bars(found.histogram)}

    def services(self, place: Place) -> Mapping[str, Any]:
        """What is pending on a table, and what services would do."""
        from pyhudi.cli.overview.glance import pending
        from pyhudi.cli.overview.plans import plans
        from pyhudi.timeline.clock import SystemClock

        table = _open(place)
        found = pending(table, now_ms=SystemClock().now_ms())
        return {"pending": found, "plans": list(plans(table))}

    def damage(self, place: Place) -> Mapping[str, Any]:
        """The files that are gone or cut short."""
        return {"damages": _open(place).damages()}

    def instant(self, place: Place, at: str) -> Mapping[str, Any]:
        """All that an instant says, with the run that asked for it."""
        from pyhudi.cli.reports.instant import instant_report

        report = instant_report(_open(place), at)
        run = Run.of({each.name: str(each.value) for each in report.facts})
        found = self._links([] if run is None else [run])
        link = None if run is None else found.get(run.identity)
        is_hidden = run is not None and link is None
        return {
            "report": _without_runs(report) if is_hidden else report,
            "link": link,
            "is_hidden": is_hidden,
        }

    def run(self, dag_id: str, run_id: str, places: Iterable[Place]) -> Mapping[str, Any]:
        """The instants that a DAG run wrote, by table, and the tables that cannot be read."""
        span = span_of(dag_id, run_id)
        if span is None:
            return {"written": [], "problems": [], "is_known": False}
        with ThreadPoolExecutor(max_workers=_THREADS) as threads:
            told = list(threads.map(lambda place: _written(place, *span), places))
        wanted = (dag_id, run_id)
        written = [
            (place, own)
            for place, found, _ in told
            if (own := [each for each in reversed(self._seen(found)) if _is_of(each, wanted)])
        ]
        problems = [(place, problem) for place, _, problem in told if problem is not None]
        return {"written": written, "problems": problems, "is_known": True}

    def _seen(self, told: Sequence[Told]) -> list[Seen]:
        runs = [_run_of(each) for each in told]
        links = self._links([run for run in runs if run is not None])
        return [
            Seen(
                told=each,
                # The link of a run leads to the task of this very commit.
                link=None if run is None else _to_task(links.get(run.identity), run),
                is_hidden=run is not None and run.identity not in links,
            )
            for each, run in zip(told, runs, strict=True)
        ]

    def _links(self, runs: Sequence[Run]) -> Mapping[tuple[str, str], RunLink]:
        return links_of(runs, self.rights) if runs else {}


def _to_task(link: RunLink | None, run: Run) -> RunLink | None:
    if link is None:
        return None
    return RunLink(run=run, address=None if link.address is None else run.address)


def _run_of(told: Told) -> Run | None:
    return None if told.commit is None else Run.of(told.commit.extra_metadata)


def _is_of(seen: Seen, identity: tuple[str, str]) -> bool:
    return seen.link is not None and seen.link.run.identity == identity


def _without_runs(report: Report) -> Report:
    def stays(fact: Fact) -> bool:
        return _OF_AIRFLOW not in fact.name

    return replace(report, facts=tuple(fact for fact in report.facts if stays(fact)))


def _open(place: Place) -> Table:
    from pyhudi.cli.opening import open_to_report

    return open_to_report(place.path, place.storage_options)


def _glance_or_problem(place: Place) -> dict[str, Any]:
    from pyhudi.cli.overview.glance import glance
    from pyhudi.timeline.clock import SystemClock

    try:
        found = glance(_open(place), SystemClock())
    except (AirflowException, HudiError) as error:
        return {"place": place, "glance": None, "problem": str(error)}
    return {"place": place, "glance": found, "problem": None}


def _written(
    place: Place, first: datetime, last: datetime | None
) -> tuple[Place, Sequence[Told], str | None]:
    """What was written to a table in a span of time, or why nobody can tell."""
    from pyhudi.cli.overview.glance import written_between
    from pyhudi.timeline.clock import SystemClock, instant_time

    try:
        table = _open(place)
        end_ms = SystemClock().now_ms() if last is None else int(last.timestamp() * 1000)
        begin, end = (
            instant_time(ms, table.config.timezone)
            for ms in (int(first.timestamp() * 1000), end_ms)
        )
        return place, written_between(table, begin, end), None
    except (AirflowException, HudiError) as error:
        return place, (), str(error)
