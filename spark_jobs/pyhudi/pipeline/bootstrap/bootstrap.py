"""A dataset becomes a table: looked through, planned, taken over, committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from pyhudi.config.known import check_known
from pyhudi.config.options.bootstrap import BootstrapConfig, SaveMode
from pyhudi.config.options.operations import OnExisting
from pyhudi.config.options.table import TABLE_NAME
from pyhudi.config.write import WriteConfig
from pyhudi.errors import InvariantError
from pyhudi.jobs.bootstrap import BOOTSTRAP, BootstrapRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.bootstrap.dataset.listing import list_source
from pyhudi.pipeline.bootstrap.dataset.source import Source, read_source
from pyhudi.pipeline.bootstrap.dry_run import planned
from pyhudi.pipeline.bootstrap.plan import BootstrapPlan, plan_bootstrap, write_options
from pyhudi.pipeline.bootstrap.run import carry_out
from pyhudi.pipeline.bootstrap.table import (
    check_apart,
    check_save_mode,
    existing_table,
    has_writes,
)
from pyhudi.pipeline.earlier import find_earlier, stamps
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.stopwatch import Stopwatch, with_requests
from pyhudi.pipeline.write_run import WriteRun
from pyhudi.storage.schemes import check_writable
from pyhudi.storage.storage import Storage
from pyhudi.table.committed import EarlierCommit
from pyhudi.table.result import job_result
from pyhudi.table.table import Table
from pyhudi.transaction.gate import OPEN_GATE
from pyhudi.transaction.turn import Turn


def bootstrap_table(environment: Environment, request: BootstrapRequest) -> JobResult:
    """Make a table of the dataset that a request names.

    Raises:
        RequestError: options, source and table do not fit, or the source's rows have no keys.
        ConflictError: other writers were at work for too long; nothing of this one is visible.
        PlatformError: disk, network or runner failed; nothing is visible.
    Guarantees: the table has all rows of the source when this returns, and none of them when it
        raises. The source stays as it is.
    """
    return with_requests(partial(_bootstrap, environment, request))


def _bootstrap(environment: Environment, request: BootstrapRequest) -> JobResult:
    request.check()
    options = request.options()
    check_known(options)
    config = BootstrapConfig.from_options(options)
    storage = environment.open_storage(request.base_path)
    source_storage = environment.open_source(storage, config.source)
    check_writable(storage)
    check_apart(storage, source_storage)
    watch = Stopwatch(TABLE_NAME.read(options), environment.runner)
    job = _Job(
        environment=environment, request=request, config=config, storage=storage, watch=watch
    )
    table = existing_table(storage)
    if table is not None and has_writes(table):
        answer = job.answered_by(table, options)
        if answer is not None:
            return answer
    source = job.looked_through(source_storage)
    write = WriteConfig.from_options(write_options(options, config, source))
    replaces = config.save_mode is SaveMode.OVERWRITE
    plan = plan_bootstrap(storage, config, write, source, replaces=replaces)
    if request.dry_run:
        return planned(plan, watch)
    result = carry_out(plan, job.run(plan))
    return replace(result, operation=BOOTSTRAP, seconds=watch.seconds(), stages=watch.stages())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One request, and what is around it."""

    environment: Environment
    request: BootstrapRequest
    config: BootstrapConfig
    storage: Storage
    watch: Stopwatch

    def answered_by(self, table: Table, options: Mapping[str, str]) -> JobResult | None:
        """The answer where a table with rows is there; None where it is to be replaced.

        Raises: as ``check_save_mode``.
        """
        earlier = self._earlier(table, WriteConfig.from_options(options))
        reason = None if earlier else check_save_mode(table, self.config.save_mode)
        if earlier is None and reason is None:
            return None
        return job_result(
            "nothing_to_do" if earlier is None else "already_committed",
            operation=BOOTSTRAP,
            table=table.config.name,
            base_path=table.storage.uri,
            instant=None if earlier is None else earlier.instant,
            completion_time=None if earlier is None else earlier.completion_time,
            stats=() if earlier is None else earlier.stats,
            seconds=self.watch.seconds(),
            stages=self.watch.stages(),
            reason=reason,
        )

    def _earlier(self, table: Table, write: WriteConfig) -> EarlierCommit | None:
        existing = OnExisting.REUSE if self.config.reuses else OnExisting.APPEND
        slot = replace(write.idempotency.slot, existing=existing)
        asked = replace(write, idempotency=replace(write.idempotency, slot=slot))
        now_ms = self.environment.clock.now_ms()
        return find_earlier(asked, table, now_ms, has_meta_columns=True).commit

    def looked_through(self, storage: Storage) -> Source:
        """What the files of the dataset are and hold."""
        kind = self.request.kind
        with self.watch.stage("list") as noted:
            listing = list_source(storage, kind)
            noted.moved(0, listing.size_bytes)
        with self.watch.stage("inspect") as noted:
            runner = self.environment.runner
            source = read_source(runner, storage, kind, listing, self.config.parallelism)
            noted.moved(source.rows, source.size_bytes)
        return source

    def run(self, plan: BootstrapPlan) -> WriteRun:
        """The write that the bootstrap is; nobody else writes meanwhile, with a lock or without."""
        config = plan.write
        extra = {**config.commit_metadata, **self.request.commit_metadata, **stamps(config)}
        return WriteRun(
            environment=self.environment,
            config=config,
            target=plan.target,
            extra=extra,
            earlier=None,
            replaced=(),
            watch=self.watch,
            turn=Turn(config.concurrency.wait, partial(self.watch.stage, "wait")),
            gate=OPEN_GATE,
            prepare=_never,
        )


def _never() -> NoReturn:
    raise InvariantError("a bootstrap is not prepared twice")
