"""``pyhudi compact``: services run in this process, without Spark."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from pyhudi.cli.opening import open_given, place_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report
from pyhudi.cli.reports.plans import Plan
from pyhudi.config.known import check_known
from pyhudi.flags import Flag, flags_of, key_values
from pyhudi.jobs.request import Request
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.environment import Environment, environment_on
from pyhudi.runner.in_process import InProcessRunner

_EVERY_COMMAND = ("base_path", "storage_options", "hoodie_conf", "result_path", "verbose")
_ELSEWHERE = ("table", "base_path", "stages")
_KINDS = {
    "instant": Kind.INSTANT,
    "completion_time": Kind.MOMENT,
    "bytes_written": Kind.SIZE,
    "records": Kind.CHANGES,
    "files": Kind.COUNTS,
    "seconds": Kind.SECONDS,
}
_STAGES = (
    Column(name="stage"),
    Column(name="seconds", kind=Kind.SECONDS),
    Column(name="rows", kind=Kind.COUNT),
    Column(name="bytes", kind=Kind.SIZE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service that the command runs: its request, what carries it out, and what only plans it.

    ``plan`` is the report of ``--dry-run``; None where there is none.
    """

    request: type[Request]
    run: Callable[[Environment, Any], JobResult]
    plan: Plan | None = None

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
            **_asked(self.request, given),
        )
        request.check()
        if self.plan is not None and given.dry_run:
            options = request.options()
            check_known(options)
            return self.plan(open_given(given), options)
        environment = environment_on(InProcessRunner(), place.storage_options)
        return _answer(self.run(environment, request), zone_of(open_given(given)))


def own_flags(request: type[Request]) -> dict[str, Flag]:
    """The flags of a request that its command has beside those of every command."""
    return {name: flag for name, flag in flags_of(request).items() if name not in _EVERY_COMMAND}


def pairs_of(request: type[Request]) -> frozenset[str]:
    """The fields of a request that are given as pairs."""
    return frozenset(each.name for each in fields(request) if each.default_factory is dict)


def switches_of(request: type[Request]) -> frozenset[str]:
    """The fields of a request that are given by naming their flag."""
    return frozenset(each.name for each in fields(request) if each.default is False)


def _asked(request: type[Request], given: argparse.Namespace) -> dict[str, Any]:
    """The fields of a request that a command line gives."""
    found = {name: getattr(given, name) for name in own_flags(request)}
    for name in pairs_of(request) & found.keys():
        found[name] = key_values(own_flags(request)[name].name, found[name])
    return {name: value for name, value in found.items() if value is not None}


def _answer(result: JobResult, zone: str) -> Report:
    """What a service did: every entry of its result that says something."""
    told = result.as_dict() | {"seconds": result.seconds.get("total")}
    return Report(
        subject=f"{result.table} at {result.base_path}",
        zone=zone,
        facts=tuple(
            Fact(name=name, value=value, kind=_KINDS.get(name, Kind.TEXT))
            for name, value in told.items()
            if value and name not in _ELSEWHERE
        ),
        grids=(
            Grid(
                name="stages",
                columns=_STAGES,
                rows=tuple(
                    (stage, *(found.get(name) for name in ("seconds", "rows", "bytes")))
                    for stage, found in result.stages.items()
                ),
                empty="nothing was done",
            ),
        ),
    )
