"""The anomalies of several writers, each reached by a schedule that is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyhudi.config.options.operations import Operation
from tests.simulator import guards
from tests.simulator.directed import Directed, Fault, Hold
from tests.simulator.guards import Guard
from tests.simulator.history import LOCKS, Actor, History, Step
from tests.simulator.rows import Asked
from tests.simulator.world import Kind

FILE_LOCK, STORAGE_LOCK, IN_PROCESS = LOCKS
_COMMIT = r"\.hoodie/(timeline/)?\d+(_\d+)?\.(commit|deltacommit|replacecommit)$"
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Who does what when, and the guard without which the table is wrong afterwards.

    ``refused`` are the processes that are to be turned away where the guard is there. In the
    table versions that are not among ``versions`` the guard is not needed for it.
    """

    name: str
    history: History
    guard: Guard
    holds: tuple[Hold, ...] = ()
    faults: tuple[Fault, ...] = ()
    refused: tuple[int, ...] = ()
    versions: tuple[int, ...] = (6, 8, 9)

    def directed(self) -> Directed:
        """Its schedule, to be followed once."""
        return Directed(
            [replace(each) for each in self.holds], [replace(each) for each in self.faults]
        )


def _upsert(*keys: str, value: str = "new", column: str = "") -> Step:
    rows = {_key(each): value for each in keys}
    return Step("upsert", Asked(Operation.UPSERT, rows, column=column))


def _write(operation: Operation, *keys: str, value: str = "new") -> Step:
    return Step(operation.value, Asked(operation, {_key(each): value for each in keys}))


def _key(text: str) -> tuple[str, str]:
    partition, _, key = text.partition("/")
    return partition, key


def _of(*steps: Step | tuple[Step, ...], **more: object) -> History:
    """A history whose processes do these steps, each on a machine of its own."""
    actors = tuple(
        Actor(host, each if isinstance(each, tuple) else (each,)) for host, each in enumerate(steps)
    )
    given: Mapping[str, object] = {"has_logs": False, "commits_before": 1, **more}
    return History(seed=1, actors=actors, burst=1_000, **given)  # type: ignore[arg-type]


def _held(*then: int, what: str = "create", path: str = _COMMIT, **more: int) -> tuple[Hold, ...]:
    """The first process waits, before its commit if nothing else is said."""
    return (Hold(0, what, path, then, **more),)


_IN_SIX = (6,)
"""Where log files name the slice and not the write, and the archive is a list of files."""
_IN_LATER = (8, 9)
_DEAD_FOR_OTHERS = {"is_suspended": True, "span_ms": 10_000}

ANOMALIES = (
    Anomaly(
        "A1 lost write",
        _of(_upsert("x/a"), _upsert("x/b")),
        guards.LOOK_FOR_OTHERS,
        _held(1),
        refused=(1,),
    ),
    Anomaly(
        "A2 two writers draw one time",
        _of(_upsert("x/a"), _upsert("x/b"), is_frozen=True),
        guards.EXCLUSIVE_CREATE,
        _held(1, path=r"\.heartbeat/\d+$"),
    ),
    Anomaly(
        "A3 a key inserted twice",
        _of(_upsert("x/new"), _upsert("x/new", value="other"), commits_before=0, lock=FILE_LOCK),
        guards.KEYS_SOUGHT,
        _held(1, what="walk", path=r"\.temp"),
    ),
    Anomaly(
        "A4 a clock that is behind",
        replace(
            _of(_upsert("x/a"), replace(_upsert("x/a", value="later"), rest_ms=3_000)),
            actors=(
                Actor(0, (_upsert("x/a"),)),
                Actor(1, (replace(_upsert("x/a", value="later"), rest_ms=3_000),), (), -_HOUR_MS),
            ),
        ),
        guards.DRAWN_LATER,
    ),
    Anomaly(
        "A5 a pause across the lease",
        _of(_upsert("x/a"), _upsert("x/b"), lock=STORAGE_LOCK),
        guards.CONFIRMED,
        _held(
            1, what="read", path=r"hoodie\.properties", skips=4, is_suspended=True, span_ms=20_000
        ),
        refused=(0,),
    ),
    Anomaly(
        "A5 a pause across the lease, after the completion time was drawn",
        _of(_upsert("x/a"), _upsert("y/b"), lock=STORAGE_LOCK),
        guards.COMPLETED_LATER,
        _held(1, is_suspended=True, span_ms=20_000),
        versions=_IN_LATER,
    ),
    Anomaly(
        "A6 a pause across the heartbeat",
        _of(_upsert("x/a"), (_upsert("x/b"), Step("clean"))),
        guards.LAST_LOOK,
        _held(1, what="walk", path=r"\.temp", **_DEAD_FOR_OTHERS),
        refused=(0,),
    ),
    Anomaly(
        "A6 a pause across the heartbeat, of one of several",
        _of(_upsert("x/a"), (_upsert("y/b"), Step("clean")), lock=FILE_LOCK),
        guards.LAST_LOOK_OF_SEVERAL,
        _held(1, what="walk", path=r"\.temp", **_DEAD_FOR_OTHERS),
        refused=(0,),
    ),
    Anomaly(
        "A7 the answer to one's own commit is lost",
        _of(_upsert("x/a")),
        guards.READ_BACK,
        faults=(Fault(0, "create", _COMMIT, Kind.ANSWER_LOST),),
    ),
    Anomaly(
        "A8 a loser deletes the lock of the holder",
        _of(_upsert("x/a"), Step("loser of the lock"), _upsert("x/b"), lock=FILE_LOCK),
        guards.CONFIRMED,
        _held(1, 2, what="read", path=r"hoodie\.properties", skips=4),
    ),
    Anomaly(
        "A8 a loser deletes the lock of one who is about to begin",
        _of(_upsert("x/a"), Step("loser of the lock"), _upsert("x/b"), lock=FILE_LOCK),
        guards.BEGUN_LATEST,
        _held(1, 2, path=r"\.commit\.requested$"),
    ),
    Anomaly(
        "A9 a compaction planned while a delta commit runs",
        _of(
            _upsert("x/a"),
            (Step("plan compaction"), Step("run compaction")),
            has_logs=True,
            commits_before=2,
        ),
        guards.PLANNED_ALONE,
        _held(1),
        refused=(1,),
    ),
    Anomaly(
        "A9 a compaction planned and run beside one of several",
        _of(
            _upsert("x/a"),
            (Step("plan compaction"), Step("run compaction")),
            has_logs=True,
            commits_before=2,
            lock=STORAGE_LOCK,
        ),
        guards.CONFLICTS,
        _held(1, path=r"\.inflight$"),
    ),
    Anomaly(
        "A10 a partition deleted beside an insert",
        _of(
            Step("delete_partition", Asked(Operation.DELETE_PARTITION, {}, ("x",))),
            _write(Operation.BULK_INSERT, "x/n"),
            lock=FILE_LOCK,
        ),
        guards.CONFLICTS,
        _held(1, what="walk", path=r"\.temp"),
    ),
    Anomaly(
        "A10 an upsert beside a partition that is overwritten",
        _of(_upsert("x/a"), _write(Operation.INSERT_OVERWRITE, "x/b"), lock=STORAGE_LOCK),
        guards.CONFLICTS,
        _held(1, what="walk", path=r"\.temp"),
    ),
    Anomaly(
        "A11 two run one plan",
        _of(
            (Step("plan compaction"), Step("run compaction")),
            Step("run compaction"),
            has_logs=True,
            commits_before=2,
        ),
        guards.ONE_RUN,
        (Hold(0, "create", _COMMIT, (1,)), Hold(1, "put", r"\.parquet$", (0,))),
        refused=(1,),
    ),
    Anomaly(
        "A11 a run that another takes for dead completes before it is rolled back",
        _of(
            (Step("plan compaction"), Step("run compaction")),
            Step("run compaction"),
            has_logs=True,
            commits_before=2,
        ),
        guards.RUN_OR_UNDONE,
        (
            Hold(0, "put", r"\.parquet$", (1,), **_DEAD_FOR_OTHERS),
            Hold(1, "create", r"\.rollback\.requested$", (0,)),
        ),
        refused=(1,),
    ),
    Anomaly(
        "A11 a run that was rolled back at its commit point completes",
        _of(
            (Step("plan compaction"), Step("run compaction")),
            Step("run compaction"),
            has_logs=True,
            commits_before=2,
        ),
        guards.RUN_OR_UNDONE,
        (
            Hold(0, "create", _COMMIT, (1,), **_DEAD_FOR_OTHERS),
            Hold(1, "put", r"\.parquet$", (0,)),
        ),
        refused=(0,),
    ),
    Anomaly(
        "A12 a clean beside a reader of what is retained",
        _of(Step("read old"), Step("clean"), commits_before=4, retained=3),
        guards.RETAINED,
        _held(1, what="read", path=r"\.parquet$"),
    ),
    Anomaly(
        "A12 a clean after a savepoint",
        _of((Step("savepoint"), _upsert("x/a"), _upsert("x/b"), _upsert("x/a"), Step("clean"))),
        guards.PROTECTED,
    ),
    Anomaly(
        "A12 a clean whose plan comes after a newer one",
        _of(Step("clean"), (_upsert("x/a"), _upsert("x/b"), Step("clean")), commits_before=3),
        guards.LATE_PLANS,
        _held(1, what="list", path=r"^\.hoodie(/timeline)?$", skips=1),
    ),
    Anomaly(
        "A13 an eager neighbour rolls a live writer back",
        _of(_upsert("x/a"), Step("eager neighbour")),
        guards.LAST_LOOK,
        _held(1, what="walk", path=r"\.temp"),
        refused=(0,),
    ),
    Anomaly(
        "A13 an eager neighbour rolls one of several back",
        _of(_upsert("x/a"), Step("eager neighbour"), lock=FILE_LOCK),
        guards.LAST_LOOK_OF_SEVERAL,
        _held(1, what="walk", path=r"\.temp"),
        refused=(0,),
    ),
    Anomaly(
        "A14 an archiver that goes on from a dead one",
        _of(Step("archive"), Step("archive"), commits_before=4),
        guards.ARCHIVED_ONCE,
        faults=(Fault(0, "create", r"archived/\.commits", Kind.DIES_AFTER, (1,)),),
        versions=_IN_SIX,
    ),
    Anomaly(
        "A15 two writers add different columns",
        _of(
            _upsert("x/a", column="one"),
            _upsert("y/a", column="two"),
            lock=FILE_LOCK,
        ),
        guards.SCHEMAS,
        _held(1, what="walk", path=r"\.temp"),
        refused=(0,),
    ),
    Anomaly(
        "A16 a row updated and deleted from one snapshot",
        _of(
            _upsert("y/a"),
            _write(Operation.DELETE, "y/a"),
            has_logs=True,
            commits_before=2,
            lock=STORAGE_LOCK,
        ),
        guards.CONFLICTS,
        _held(1, what="walk", path=r"\.temp"),
    ),
    Anomaly(
        "A17 a listing that is behind",
        _of(Step("read")),
        guards.PROMISES,
        faults=(Fault(0, "walk", "", Kind.STALE),),
    ),
    Anomaly(
        "A17 one who was taken for dead writes a log file late",
        _of(_upsert("x/a"), _upsert("x/b"), has_logs=True, commits_before=2),
        guards.OWN_LOG_NAMES,
        _held(1, what="put", path=r"\.temp", **_DEAD_FOR_OTHERS),
        refused=(0,),
        versions=_IN_SIX,
    ),
)
"""Their numbers are those of the list that the simulator was made after."""
