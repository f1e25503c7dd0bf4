"""What must hold of a run, and where it does not."""

from __future__ import annotations

import bisect
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from pyhudi.cli.validation.findings import Grade
from pyhudi.cli.validation.validate import Scope, validate_table
from pyhudi.errors import ConflictError, RequestError
from pyhudi.storage.schemes import open_storage
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.table import Table, load_table
from tests.rivals.orders import Rows
from tests.rivals.plan import LEASE_S, Plan
from tests.rivals.reader import Found, rows_read
from tests.rivals.truth import Story, Tried, read_story

_SLACK_S = 0.05
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One thing that must not be: its kind in a word, where, and what is known of it."""

    kind: str
    where: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.where}: {self.detail}"


@dataclass(slots=True)
class Checked:
    """What came of the checks: the story, its anomalies, and how much was compared."""

    story: Story
    anomalies: list[Anomaly] = field(default_factory=list)
    instants_read: int = 0
    reads_compared: int = 0
    leases_compared: int = 0


def check(plan: Plan) -> Checked:
    """Check a run that has ended."""
    storage = open_storage(plan.uri, plan.storage_options)
    table = load_table(storage)
    archive = ArchivedTimeline.of(storage, table.config)
    archived = {record.time for file in archive.files() for record in archive.read(file)}
    done = [each.time for each in table.timeline.write_instants().completed()]
    checked = Checked(read_story(plan, {*done, *archived}))
    story, found = checked.story, checked.anomalies
    found += _outcomes(story)
    found += _pasts(checked, done)
    found += _reads(checked)
    found += _leftovers(table)
    found += _holders(story)
    found += _audited(checked, table)
    return checked


def _outcomes(story: Story) -> Iterator[Anomaly]:
    """Acknowledged writes count, refused ones do not, and none does twice."""
    by_order = defaultdict(list)
    for each in story.completed:
        if not each.moves_rows:
            continue
        if each.order is None:
            yield Anomaly("unknown writer", each.instant, f"{each.operation} by nobody's order")
        else:
            by_order[each.order].append(each.instant)
    for name, tried in story.tried.items():
        instants = by_order.pop(name, [])
        if len(instants) > 1:
            yield Anomaly("written twice", name, f"completed at {instants}")
        if tried.outcome == "done" and tried.is_write:
            wanted = [tried.instant] if tried.said["status"] == "committed" else []
            if instants != wanted:
                yield Anomaly("lost write", name, f"told {tried.said}, completed at {instants}")
        if tried.outcome in ("refused", "failed") and instants:
            yield Anomaly("refused and there", name, f"{instants}: {tried.said['said'][-400:]}")
        yield from _complaints(name, tried)
    for name, instants in by_order.items():
        yield Anomaly("unknown order", name, f"completed at {instants}")


def _complaints(name: str, tried: Tried) -> Iterator[Anomaly]:
    said = tried.said
    if said.get("anomaly"):
        yield Anomaly("told by the writer", name, said["anomaly"])
    if tried.outcome == "failed":
        yield Anomaly("failure", name, said["said"])
    if tried.outcome == "refused" and said["error"] in _NEVER:
        yield Anomaly("failure", name, f"{said['error']}: {said['said']}")


_NEVER = (
    "CorruptTableError",
    "InvariantError",
    "MissingFileError",
    "AlreadyExistsError",
    "PreconditionError",
    "TaskError",
)
"""What no writer may be told, whoever else is at work."""


def _pasts(checked: Checked, instants: Iterable[str]) -> Iterator[Anomaly]:
    """The rows are right in the end, and as of every instant that can still be read."""
    plan = checked.story.plan
    for as_of in (None, *instants):
        try:
            found = rows_read(plan.uri, plan.storage_options, as_of)
        except (RequestError, ConflictError) as error:
            if as_of is None:
                yield Anomaly("unreadable", "the end", str(error))
            continue
        checked.instants_read += 1
        yield from _differences("rows", as_of or "the end", found, checked.story.rows(as_of))


def _differences(kind: str, where: str, found: Found, wanted: Rows) -> Iterator[Anomaly]:
    counts = Counter((part, key) for part, key, _, _ in found)
    if doubles := [key for key, count in counts.items() if count > 1]:
        shown = [row for row in found if row[:2] in doubles[:_SHOWN]]
        yield Anomaly("double keys", where, f"{len(doubles)}: {shown}")
    rows = {(part, key): (ts, value) for part, key, ts, value in found}
    if rows != wanted:
        keys = [key for key in {*rows, *wanted} if rows.get(key) != wanted.get(key)]
        shown = {key: (rows.get(key), wanted.get(key)) for key in sorted(keys)[:_SHOWN]}
        yield Anomaly(kind, where, f"{len(keys)} keys (found, wanted): {shown}")


def _reads(checked: Checked) -> Iterator[Anomaly]:
    """Whoever read meanwhile saw the table as it was at some moment of the reading."""
    states = list(checked.story.states())
    made = [at for at, _, _ in states]
    seen = list(accumulate((at for _, at, _ in states), max))
    for read in checked.story.reads:
        if read["kind"] == "failed":
            yield Anomaly("reader", f"{read['since']:.3f}", read["said"])
        if read["kind"] != "read":
            continue
        checked.reads_compared += 1
        first = max(0, bisect.bisect_right(seen, read["since"]) - 1)
        last = bisect.bisect_right(made, read["at"] + _SLACK_S)
        found = [tuple(row) for row in read["rows"]]
        rows = {(part, key): (ts, value) for part, key, ts, value in found}
        if len(rows) == len(found) and any(rows == each for _, _, each in states[first:last]):
            continue
        wanted = states[max(first, last - 1)][2]
        where = f"{read['since']:.3f} to {read['at']:.3f}"
        yield from _differences("torn read", where, found, wanted)


def _leftovers(table: Table) -> Iterator[Anomaly]:
    """After the last clean a validation finds nothing to complain of."""
    scope = Scope(wants_unique=True, reads_archive=True)
    found = validate_table(table, scope, lambda done, total: None)
    for each in found.findings:
        if each.grade is not Grade.NOTE:
            yield Anomaly(each.grade.value, each.where, f"{each.what}: {each.detail}")


@dataclass(frozen=True, slots=True)
class Span:
    """For how long somebody held the lock, as far as that is known."""

    who: str
    since: float
    until: float


def _holders(story: Story) -> Iterator[Anomaly]:
    """No two held the lock at once: until they last confirmed it, or gave it back in time."""
    spans = []
    lease = LEASE_S[story.plan.storage]
    for who, notes in story.locks.items():
        until: dict[float, float] = {}
        for each in notes:
            got = each["got"]
            if each["kind"] == "locked":
                until[got] = got
            elif each["kind"] == "confirmed":
                until[got] = max(until[got], each["began"])
            else:
                until[got] = max(until[got], min(each["left"], got + lease))
        spans += [Span(who, since, end) for since, end in until.items()]
    yield from _overlaps("two holders", spans)


def _overlaps(kind: str, spans: list[Span], allowed_s: float = 0.0) -> Iterator[Anomaly]:
    spans = sorted(spans, key=lambda span: span.since)
    latest = None
    for span in spans:
        if latest is not None and latest.who != span.who and latest.until > span.since + allowed_s:
            yield Anomaly(kind, f"{span.since:.3f}", f"{latest} and {span}")
        if latest is None or span.until > latest.until:
            latest = span


def _audited(checked: Checked, table: Table) -> Iterator[Anomaly]:
    """By the files in which holders of the storage lock note it, as real Hudi would read them."""
    spans = []
    for file in table.storage.list(".hoodie/.locks/audit"):
        lines = [json.loads(each) for each in table.storage.read(file.path).splitlines()]
        # Whose note of the end is missing was killed, or not answered, and may have given it back.
        until = max(min(each["timestamp"], each["lockExpiration"]) for each in lines)
        checked.leases_compared += 1
        spans.append(Span(file.name, lines[0]["timestamp"] / 1000, until / 1000))
    yield from _overlaps("two leases", spans, allowed_s=_LATE_NOTE_S)


_LATE_NOTE_S = 1.0
"""How long after it gave the lock back a holder may look at the clock to note that."""
