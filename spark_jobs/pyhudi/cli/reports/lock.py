"""``pyhudi lock show`` and ``pyhudi lock break``: who holds the lock of a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from pyhudi.cli.opening import open_given, place_of, subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report, Value
from pyhudi.config.known import check_known
from pyhudi.config.options.locks import PROVIDER, LockProvider
from pyhudi.config.write import WriteConfig
from pyhudi.errors import ConflictError, OptionError, UnsupportedError
from pyhudi.storage.schemes import open_storage
from pyhudi.table.table import Table
from pyhudi.timeline.clock import SystemClock, instant_time
from pyhudi.transaction.heartbeat import instants_with_heartbeat, is_alive, names_beside_heartbeats
from pyhudi.transaction.lock.file_system import FileSystemLock
from pyhudi.transaction.lock.opening import file_system_lock, storage_lock
from pyhudi.transaction.lock.state import LockState
from pyhudi.transaction.lock.storage_based import StorageLock
from pyhudi.transaction.process import ProcessMark

_LOCKS = (
    Column(name="provider"),
    Column(name="standing"),
    Column(name="since", kind=Kind.MOMENT),
    Column(name="until", kind=Kind.MOMENT),
    Column(name="process", rank=1),
    Column(name="host", rank=1),
    Column(name="owner", rank=2, least=12),
    Column(name="path", rank=3, least=20),
)
_MEANINGS = {
    "held": "Who wants to write waits until it is given back.",
    "expired": "The time of the holder is over: whoever wants the lock next takes it.",
    "abandoned": "The process of the holder has ended: whoever wants the lock next takes it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A lock of a table, and how it was found."""

    provider: LockProvider
    lock: FileSystemLock | StorageLock
    state: LockState


def show_lock(given: argparse.Namespace) -> Report:
    """Who holds the lock of a table, since when and until when."""
    table = open_given(given)
    seen = _seen(given, table, _config(given))
    standings = dict.fromkeys(each.state.standing for each in seen)
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(Fact(name="held", value=any(each.state.is_held for each in seen)),),
        grids=(_grid("locks", table, seen),),
        notes=tuple(_MEANINGS[found] for found in standings if found in _MEANINGS),
        has_findings=any(each.state.is_held for each in seen),
    )


def break_lock(given: argparse.Namespace) -> Report:
    """Take the lock of a table from a holder that does not give it back.

    Raises:
        ConflictError: the holder lives, as far as can be seen, and nothing says to do it all the
            same; or it gave the lock back meanwhile, and another took it.
        OptionError: nobody is there to be asked.
    """
    table, config = open_given(given), _config(given)
    there = [each for each in _seen(given, table, config) if each.state.standing != "free"]
    if not there:
        return Report(
            subject=subject_of(table),
            zone=zone_of(table),
            facts=(Fact(name="status", value="nothing_to_do"),),
            notes=("Nobody holds the lock of this table.",),
        )
    for each in there:
        life = _sign_of_life(table, config, each.state)
        if life and not given.force:
            raise ConflictError(
                f"{each.state.told()}; {life}. A writer whose lock is broken does not commit. Wait "
                "for it, stop it, or break the lock all the same with --force",
                where=table.storage.uri,
            )
    if not given.yes:
        _ask(there)
    for each in there:
        if not each.lock.take_away(each.state):
            raise ConflictError(
                "the lock was given back, or taken by another, in this very moment; look again "
                "with pyhudi lock show",
                where=each.state.path,
            )
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(Fact(name="status", value="broken"),),
        grids=(_grid("broken", table, there),),
        notes=("Whoever held it is told so before it commits, and fails; Hudi's are not told.",),
    )


def _config(given: argparse.Namespace) -> WriteConfig:
    options = place_of(given).hoodie_conf
    check_known(options)
    return WriteConfig.from_options(options)


def _seen(given: argparse.Namespace, table: Table, config: WriteConfig) -> list[_Seen]:
    """The locks that writers of a table may take, by the options or else by its storage."""
    asked, lock, clock = config.concurrency.lock.provider, config.concurrency.lock, SystemClock()
    if asked is LockProvider.IN_PROCESS:
        raise OptionError(f"{PROVIDER.key} is {asked.value}, which its own process alone can see")
    opener = partial(open_storage, storage_options=place_of(given).storage_options)
    makers: Mapping[LockProvider, Callable[[], FileSystemLock | StorageLock]] = {
        LockProvider.FILE_SYSTEM: lambda: file_system_lock(table.storage, lock, clock, opener),
        LockProvider.STORAGE: lambda: storage_lock(table.storage, lock, clock),
    }
    if asked is not None:
        made = makers[asked]()
        return [_Seen(provider=asked, lock=made, state=made.look())]
    found: list[_Seen] = []
    for provider, make in makers.items():
        with suppress(UnsupportedError):
            made = make()
            found.append(_Seen(provider=provider, lock=made, state=made.look()))
    return found


def _sign_of_life(table: Table, config: WriteConfig, state: LockState) -> str | None:
    """Why the holder of a lock is to be taken for alive; None where nothing speaks for it."""
    if not state.is_held:
        return None
    if state.process is not None and _is_here(state.process):
        return "its process runs on this machine"
    now_ms, heartbeat = SystemClock().now_ms(), config.heartbeat
    if state.until_ms is not None and now_ms <= state.until_ms:
        return "its time is not over"
    span_ms = heartbeat.interval_ms * heartbeat.tolerable_misses
    if state.since_ms is not None and now_ms - state.since_ms <= span_ms:
        return f"that is not longer than {span_ms / 1000:g} s"
    instants = instants_with_heartbeat(names_beside_heartbeats(table.storage))
    alive = [
        each for each in instants if is_alive(table.storage, each, now_ms=now_ms, config=heartbeat)
    ]
    return f"the writer of instant {alive[0]} lives, and may be it" if alive else None


def _is_here(process: ProcessMark) -> bool:
    """Whether a process that has not ended is one of this machine."""
    here = ProcessMark.here()
    places = ((each.host, each.boot, each.namespace) for each in (process, here))
    return len(set(places)) == 1


def _ask(there: Iterable[_Seen]) -> None:
    """Go on if whoever sits there says yes.

    Raises:
        OptionError: nobody sits there, or the answer is another.
    """
    if not sys.stdin.isatty():
        raise OptionError("nobody can be asked here whether to break the lock; add --yes")
    for each in there:
        sys.stderr.write(f"{each.state.told()}.\n")
    sys.stderr.write("Break the lock? Type yes: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise OptionError("the lock was not broken")


def _grid(name: str, table: Table, seen: Iterable[_Seen]) -> Grid:
    rows = tuple(tuple(_row(table, each).get(column.name) for column in _LOCKS) for each in seen)
    return Grid(name=name, columns=_LOCKS, rows=rows, empty="none that can be looked at")


def _row(table: Table, seen: _Seen) -> Mapping[str, Value]:
    state, zone = seen.state, table.config.timezone
    process = state.process
    return {
        "provider": seen.provider.value,
        "standing": state.standing,
        "since": None if state.since_ms is None else instant_time(state.since_ms, zone),
        "until": None if state.until_ms is None else instant_time(state.until_ms, zone),
        "process": None if process is None else process.pid,
        "host": None if process is None else process.host,
        "owner": state.owner,
        "path": state.path,
    }
