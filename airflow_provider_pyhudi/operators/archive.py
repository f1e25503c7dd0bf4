"""Archive old instants of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from pyhudi.jobs.archive import ArchiveRequest

if TYPE_CHECKING:
    from airflow.sdk import Context


class PyhudiArchiveOperator(PyhudiJobOperator):
    """Move old instants of a table from its timeline to its archive.

    Writes do so by themselves (``hoodie.archive.automatic``); this is for tables whose writes are
    told not to. What readers, writers, cleans and compactions go by stays on the timeline.

    Returns the job's result: ``status`` (``archived`` or ``nothing_to_do``), ``files`` with how
    many ``instants`` were archived and how many of their files ``deleted``, and no ``instant``:
    archiving leaves none of its own. A retry goes on from where the try before it came.

    :param base_path: Folder or URI of the table. (templated)
    :param keep_min_commits: Commits that stay on the timeline; 20 by default. (templated)
    :param keep_max_commits: Commits on the timeline above which the oldest are archived; 30 by
        default. (templated)
    :param dry_run: Only log what would be archived.
    """

    changes_rows = False
    template_fields: Sequence[str] = (
        "keep_min_commits",
        "keep_max_commits",
        *PyhudiJobOperator.template_fields,
    )

    def __init__(
        self,
        *,
        keep_min_commits: int | str | None = None,
        keep_max_commits: int | str | None = None,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.keep_min_commits = keep_min_commits
        self.keep_max_commits = keep_max_commits
        self.is_dry_run = dry_run

    def request(self, context: Context) -> ArchiveRequest:
        """The request of this execution."""
        least, most = self.keep_min_commits, self.keep_max_commits
        return ArchiveRequest(
            least_commits=None if least is None else str(least),
            most_commits=None if most is None else str(most),
            dry_run=self.is_dry_run,
            **self._shared(context),
        )
