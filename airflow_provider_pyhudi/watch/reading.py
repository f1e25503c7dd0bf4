"""How far a reader of a table has come, and what it reads next. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_pyhudi.watch.watermark import Glance


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMark:
    """What has been read, up to ``done``, and what was given out to be read, up to ``until``.

    Both are times of commits: when they were requested, or with ``by_completion`` when they were
    completed, which is what an incremental query goes by in table versions 8 and 9. None of them is
    before the first commit, and nothing that was given out.
    """

    done: str | None = None
    until: str | None = None
    by_completion: bool = False

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> ReadMark:
        """The mark that ``to_json`` gave; that of one who has read nothing if there is none."""
        return cls(
            done=stored.get("done"),
            until=stored.get("until"),
            by_completion=bool(stored.get("by_completion")),
        )

    def to_json(self) -> dict[str, Any]:
        """The mark as a store keeps it."""
        return {"done": self.done, "until": self.until, "by_completion": self.by_completion}

    def on(self, glance: Glance) -> ReadMark:
        """The mark in the times that the table goes by now, for it may have been upgraded since.

        Not: exact where the commits of the mark were archived at once with the upgrade, or another
        write was in flight while the table was downgraded.
        """
        if self.by_completion == glance.by_completion:
            return self
        if not glance.by_completion:
            return replace(self, by_completion=False)
        done, until = _completed(glance, self.done), _completed(glance, self.until)
        return ReadMark(done=done, until=until, by_completion=True)

    def ahead(self, glance: Glance) -> ReadMark | None:
        """The mark with all given out that may be read; None where that has been read.

        By completion whoever ends late is found late. By request a write that is pending would be
        passed over, so that the span ends before it.
        """
        if glance.by_completion:
            times = [each.ended for each in glance.commits]
        else:
            held = glance.pending
            times = [each.instant for each in glance.commits if held is None or each.instant < held]
        newest = max(times, default="")
        return replace(self, until=newest) if newest > (self.done or "") else None

    def passed(self) -> ReadMark:
        """The mark once what was given out has been read."""
        return replace(self, done=self.until, until=None)


def _completed(glance: Glance, requested: str | None) -> str | None:
    """When the commits up to the one requested at a time were all completed."""
    if requested is None:
        return None
    by_then = (each.ended for each in glance.commits if each.instant <= requested)
    return max(by_then, default=requested)
