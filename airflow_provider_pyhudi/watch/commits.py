"""The commits of a table that change rows, for those who tell of them."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_pyhudi.watch.facts import CommitFacts
from airflow_provider_pyhudi.watch.table import Look, TableView
from airflow_provider_pyhudi.watch.watermark import Glance
from pyhudi.config.versions import TimelineLayout
from pyhudi.timeline.instant import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitsQuestion:
    """What commits of these actions there are; archived ones too, ``since`` a time."""

    actions: frozenset[Action]
    since: str | None = None

    def answer(self, view: TableView) -> Look:
        """A ``Glance``; where there is no table there is none."""
        names = {each.value for each in self.actions}
        told = {} if self.since is None else _by_time(view.archived_facts(self.since))
        told |= _by_time(view.facts())
        commits = (told[time] for time in sorted(told))
        pending = view.timeline.pending_writes().first
        glance = Glance(
            commits=tuple(each for each in commits if each.changes_rows and each.action in names),
            start=view.timeline.start,
            pending=pending.time if pending else None,
            zone=view.table.config.timezone,
            by_completion=view.table.config.version.timeline_layout is TimelineLayout.TWO,
        )
        return Look(found=glance, seen=f"{view.where} has {len(glance.commits)} commits")

    def waiting(self) -> str:
        """What is wanted, behind what was seen."""
        return "; waiting for commits"


def _by_time(found: list[CommitFacts]) -> dict[str, CommitFacts]:
    return {each.instant: each for each in found}
