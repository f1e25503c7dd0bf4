"""Random services of a random table: which can be asked for, and what they leave."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from tests.interop.differential_steps import ENGINES, Changes, Service, Step

# How often each is drawn, beside the writes of differential_cases.
WEIGHTS = {
    "clean": 1.0,
    "archive": 1.0,
    "savepoint": 2.2,
    "delete_savepoint": 1.5,
    "restore": 3.0,
    "rollback": 2.0,
    "rollback_pending": 1.2,
    "log_compact": 3.0,
}
POLICIES = {
    "commits": "KEEP_LATEST_COMMITS",
    "fileversions": "KEEP_LATEST_FILE_VERSIONS",
    "hours": "KEEP_LATEST_BY_HOURS",
}
ONLY_WHEN_ASKED = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
"""Options of writes that no clean and no archive comes after."""
ALONE = {
    **ONLY_WHEN_ASKED,
    "hoodie.compact.inline": "false",
    "hoodie.log.compaction.inline": "false",
}
"""The same of writes that no compaction comes after either."""
UNDOING = ("restore", "rollback", "rollback_pending")


@dataclass(frozen=True)
class Retention:
    """How little cleans and archives keep: so many of what ``by`` says, and so many commits."""

    by: str
    count: int
    least: int
    most: int

    @property
    def options(self) -> dict[str, str]:
        """The same as options, in the spellings of both releases."""
        found = {
            "hoodie.keep.min.commits": str(self.least),
            "hoodie.keep.max.commits": str(self.most),
        }
        for name in ("clean", "cleaner"):
            found[f"hoodie.{name}.policy"] = POLICIES[self.by]
            found[f"hoodie.{name}.{self.by}.retained"] = str(self.count)
        return found

    def keeps_before(self, instants: int) -> bool:
        """Whether what the table was before its latest instants survives a clean."""
        return self.by == "hours" or self.count >= instants + (self.by == "fileversions")


def draw_retention(rng: Random) -> Retention:
    """Little enough to delete and archive within a few steps; by hours all of them stay."""
    by = rng.choice(("commits",) * 5 + ("fileversions",) * 4 + ("hours",))
    least = rng.choice((2, 3, 4))
    return Retention(by, rng.choice((1, 1, 2, 3)), least, least + rng.choice((1, 1, 2)))


@dataclass(frozen=True)
class Bounds:
    """What of a table says which services it may have.

    ``instants`` is how many a write may leave, with what runs after it. See
    known_differences.NOT_DRAWN for ``log_compacts_undone`` and ``may_undo``.
    """

    automatic: Retention | None
    instants: int
    keeps_logs: bool
    log_compacts_undone: bool
    may_undo: bool


class Past:
    """What a history has done so far, as far as services go by it.

    After each step the table has the rows that it had after the step that ``leaves`` says. ``live``
    are the steps whose writes are not undone, ``saved`` those with a savepoint.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.leaves: list[int] = []
        self.live: list[int] = []
        self.saved: list[int] = []
        self._latest = 0
        self._is_whole = bounds.automatic is None
        self._is_fresh = self._can_return = self._has_undone = False

    def wrote(self) -> None:
        """Note that the next step is a write."""
        self.live.append(len(self.leaves))
        self.leaves.append(len(self.leaves))
        self._latest = self.bounds.instants
        self._is_fresh, self._can_return = True, len(self.live) > 1
        if self.bounds.automatic is not None:
            self._lose(self.bounds.automatic, is_cleaned=True, is_archived=True)

    def _lose(self, kept: Retention, *, is_cleaned: bool, is_archived: bool) -> None:
        """What a clean and an archive leave of the way back."""
        if is_cleaned:
            self._can_return &= kept.keeps_before(self._latest)
        if is_archived:
            self._can_return &= kept.least > self._latest
        self._is_whole = False

    def weights(self) -> Mapping[str, float]:
        """The services that can be asked for now."""
        if not self.live:
            return {}
        latest, saved, bounds = self.live[-1], self.saved[-1:], self.bounds
        may_log_compact = bounds.log_compacts_undone or not self._has_undone
        is_possible = {
            "clean": True,
            "archive": True,
            # A clean may have retained what was undone since, and neither saves anything older.
            "savepoint": latest not in saved and (self._is_fresh or self._is_whole),
            "delete_savepoint": bool(saved),
            "restore": bool(saved) and saved[0] < latest,
            "rollback": self._can_return and latest not in saved,
            "rollback_pending": True,
            "log_compact": bounds.keeps_logs and may_log_compact,
        }
        if not bounds.may_undo:
            is_possible |= dict.fromkeys(UNDOING, False)
        return {name: weight for name, weight in WEIGHTS.items() if is_possible[name]}

    def serve(self, rng: Random, name: str, dying: Callable[[], Step]) -> Service:
        """One of the services that can be asked for; ``dying`` makes a write for it to undo."""
        now, at, options, write = self.leaves[-1], None, dict[str, str](), None
        self._has_undone |= name in UNDOING
        match name:
            case "clean" | "archive":
                kept = draw_retention(rng)
                self._lose(kept, is_cleaned=name == "clean", is_archived=name == "archive")
                options = kept.options
            case "savepoint":
                at = self._save(rng)
            case "delete_savepoint":
                at = rng.choice(self.saved)
                self.saved.remove(at)
            case "restore":
                now = at = self.saved[-1]
                self._undo(at)
            case "rollback":
                at = self.live[-1]
                now = self.leaves[at - 1]
                self._undo(at - 1)
            case "rollback_pending":
                write = dying()
            case _:
                self._latest += 1
                options = {"hoodie.log.compaction.blocks.threshold": rng.choice(("2", "3"))}
        self.leaves.append(now)
        return Service(name, rng.choice(ENGINES), now, at, options, write)

    def _save(self, rng: Random) -> int:
        """The latest write, or an older one if all that it needs is there still."""
        later = [step for step in self.live if not self.saved or step > self.saved[-1]]
        is_older = self._is_whole and rng.random() < 0.4
        self.saved.append(rng.choice(later) if is_older else later[-1])
        return self.saved[-1]

    def _undo(self, until: int) -> None:
        self.live = [step for step in self.live if step <= until]
        self._is_fresh = self._can_return = False

    def changes(self, rng: Random, *, can_end: bool) -> Changes | None:
        """A query for the changes since a write, or between two."""
        if len(self.live) < 2:
            return None
        begin, end = sorted(rng.sample(self.live, 2))
        until = rng.choice((None, end))
        return Changes(begin, until if can_end else None)
