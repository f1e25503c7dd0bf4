"""Play a history with the functions of production, and check all that it shows."""

from __future__ import annotations

import logging
import random
import uuid as real_uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import count
from types import SimpleNamespace

import pyarrow as pa

from pyhudi.actions.commit import CommitMetadata
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import WriteConfig
from pyhudi.errors import (
    ConflictError,
    CorruptTableError,
    HudiError,
    MissingFileError,
    RequestError,
    StorageError,
)
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.logfile.framing import BlockKind
from pyhudi.logfile.reader import iter_blocks
from pyhudi.pipeline.archive import archive_table
from pyhudi.pipeline.begun import Begun, write_at_an_instant
from pyhudi.pipeline.clean import clean_service
from pyhudi.pipeline.compaction import CompactionService, compaction_service
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.undo.savepoint import savepoint_table
from pyhudi.pipeline.write_run import Written, prepare
from pyhudi.read.retention import refuse_unreadable
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.avro import dumps
from pyhudi.services.compaction.kinds import compaction_kind
from pyhudi.services.rollback import roll_back
from pyhudi.table.create import create_table
from pyhudi.table.savepoints import saved_files
from pyhudi.table.table import Table, load_table
from pyhudi.timeline import clock as clocks
from pyhudi.timeline.instant import Action
from pyhudi.transaction.heartbeat import HEARTBEATS
from pyhudi.transaction.process import ProcessMark
from tests.simulator import rows as stand_ins
from tests.simulator.directed import Directed
from tests.simulator.files import Files, ProcessFiles
from tests.simulator.history import History, Step
from tests.simulator.rows import Asked, DoubleError, read_rows
from tests.simulator.speed import remembered
from tests.simulator.truth import Truth, instant_of
from tests.simulator.world import Kind, Process, World, WorldClock
from tests.support.in_process import CONFIG, MERGE_ON_READ, archived_in, leftovers, options_of
from tests.support.orders import OPERATION, SCHEMA

_WAIT_S = "8"
_LOG_LINES: list[str] = []
_CONFIRMED_WITHIN = 2
"""Calls between that of a confirmed lock and the commit, a heartbeat among them."""


class WrongTableError(AssertionError):
    """The table is not what it should be."""


@dataclass(slots=True)
class Outcome:
    """What came of a step: the result, or what was raised; neither of one whose process died."""

    process: Process
    step: Step
    asked: dict[str, Asked]
    asked_always: Asked | None = None
    is_over: bool = False
    result: JobResult | None = None
    error: HudiError | None = None


class Play:
    """One history while it is played."""

    def __init__(
        self, history: History, *, is_traced: bool = False, directed: Directed | None = None
    ) -> None:
        self.history, self._directed = history, directed
        self.world = World(history.seed, burst=history.burst)
        if is_traced:
            self.world.trace = []
        self.outcomes: list[Outcome] = []
        self.runner = InProcessRunner(numbers=count())
        self._at_work: dict[int, Outcome] = {}
        self._asked_back: set[str] = set()
        self.files = Files()
        self.files.now_ms = lambda: self.world.now_ms
        self.truth = Truth(self._doing)
        self.problem: str | None = None
        # A writer that was suspended between its last look and its commit, or taken for dead by a
        # wrong clock, in a table without a lock whose writers leave dead ones alone: nothing keeps
        # it from committing.
        self.is_beyond = False
        self.options = _options(history)

    def _process(self) -> Process:
        return self.world.current or self.world.processes[-1]

    def _running(self) -> Outcome | None:
        return self._at_work.get(self._process().number) if self.world.processes else None

    def _doing(self) -> str:
        return self._process().doing if self.world.processes else ""

    def run(self) -> None:
        """Play it to its end, and then what comes after.

        Raises:
            WrongTableError: says what was found.
        """
        with _seeded(self.world.random, self.world), remembered():
            self._make_table()
            for number, actor in enumerate(self.history.actors):
                process = Process(
                    number,
                    actor.host,
                    actor.clock_ahead_ms,
                    {each.at: each for each in actor.incidents},
                )
                self.world.add(process, partial(self._act, process, actor.steps))
            self.files.told = self._told
            self.world.is_frozen = self.history.is_frozen
            if self._directed is not None:
                self._directed.direct(self.world)
            self.world.play()
            self.world.is_frozen, self.world.watch = False, None
            if self.is_beyond:
                return
            self.files.told = self.truth_only
            self._raise_if_wrong()
            self._check_outcomes()
            if self.truth.late:
                raise WrongTableError(f"rolled back and committed all the same: {self.truth.late}")
            self._check_all("at the end")
            self._check_columns()
            self._check_savepoints()
            self._aftermath()

    # -- what processes do ---------------------------------------------------------------------

    def environment(self, process: Process) -> Environment:
        storage = ProcessFiles(self.files, self.world, process)
        return Environment(
            runner=self.runner,
            clock=WorldClock(self.world, process),
            open_storage=lambda _: storage,
        )

    def _act(self, process: Process, steps: tuple[Step, ...]) -> None:
        for step in steps:
            if step.rest_ms:
                self.world.sleep(step.rest_ms)
            self.do(process, step)

    def do(self, process: Process, step: Step) -> Outcome:
        """Do one step, and note what came of it."""
        outcome = Outcome(process, step, {})
        self.outcomes.append(outcome)
        self._at_work[process.number] = outcome
        process.doing = step.kind
        try:
            outcome.result = self._step(process, step, outcome)
        except HudiError as error:
            outcome.error = error
        outcome.is_over = True
        if self.world.trace is not None:
            said = outcome.error or (outcome.result and outcome.result.status)
            self.world._note(f"= {step}: {said}", process)
        return outcome

    def _step(self, process: Process, step: Step, outcome: Outcome) -> JobResult | None:
        environment = self.environment(process)
        act = self._acts.get(step.kind)
        if act is not None:
            return act(environment)
        assert step.asked is not None
        return self.write(environment, step.asked, outcome)

    def write(self, environment: Environment, asked: Asked, outcome: Outcome) -> JobResult:
        """A write by the pipeline's own protocol, with files that stand in for its own."""
        options = {**self.options, OPERATION: asked.operation.value}
        if asked.partitions:
            options["hoodie.datasource.write.partitions.to.delete"] = ",".join(asked.partitions)
        schema = SCHEMA.append(pa.field(asked.column, pa.string())) if asked.column else SCHEMA
        run = prepare(environment, schema, "/t", options, None)

        def write_files(begun: Begun) -> Written:
            instant = begun.instant.instant
            outcome.asked[instant] = asked
            return stand_ins.write_files(begun, asked)

        return write_at_an_instant(run, write_files)

    def rows_of(self, table: Table, as_of: str | None = None) -> stand_ins.Rows:
        """The rows of a table as readers find them, now or as of an instant."""
        return read_rows(table, as_of)

    def compactions(self, environment: Environment, kind: str) -> CompactionService:
        found = compaction_kind(kind)
        write_slice = {
            COMPACTION_KIND: stand_ins.compact_slice,
            LOG_COMPACTION_KIND: stand_ins.log_compact_slice,
        }[kind]
        return compaction_service(
            environment,
            replace(found, write_slice=write_slice),
            environment.open_storage(""),
            config_of(self.options),
            {},
        )

    @property
    def _acts(self) -> dict[str, Callable[[Environment], JobResult | None]]:
        """What is done in the steps that write no rows."""
        options, plan, logs = self.options, COMPACTION_KIND, LOG_COMPACTION_KIND
        archiving = ArchiveRequest(base_path="/t", hoodie_conf=options)
        return {
            "read": lambda _: self._read(),
            "read old": lambda _: self._read_old(),
            "eager neighbour": _undo_all,
            "loser of the lock": _delete_lock,
            "clean": lambda env: clean_service(
                env, env.open_storage(""), config_of(options)
            ).schedule_and_execute(),
            "compact": lambda env: self.compactions(env, plan).schedule_and_execute(),
            "plan compaction": lambda env: self.compactions(env, plan).schedule(),
            "run compaction": lambda env: _run_oldest(self.compactions(env, plan)),
            "log compact": lambda env: self.compactions(env, logs).schedule_and_execute(),
            "archive": lambda env: archive_table(env, archiving),
            "rollback": self._roll_back,
            "savepoint": self._save,
            "unsavepoint": self._unsave,
        }

    def _roll_back(self, environment: Environment) -> JobResult | None:
        last = load_table(environment.open_storage("")).timeline.last_completed
        if last is None:
            return None
        self._asked_back.add(last.time)
        request = RollbackRequest(base_path="/t", instant=last.time, hoodie_conf=self.options)
        return rollback_table(environment, request)

    def _save(self, environment: Environment) -> JobResult:
        request = SavepointRequest(base_path="/t", mode="create", hoodie_conf=self.options)
        return savepoint_table(environment, request)

    def _unsave(self, environment: Environment) -> JobResult | None:
        table = load_table(environment.open_storage(""))
        saved = [each.time for each in table.timeline if each.action is Action.SAVEPOINT]
        if not saved:
            return None
        request = SavepointRequest(
            base_path="/t", mode="delete", instant=saved[-1], hoodie_conf=self.options
        )
        return savepoint_table(environment, request)

    def _read(self) -> None:
        process = self._process()
        storage = ProcessFiles(self.files, self.world, process)
        first, late_ones = len(self.truth.states) - 1, self.truth.late_ones
        is_seen_late = bool(self.truth.late)
        try:
            found = self.rows_of(load_table(storage))
        except (MissingFileError, ConflictError, StorageError):
            return
        except (DoubleError, CorruptTableError) as error:
            is_behind = any(each.kind is Kind.STALE for each in process.incidents.values())
            if is_behind or is_seen_late or self.truth.late_ones > late_ones:
                return
            raise self._stop(f"a reader met {error}") from None
        is_seen_late = is_seen_late or self.truth.late_ones > late_ones
        if found not in self.truth.states[first:] and not is_seen_late:
            raise self._stop(
                f"a reader saw {_told_rows(found)}, which the table never was meanwhile:"
                f" {[_told_rows(each) for each in self.truth.states[first:]]}"
            )

    def _read_old(self) -> None:
        """Read as of the oldest write whose files the policy of cleans keeps."""
        table = load_table(ProcessFiles(self.files, self.world, self._process()))
        done = table.timeline.write_instants().completed().instants
        instant = done[-self.history.retained].time
        try:
            found = self.rows_of(table, instant)
        except (MissingFileError, CorruptTableError) as error:
            raise self._stop(f"a reader as of {instant}, which is retained: {error}") from None
        if found != self.truth.rows(instant):
            raise self._stop(f"as of {instant} {_difference(found, self.truth.rows(instant))}")

    # -- what is checked -----------------------------------------------------------------------

    def truth_only(self, path: str, is_there: bool) -> None:
        """Note what came to be, and look at nothing."""
        is_commit = is_there and path.endswith("commit")
        is_late = is_commit and self._is_late(path)
        outcome = self._running()
        if is_commit and self.history.is_lazy and self._has_overtaken(path):
            self.is_beyond = True
            self.world.stop()
        self.world.completed += is_commit
        asked = {} if outcome is None else outcome.asked
        if outcome is not None and outcome.asked_always:
            instant = instant_of(path)
            asked = {instant: outcome.asked_always}
        self.truth.note(path, is_there=is_there, is_late=is_late, asked=asked, step=outcome)

    def _has_overtaken(self, path: str) -> bool:
        """Whether a write that was requested later is completed already, or one just now.

        Just now is since the process looked for the last time: it took that writer for dead.
        """
        instant = instant_of(path)
        if self._process().saw < self.world.completed:
            return True
        return any(
            each.asked and each.counts and each.instant > instant for each in self.truth.landed
        )

    def _is_late(self, path: str) -> bool:
        """Whether the write completed at a path was rolled back before; a compaction is run again.

        A run that comes late has lost its files.
        """
        instant = instant_of(path)
        if not self._is_rolled_back(instant):
            return False
        folder = path.rpartition("/")[0]
        if not self.files.exists(f"{folder}/{instant}.compaction.requested"):
            return True
        stats = CommitMetadata.from_bytes(self.files.read(path)).write_stats
        return any(stat.path not in self.files.files for stat in stats)

    def _is_rolled_back(self, instant: str) -> bool:
        """Whether a rollback is on the timeline that undoes the write at an instant."""
        return any(
            instant.encode() in data
            for each, data in self.files.files.items()
            if each.endswith(".rollback.requested") and each.startswith(".hoodie/")
        )

    def _told(self, path: str, is_there: bool) -> None:
        before = len(self.truth.states)
        # The lock was confirmed, and went to others before the next call: no storage can refuse the
        # commit then, and it has to be taken back.
        process = self._process()
        is_past_lock = (
            bool(self.history.lock)
            and process.saw < self.world.completed
            and process.calls - process.asked_lock <= _CONFIRMED_WITHIN
        )
        self.truth_only(path, is_there)
        if not is_there and path.endswith(".rollback.requested"):
            self.truth.judge_late(self._is_rolled_back)
        if len(self.truth.states) > before and not (self.truth.late or self.is_beyond):
            early = self.truth.ends_too_early() if is_there else None
            if is_there and is_past_lock and (early or not self._is_as_told()):
                self.truth.mark_late(path)
                return
            if early:
                raise self._stop(f"{early} appears after a write with a later completion time")
            self._check_now(f"after {path.rpartition('/')[2]} {'appeared' if is_there else 'went'}")

    def _is_as_told(self) -> bool:
        try:
            return self.rows_of(load_table(self.files)) == self.truth.now
        except (DoubleError, HudiError):
            return False

    def _check_now(self, when: str) -> None:
        try:
            found = self.rows_of(load_table(self.files))
        except (DoubleError, HudiError) as error:
            raise self._stop(f"{when}: {error}") from None
        if found != self.truth.now:
            raise self._stop(f"{when} {_difference(found, self.truth.now)}")

    def _stop(self, problem: str) -> WrongTableError:
        if self.problem is None:
            self.problem = problem
        self.world.stop()
        return WrongTableError(problem)

    def _raise_if_wrong(self) -> None:
        if self.problem is not None:
            raise WrongTableError(self.problem)

    def _check_outcomes(self) -> None:
        for each in self.outcomes:
            if each.step.asked is None:
                continue
            result, name = each.result, f"{each.step} of p{each.process.number}"
            landed = [found for found in self.truth.landed if found.by is each]
            if result is not None and result.status == "committed":
                kept = [found for found in landed if found.counts]
                if not kept and result.instant not in self._asked_back:
                    raise WrongTableError(
                        f"{name} was acknowledged at {result.instant}, which is not of the table"
                    )
            elif result is not None or each.error is not None:
                seen = [found.instant for found in landed if found.counts]
                if seen:
                    said = each.error or (result and result.status)
                    raise WrongTableError(
                        f"{name} was refused ({said}), and is of the table at {seen[0]}"
                    )

    def _check_all(self, when: str) -> None:
        """Compare the rows at every instant that can be read."""
        self._check_now(when)
        table = load_table(self.files)
        for instant in table.timeline.write_instants().completed():
            try:
                refuse_unreadable(table, instant.time)
            except (RequestError, ConflictError):
                continue
            try:
                found = self.rows_of(table, instant.time)
            except (DoubleError, HudiError) as error:
                raise WrongTableError(f"{when}, as of {instant.time}: {error}") from None
            wanted = self.truth.rows(instant.time)
            if found != wanted:
                raise WrongTableError(f"{when}, as of {instant.time}, {_difference(found, wanted)}")

    def _aftermath(self) -> None:
        """Somebody writes, compacts and cleans once all is over: nothing of nobody's is left."""
        self.world.now_ms += 7_200_000
        last = Process(99, 99)
        self.world.processes.append(last)
        for kind in (
            "upsert",
            *(("run compaction",) * 3 if self.history.has_logs else ()),
            "clean",
        ):
            asked = None
            if kind == "upsert":
                asked = Asked(stand_ins.Operation.UPSERT, {("x", "last"): "last"})
            done = self.do(last, Step(kind, asked))
            if done.error is not None:
                raise WrongTableError(f"{kind} afterwards: {done.error}")
        self._drop_log_plans(last)
        self._check_archive()
        left = [each for each in leftovers(self.files) if not self._stays_by_right(each)]
        if left:
            raise WrongTableError(f"left behind: {left}")
        self._check_timeline()
        self._check_all("afterwards")

    def _check_archive(self) -> None:
        """Each instant that left the timeline is in the archive, once."""
        archived = [record.identity for record in archived_in(self.files)]
        twice = [each for each in set(archived) if archived.count(each) > 1]
        if twice:
            raise WrongTableError(f"archived twice: {sorted(twice)}")
        there = {each.time for each in load_table(self.files).timeline}
        there |= {time for time, _, _ in archived}
        lost = [
            each.instant for each in self.truth.landed if each.counts and each.instant not in there
        ]
        if lost:
            raise WrongTableError(f"neither on the timeline nor in the archive: {lost}")

    def _check_savepoints(self) -> None:
        """The files of every savepoint are there."""
        table = load_table(self.files)
        gone = saved_files(table.active, table.timeline) - self.files.files.keys()
        if gone:
            raise WrongTableError(f"savepoints have lost {sorted(gone)}")

    def _check_columns(self) -> None:
        """The columns that writes brought are the table's."""
        names = set(load_table(self.files).schema().names)
        for each in self.truth.landed:
            if each.counts and each.asked and each.asked.column not in {"", *names}:
                raise WrongTableError(f"{each.instant} was to add the column {each.asked.column}")

    def _stays_by_right(self, path: str) -> bool:
        """Whether it is the log file of a write that was taken back by a block."""
        if path.startswith(f"{HEARTBEATS}/.waiting-"):
            return True  # of one that died, with a clock that was ahead
        if path.startswith(f"{HEARTBEATS}/.ending-") and path.endswith("-savepoint"):
            return True  # whoever saves that write again takes it
        if ".log." not in path or path not in self.files.files:
            return False
        with self.files.open_input(path) as source:
            blocks = list(iter_blocks(source, path))
        return all(
            each.kind is BlockKind.COMMAND
            or each.instant in self._asked_back
            or self._is_rolled_back(each.instant)
            for each in blocks
        )

    def _drop_log_plans(self, process: Process) -> None:
        if not self.history.has_logs:
            return
        service = self.compactions(self.environment(process), LOG_COMPACTION_KIND)
        while planned := service.oldest_pending():
            service.execute(planned)

    def _check_timeline(self) -> None:
        times: dict[str, str] = {}
        for instant in load_table(self.files).timeline:
            if instant.action in (Action.SAVEPOINT, Action.CLEAN):
                continue  # of the time of a write, or of none
            known = times.setdefault(instant.time, instant.action.value)
            if known != instant.action.value:
                raise WrongTableError(
                    f"{known} and {instant.action.value} have one time, {instant.time}"
                )

    def _make_table(self) -> None:
        made, truth, now_ms = _made(
            type(self), self.history.has_logs, self.history.commits_before, self.history.version
        )
        self.files = made.copy()
        self.files.now_ms = lambda: self.world.now_ms
        self.truth = truth.copy(self._doing)
        self.world.now_ms = now_ms


def _run_oldest(service: CompactionService) -> JobResult:
    return service.execute(service.oldest_pending())


def _undo_all(environment: Environment) -> None:
    """As writers of Hudi do that believe to be alone: whatever is pending is undone."""
    table = load_table(environment.open_storage(""))
    for instant in table.timeline.pending_writes():
        roll_back(table, environment.clock, instant.time)


def _delete_lock(environment: Environment) -> None:
    """As a writer of Hudi does that did not get the lock, and closes (apache/hudi#10412)."""
    environment.open_storage("").delete(".hoodie/lock")


@lru_cache(maxsize=64)
def _made(
    kind: type[Play], has_logs: bool, commits: int, version: int
) -> tuple[Files, Truth, float]:
    """A table with some writes."""
    history = History(seed=0, has_logs=has_logs, actors=(), version=version)
    play = kind(history)
    maker = Process(98, 98)
    play.world.processes.append(maker)
    # Which says what the footers of stand-ins do not.
    schema = dumps(arrow_to_avro(SCHEMA, "orders"))
    config = replace(
        MERGE_ON_READ if has_logs else CONFIG,
        version=TableVersion(version),
        ordering_fields=(),
        raw={"hoodie.table.create.schema": schema},
    )
    create_table(play.files, config)
    play.files.told = play.truth_only
    with _seeded(random.Random(0), play.world):
        for number in range(commits):
            rows = {(partition, key): f"b{number}" for partition in ("x", "y") for key in "ab"}
            if number:
                rows = dict(list(rows.items())[number % 2 :: 2])
            step = Step("upsert", Asked(stand_ins.Operation.UPSERT, rows))
            done = play.do(maker, step)
            assert done.error is None, done.error
            play.world.now_ms += 1_000
    play.files.told = None
    return play.files, play.truth, play.world.now_ms


def _options(history: History) -> dict[str, str]:
    more = {
        "hoodie.client.heartbeat.interval_in_ms": "1000",
        "pyhudi.write.wait.seconds": _WAIT_S,
        "hoodie.clean.commits.retained": str(history.retained),
        "hoodie.keep.min.commits": str(history.retained + 1),
        "hoodie.keep.max.commits": str(history.retained + 2),
        "hoodie.compact.inline.max.delta.commits": "1",
        "hoodie.log.compaction.blocks.threshold": "2",
        "hoodie.write.set.null.for.missing.columns": "true",
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
    }
    if history.lock:
        more |= {
            "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
            "hoodie.write.lock.provider": history.lock,
            "hoodie.write.lock.wait_time_ms": "100000",
            "hoodie.write.lock.client.num_retries": "0",
            "hoodie.write.lock.filesystem.expire": "1",
            "hoodie.write.lock.storage.validity.timeout.secs": "10",
            "hoodie.write.lock.storage.renew.interval.secs": "1",
        }
    if history.is_lazy:
        more["hoodie.clean.failed.writes.policy"] = "LAZY"
    more["hoodie.write.table.version"] = str(history.version)
    kind = "MERGE_ON_READ" if history.has_logs else "COPY_ON_WRITE"
    # By commit time: who is later wins, whatever its clock said.
    ordering = "hoodie.datasource.write.precombine.field"
    return {key: each for key, each in {**options_of(kind), **more}.items() if key != ordering}


def config_of(options: dict[str, str]) -> WriteConfig:
    return _config_by(tuple(sorted(options.items())))


@lru_cache(maxsize=64)
def _config_by(options: tuple[tuple[str, str], ...]) -> WriteConfig:
    return WriteConfig.from_options(dict(options))


def _told_rows(rows: stand_ins.Rows) -> str:
    return " ".join(f"{'/'.join(key)}={value}" for key, value in sorted(rows.items())) or "no rows"


def _difference(found: stand_ins.Rows, wanted: stand_ins.Rows) -> str:
    lost = {key: value for key, value in wanted.items() if found.get(key) != value}
    more = {key: value for key, value in found.items() if wanted.get(key) != value}
    return f"the table has {_told_rows(more)} where it should have {_told_rows(lost)}"


@contextmanager
def _seeded(chooser: random.Random, world: World) -> Iterator[None]:
    """Ids, pauses and marks of processes come from the world."""
    before = clocks.uuid, clocks.random, ProcessMark.here, ProcessMark.is_gone
    kept = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    clocks.uuid = SimpleNamespace(  # type: ignore[attr-defined]
        uuid4=lambda: real_uuid.UUID(int=chooser.getrandbits(128), version=4)
    )
    clocks.random = chooser  # type: ignore[attr-defined]
    marks = {}

    def here() -> ProcessMark:
        process = world.current or world.processes[-1]
        if process.number not in marks:
            marks[process.number] = ProcessMark(
                host=f"host{process.host}",
                boot=None,
                namespace=None,
                pid=process.number,
                started=None,
            )
        return marks[process.number]

    def is_gone(mark: ProcessMark) -> bool:
        process = world.current or world.processes[-1]
        if mark.host != f"host{process.host}":
            return False
        return any(each.number == mark.pid and each.is_dead for each in world.processes)

    ProcessMark.here, ProcessMark.is_gone = staticmethod(here), is_gone  # type: ignore[assignment]
    try:
        yield
    finally:
        clocks.uuid, clocks.random, ProcessMark.here, ProcessMark.is_gone = before  # type: ignore
        logging.disable(kept)
