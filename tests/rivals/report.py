"""What came of a run, in figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tests.rivals.checks import Checked
from tests.rivals.truth import UNKNOWN

Figure = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Befallen:
    """How often writers were killed and stopped, and how many requests met a fault."""

    kills: int
    stops: int
    faults: int


def figures(checked: Checked, befallen: Befallen) -> list[Figure]:
    """Everything that a run is asked for, in the order of a table."""
    story = checked.story
    plan = story.plan
    writes = [each for each in story.tried.values() if each.is_write]
    services = [each for each in story.tried.values() if not each.is_write]
    outcomes = Counter(each.outcome for each in writes)
    refusals = Counter(each.said["error"] for each in writes if each.outcome == "refused")
    conflicts = sum(each.said.get("conflicts") or 0 for each in writes)
    commits = [each for each in story.completed if each.moves_rows]
    by_hudi = sum((each.order or "").startswith("hudi.") for each in commits)
    waits = sorted(
        each["got"] - each["asked"]
        for notes in story.locks.values()
        for each in notes
        if each["kind"] == "locked"
    )
    unread = sum(each["kind"] == "unread" for each in story.reads)
    return [
        ("anomalies", f"{len(checked.anomalies)}"),
        ("commits", f"{len(commits):,} ({len(commits) / plan.seconds:.2f} a second)"),
        *([("commits of real Hudi", f"{by_hudi:,}")] if plan.hudi else []),
        ("writes tried", f"{len(writes):,}"),
        ("writes acknowledged", f"{outcomes['done']:,}"),
        ("writes refused", _of(refusals)),
        ("writes of unknown outcome", f"{outcomes[UNKNOWN]:,}"),
        ("conflicts, written again", f"{conflicts:,}"),
        ("services run", _of(Counter(e.order.operation for e in services if e.outcome == "done"))),
        (
            "services refused",
            _of(Counter(e.said["error"] for e in services if e.said.get("error"))),
        ),
        ("lock taken", f"{len(waits):,} times"),
        ("wait for the lock", _waits(waits)),
        ("writers killed, stopped", f"{befallen.kills}, {befallen.stops}"),
        ("requests that met a fault", f"{befallen.faults:,}"),
        ("snapshots compared", f"{checked.reads_compared:,} (and {unread} not answered)"),
        ("leases compared", f"{checked.leases_compared:,}"),
        ("instants read in the end", f"{checked.instants_read:,}"),
    ]


def _of(counts: Counter[str]) -> str:
    parts = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
    return f"{counts.total():,}" + (f": {parts}" if parts else "")


def _waits(waits: list[float]) -> str:
    if not waits:
        return "none"
    middle, most = waits[len(waits) // 2], waits[int(len(waits) * 0.95)]
    return f"median {middle * 1000:.0f} ms, 95 % {most * 1000:.0f} ms, longest {waits[-1]:.1f} s"


def text_of(found: list[Figure]) -> str:
    """The figures as lines."""
    width = max(len(name) for name, _ in found)
    return "\n".join(f"{name:{width}}  {value}" for name, value in found)
