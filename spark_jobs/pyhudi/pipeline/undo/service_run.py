"""What a service that changes a table's timeline has around it, from its request to its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pyhudi.actions.rollback import RollbackMetadata
from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.config.known import check_known
from pyhudi.config.write import WriteConfig
from pyhudi.errors import StorageError, UnsupportedError
from pyhudi.jobs.request import Request
from pyhudi.jobs.result import JobResult, Status
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.stopwatch import Stopwatch
from pyhudi.pipeline.undo.deletion import deleting_over_tasks
from pyhudi.services.recovery import writer_of
from pyhudi.table.create import why_not_undone
from pyhudi.table.metadata_table import disable
from pyhudi.table.table import Table, load_table
from pyhudi.timeline.instant import Instant
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.gate import Gate
from pyhudi.transaction.optimistic.conditions import check_no_metadata_table
from pyhudi.transaction.turn import Turn

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRun:
    """One request of a service on one table, as it was when the request came."""

    environment: Environment
    operation: str
    table: Table
    config: WriteConfig
    watch: Stopwatch
    turn: Turn
    gate: Gate

    @classmethod
    def of(cls, environment: Environment, request: Request) -> ServiceRun:
        """The run of a request.

        Raises:
            RequestError: the request is wrong, or writes to a table of its kind are not taken back.
        """
        request.check()
        options = request.options()
        check_known(options)
        config = WriteConfig.from_options(options)
        table = load_table(environment.open_storage(request.base_path))
        what = why_not_undone(table.config)
        if what is not None:
            raise UnsupportedError(
                f"the table {table.config.name} {what}, and its writes are not taken back",
                where=table.storage.uri,
            )
        watch = Stopwatch(table.config.name, environment.runner)
        return cls(
            environment=environment,
            operation=request.operation_name,
            table=table,
            config=config,
            watch=watch,
            turn=Turn(config.concurrency.wait, partial(watch.stage, "wait")),
            gate=environment.gate(table.storage, config),
        )

    def digits(self, instant: str) -> str:
        """The instant that a request names, as the table's timeline has it."""
        return parse_exact_instant(instant).on(self.table.config.timezone)

    def writer(self) -> Writer:
        """One who writes the table."""
        writer = writer_of(
            self.table,
            self.environment.clock,
            self.config.heartbeat,
            self.turn,
            gate=self.gate,
            concurrency=self.config.concurrency,
        )
        return deleting_over_tasks(writer, self.environment.runner, self.config)

    def in_turn(self, attempt: Callable[[], T]) -> T:
        """What an attempt gives, once no other writer is in its way."""
        return self.turn.take(self.writer, attempt)

    def without_metadata_table(self) -> None:
        """See to it that no metadata table of Hudi's goes stale.

        Raises:
            UnsupportedError: there is one, and others may be writing it.
        """
        if self.gate.is_shared:
            check_no_metadata_table(self.table)
        if self.table.config.metadata_partitions:
            disable(self.table.storage, self.table.config)

    def result(self, status: Status, instant: Instant | None = None, **more: Any) -> JobResult:
        """The answer; ``instant`` is what the service left on the timeline."""
        return JobResult(
            status=status,
            operation=self.operation,
            table=self.table.config.name,
            base_path=self.table.storage.uri,
            instant=None if instant is None else instant.time,
            completion_time=None if instant is None else self._completion_time(instant),
            seconds=self.watch.seconds(),
            stages=self.watch.stages(),
            **more,
        )

    def _completion_time(self, instant: Instant) -> str | None:
        try:
            return self.table.active.completion_time(instant)
        except StorageError:
            return None  # it is done, whatever can be seen of it


def deleted_files(rollbacks: Iterable[RollbackMetadata]) -> dict[str, int]:
    """How many files rollbacks deleted, and how many got a block that takes others back."""
    found = [part for done in rollbacks for part in done.partitions.values()]
    return {
        "deleted": sum(len(part.deleted) for part in found),
        "appended": sum(len(part.log_files) for part in found),
    }
