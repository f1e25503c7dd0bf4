"""``pyhudi compact``, ``pyhudi clean`` and the like: services in this process, without Spark."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, TypeAlias

from pyhudi.cli.opening import open_given, place_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report
from pyhudi.config.known import check_known
from pyhudi.flags import Flag, flags_of, key_values
from pyhudi.jobs.request import Request
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.savepoint import LIST_SAVEPOINTS
from pyhudi.pipeline.environment import Environment, environment_on
from pyhudi.pipeline.stopwatch import with_requests
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.table.table import Table
from pyhudi.timeline.clock import instant_time

Plan: TypeAlias = Callable[[Table, Any], Report]
"""What a service would do to a table now, by its request."""

_EVERY_COMMAND = (
    *("base_path", "storage_options", "hoodie_conf", "result_path", "verbose"),
    "dry_run",
)
_OF_COMMITS = ("commit_metadata", "idempotency_key", "idempotency_since")
_ELSEWHERE = ("table", "base_path", "stages", "savepoints")
_KINDS = {
    "instant": Kind.INSTANT,
    "completion_time": Kind.MOMENT,
    "bytes_written": Kind.SIZE,
    "bytes_deleted": Kind.SIZE,
    "records": Kind.CHANGES,
    "files": Kind.COUNTS,
    "seconds": Kind.SECONDS,
}
_NOT_DONE = "This is what would be done now; nothing was changed."
_STAGES = (
    Column(name="stage"),
    Column(name="seconds", kind=Kind.SECONDS),
    Column(name="rows", kind=Kind.COUNT),
    Column(name="bytes", kind=Kind.SIZE),
)
_SAVEPOINTS = (
    Column(name="instant", kind=Kind.INSTANT),
    Column(name="made", kind=Kind.MOMENT),
    Column(name="user", least=8),
    Column(name="files", kind=Kind.COUNT),
    Column(name="comment", least=16),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service that the command runs: its request, what carries it out, and what only plans it.

    ``plan`` is the report of ``--dry-run``; None where there is none. ``is_commit`` when it leaves
    a commit, which can carry extra metadata and an idempotency key.
    """

    request: type[Request]
    run: Callable[[Environment, Any], JobResult]
    plan: Plan | None = None
    is_commit: bool = False

    @property
    def flags(self) -> dict[str, Flag]:
        """The flags that its command has beside those of every command, by field."""
        left_out = _EVERY_COMMAND if self.is_commit else (*_EVERY_COMMAND, *_OF_COMMITS)
        found = flags_of(self.request)
        return {name: flag for name, flag in found.items() if name not in left_out}

    @property
    def plan_flags(self) -> dict[str, Flag]:
        """Those of its flags that stand for options, by which a plan is made."""
        return {
            name: flag
            for name, flag in self.flags.items()
            if flag.option is not None and name not in _OF_COMMITS
        }

    def report(self, given: argparse.Namespace) -> Report:
        """Carry out what a command line asks for, or say what would be done.

        Raises:
            HudiError: as the service.
        """
        place = place_of(given)
        request = self.request(
            base_path=place.path,
            storage_options=place.storage_options,
            hoodie_conf=place.hoodie_conf,
            **self._asked(given),
        )
        request.check()
        if self.plan is not None and given.dry_run:
            check_known(request.options())
            report = self.plan(open_given(given), request)
            return replace(report, notes=(*report.notes, _NOT_DONE))
        environment = environment_on(InProcessRunner(), place.storage_options)
        result = with_requests(lambda: self.run(environment, request))
        return _answer(result, open_given(given))

    def _asked(self, given: argparse.Namespace) -> dict[str, Any]:
        """The fields of the request that a command line gives."""
        flags = self.flags
        found = {name: getattr(given, name, None) for name in flags}
        for name in pairs_of(self.request) & flags.keys():
            found[name] = key_values(flags[name].name, found[name] or ())
        return {name: value for name, value in found.items() if value is not None}


def pairs_of(request: type[Request]) -> frozenset[str]:
    """The fields of a request that are given as pairs."""
    return frozenset(each.name for each in fields(request) if each.default_factory is dict)


def switches_of(request: type[Request]) -> frozenset[str]:
    """The fields of a request that are given by naming their flag."""
    return frozenset(each.name for each in fields(request) if each.default is False)


def required_of(request: type[Request]) -> frozenset[str]:
    """The fields of a request that have to be given."""
    return frozenset(
        each.name
        for each in fields(request)
        if each.default is MISSING and each.default_factory is MISSING
    )


def _answer(result: JobResult, table: Table) -> Report:
    """What a service did: every entry of its result that says something."""
    told = result.as_dict() | {"seconds": result.seconds.get("total")}
    zone = table.config.timezone
    saved = tuple(
        (
            each["instant"],
            instant_time(each["created_ms"], zone),
            *(each[name] for name in ("user", "files", "comment")),
        )
        for each in result.savepoints
    )
    stages = tuple(
        (stage, *(found.get(name) for name in ("seconds", "rows", "bytes")))
        for stage, found in result.stages.items()
    )
    grids = []
    if saved or result.operation == LIST_SAVEPOINTS:
        grids.append(Grid(name="savepoints", columns=_SAVEPOINTS, rows=saved))
    if stages:
        grids.append(Grid(name="stages", columns=_STAGES, rows=stages))
    return Report(
        subject=f"{result.table} at {result.base_path}",
        zone=zone_of(table),
        facts=tuple(
            Fact(name=name, value=value, kind=_KINDS.get(name, Kind.TEXT))
            for name, value in told.items()
            if value and name not in _ELSEWHERE
        ),
        grids=tuple(grids),
    )
