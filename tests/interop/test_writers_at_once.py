"""Ours and real Hudi's writers on one table, under the lock file that both honour."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import ConflictError, UnsupportedError
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from tests.interop import hudi_home
from tests.interop.hudi import HudiError, RealHudi
from tests.support.local_rows import LocalRows
from tests.support.orders import HERE, LOGGED, OPERATION, OPTIONS, orders
from tests.support.rivals import BEGUN, LossyLock

pytestmark = pytest.mark.parametrize("hudi", hudi_home.RIVALS, indirect=True, scope="session")

TYPES = {"rewritten": OPTIONS, "logged": LOGGED}
LOCKED = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": (
        "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    ),
    "hoodie.write.lock.client.wait_time_ms_between_retry": "300",
    "hoodie.metadata.enable": "false",
}
HUDIS = {
    **LOCKED,
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.compact.inline": "false",
}
ROUNDS = 4


@pytest.fixture(params=TYPES)
def options(request: pytest.FixtureRequest) -> dict[str, str]:
    return {**TYPES[request.param], **LOCKED}


class Beside:
    """A storage that does something once, before a file is created that has ``at`` in its path."""

    def __init__(self, inner: Storage, act: Callable[[], object], at: str = BEGUN) -> None:
        self._inner, self._acts, self._at = inner, [act], at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create(self, path: str, data: bytes) -> None:
        if self._at in f"{path}$" and self._acts:
            self._acts.pop()()
        self._inner.create(path, data)


def write(
    path: Path,
    rows: pa.Table,
    options: dict[str, str],
    operation: str = "upsert",
    meanwhile: Callable[[], object] | None = None,
    at: str = BEGUN,
    lock: LossyLock | None = None,
) -> JobResult:
    """Our write; something else may be done once it has begun, before it writes its files.

    ``at`` names another moment, and ``lock`` takes the place of the real one.
    """
    environment = replace(HERE, runner=InProcessRunner())
    if meanwhile is not None:
        opened = Beside(open_storage(str(path)), meanwhile, at)
        environment = replace(environment, open_storage=lambda _: opened)
    if lock is not None:
        environment = replace(environment, open_lock=lambda *_: lock)
    source = LocalRows.of(environment.runner, rows)
    return write_rows(environment, source, str(path), {**options, OPERATION: operation})


def rows_of(table: pa.Table) -> dict[str, tuple[int, str]]:
    found = dict[str, tuple[int, str]]()
    columns = (table[name].to_pylist() for name in ("id", "ts", "value"))
    for key, ts, value in zip(*columns, strict=True):
        assert key not in found, f"{key} is there twice"
        found[key] = ts, value
    return found


def assert_rows(path: Path, hudi: RealHudi, wanted: dict[str, tuple[int, str]]) -> None:
    """Both read these rows, each once."""
    assert rows_of(pyhudi.read_table(str(path))) == wanted
    assert rows_of(hudi.read_arrow(path)) == wanted


def test_they_take_turns_and_meet(tmp_path: Path, hudi: RealHudi, options: dict[str, str]) -> None:
    path = tmp_path / "orders"
    write(path, orders(("a", "x", 1, "o"), ("b", "y", 1, "o")), options)
    hudi.write(path, orders(("a", "x", 2, "h"), ("c", "x", 2, "h")), options=HUDIS)
    write(path, orders(("c", "x", 3, "o")), options)
    wanted = {"a": (2, "h"), "b": (1, "o"), "c": (3, "o")}
    assert_rows(path, hudi, wanted)

    other = partial(hudi.write, path, orders(("a", "x", 4, "h")), options=HUDIS)
    done = write(path, orders(("c", "x", 5, "o")), options, meanwhile=other)
    assert (done.conflicts, done.anomaly) == (1, None)
    wanted.update(a=(4, "h"), c=(5, "o"))
    assert_rows(path, hudi, wanted)

    elsewhere = partial(hudi.write, path, orders(("b", "y", 6, "h")), options=HUDIS)
    done = write(path, orders(("c", "x", 7, "o")), options, meanwhile=elsewhere)
    assert done.conflicts == 0
    wanted.update(b=(6, "h"), c=(7, "o"))
    assert_rows(path, hudi, wanted)

    new = partial(hudi.write, path, orders(("n", "z", 8, "h")), options=HUDIS)
    done = write(path, orders(("n", "z", 9, "o")), options, meanwhile=new)
    assert done.conflicts == 1, "both insert one key into a new partition"
    wanted.update(n=(9, "o"))
    assert_rows(path, hudi, wanted)
    assert not (path / ".hoodie" / "lock").exists()
    assert hudi.failures(path) == []


def test_a_write_of_hudis_in_single_writer_mode_is_told_apart(
    tmp_path: Path, hudi: RealHudi, options: dict[str, str]
) -> None:
    """It undoes ours, which has not committed."""
    path = tmp_path / "orders"
    write(path, orders(("a", "x", 1, "o")), options)
    alone = {"hoodie.metadata.enable": "false"}
    other = partial(hudi.write, path, orders(("b", "y", 2, "h")), options=alone)
    with pytest.raises(ConflictError, match=r"never late.*runs in single-writer mode") as raised:
        write(path, orders(("a", "x", 3, "o")), options, meanwhile=other)
    # There may be others than the one that is told.
    rollbacks = [each.name for each in (path / ".hoodie").rglob("*.rollback.requested")]
    named = re.search(r"\(rollback (\d{17}), beside which ", str(raised.value))
    assert named is not None
    assert f"{named[1]}.rollback.requested" in rollbacks
    assert re.search(r" (delta)?commit \d{17} \(UPSERT\) began\);", str(raised.value))
    assert_rows(path, hudi, {"a": (1, "o"), "b": (2, "h")})


def test_a_commit_that_is_taken_back_leaves_a_table_for_both(
    tmp_path: Path, hudi: RealHudi, options: dict[str, str]
) -> None:
    """Hudi slips in after our last look, as when its loser has deleted our lock file."""
    path = tmp_path / "orders"
    write(path, orders(("a", "x", 1, "o"), ("b", "x", 1, "o")), options)
    rivals = [partial(hudi.write, path, orders(("b", "x", 2, "h")), options=HUDIS)]
    lock = LossyLock(before_confirm=lambda: rivals.pop()() if rivals else None)
    done = write(path, orders(("a", "x", 3, "o")), options, lock=lock)
    assert (done.conflicts, done.anomaly) == (1, None)
    assert len(list((path / ".hoodie").rglob("*.rollback"))) == 1
    assert_rows(path, hudi, {"a": (3, "o"), "b": (2, "h")})
    assert_both_go_on(path, hudi, options)


def test_a_commit_that_hudi_had_rolled_back_leaves_a_table_for_both(
    tmp_path: Path, hudi: RealHudi, options: dict[str, str]
) -> None:
    """Hudi in single-writer mode undoes ours between our last look and our commit."""
    path = tmp_path / "orders"
    alone = {key: value for key, value in options.items() if key not in LOCKED}
    write(path, orders(("a", "x", 1, "o"), ("b", "x", 1, "o")), alone)
    eager = {"hoodie.metadata.enable": "false"}
    seen = []

    def other() -> None:
        hudi.write(path, orders(("b", "x", 2, "h")), options=eager)
        seen.append(rows_of(hudi.read_arrow(path)))

    with pytest.raises(ConflictError, match="rolled back by another writer"):
        write(path, orders(("a", "x", 3, "o")), alone, meanwhile=other, at="commit$")
    assert rows_of(pyhudi.read_table(str(path))) == {"a": (1, "o"), "b": (2, "h")}
    # 0.15 stops reading a log at its own rollback, which is later than its commit (HUDI-8248).
    assert [rows_of(hudi.read_arrow(path))] == seen
    write(path, orders(("a", "x", 3, "o")), alone)
    assert_rows(path, hudi, {"a": (3, "o"), "b": (2, "h")})
    assert_both_go_on(path, hudi, options)


def assert_both_go_on(path: Path, hudi: RealHudi, options: dict[str, str]) -> None:
    """Each writes on the table as the two have left it; Hudi finds nothing wrong."""
    assert hudi.failures(path) == []
    hudi.write(path, orders(("a", "x", 8, "h"), ("c", "x", 8, "h")), options=HUDIS)
    write(path, orders(("b", "x", 9, "o")), options)
    assert_rows(path, hudi, {"a": (8, "h"), "b": (9, "o"), "c": (8, "h")})
    assert hudi.failures(path) == []


def test_a_neighbour_that_keeps_a_metadata_table_is_refused_until_it_does_not(
    tmp_path: Path, hudi: RealHudi, options: dict[str, str]
) -> None:
    path = tmp_path / "orders"
    write(path, orders(("a", "x", 1, "o")), options)
    keeping = {**HUDIS, "hoodie.metadata.enable": "true"}
    hudi.write(path, orders(("b", "y", 2, "h")), options=keeping)
    before = sorted(path.rglob("*"))
    with pytest.raises(UnsupportedError, match=r"set hoodie\.metadata\.enable=false for all"):
        write(path, orders(("a", "x", 3, "o")), options)
    assert sorted(path.rglob("*")) == before
    assert rows_of(hudi.read_arrow(path, metadata=True)) == {"a": (1, "o"), "b": (2, "h")}

    alone = {key: value for key, value in options.items() if key not in LOCKED}
    write(path, orders(("a", "x", 4, "o")), alone)
    write(path, orders(("b", "y", 5, "o")), options)
    hudi.write(path, orders(("c", "x", 6, "h")), options=HUDIS)
    assert_rows(path, hudi, {"a": (4, "o"), "b": (5, "o"), "c": (6, "h")})


def test_of_many_at_once_whatever_is_acknowledged_is_there(
    tmp_path: Path, hudi: RealHudi, options: dict[str, str]
) -> None:
    path = tmp_path / "orders"
    keys = [("a", "x"), ("b", "x"), ("c", "y")]
    write(path, orders(*((key, part, 1, "first") for key, part in keys)), options)
    wanted = {key: (1, "first") for key, _ in keys}
    landed: list[tuple[str, int, str]] = []
    refused: list[str] = []

    def run(name: str, first: int, put: Callable[[pa.Table], object]) -> None:
        for number in range(ROUNDS):
            ts = first + number * 10
            chosen = [keys[number % 3], keys[(number + 1) % 3], (f"{name}{number}", "x")]
            rows = [(key, part, ts, f"{name}{number}") for key, part in chosen]
            try:
                put(orders(*rows))
            except (ConflictError, HudiError) as error:
                refused.append(f"{type(error)} {error}")
            else:
                landed.extend((key, ts, value) for key, _, ts, value in rows)

    ours = partial(write, path, options=options)
    theirs = partial(hudi.write, path, options=HUDIS)
    threads = [
        threading.Thread(target=run, args=("o", 100, ours)),
        threading.Thread(target=run, args=("p", 101, ours)),
        threading.Thread(target=run, args=("h", 102, theirs)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key, ts, value in sorted(landed, key=lambda each: each[1]):
        wanted[key] = ts, value
    assert landed, refused
    assert all("Conflict" in text for text in refused), refused
    assert_rows(path, hudi, wanted)
