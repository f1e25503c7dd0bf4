"""Our locks beside those of real Hudi, on one table."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import pytest

from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.errors import LockError, LostLockError
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.lock.opening import open_lock
from tests.interop import hudi_home
from tests.interop.hudi_locks import WITH_STORAGE_LOCKS, HudiLockError, HudiLocks
from tests.support.object_store import StoreServer
from tests.support.servers.hdfs import HdfsServer

FILE_LOCK, STORAGE_LOCK = "FileSystemBasedLockProvider", "StorageBasedLockProvider"
SECONDS_OF_HUDI = 120
LOST = "state FAILED_TO_RELEASE, lock was acquired by others"


@pytest.fixture(scope="module", params=hudi_home.LOCKING)
def locks(request: pytest.FixtureRequest, hudi_home_ready: None) -> Iterator[HudiLocks]:
    with HudiLocks(request.param) as found:
        yield found


@pytest.fixture
def table(tmp_path: Path, locks: HudiLocks) -> Path:
    """A table's folder, and two of Hudi's writers that lock it."""
    (tmp_path / ".hoodie").mkdir()
    for name in ("A", "B"):
        make(locks, name, tmp_path)
    return tmp_path


def make(locks: HudiLocks, name: str, table: Path, expire: int = 0) -> None:
    options = {"hoodie__base__path": table, "hoodie__write__lock__filesystem__expire": expire}
    locks.make(name, FILE_LOCK, **options)


def ours(table: Path, **more: object):
    config = LockConfig(provider=LockProvider.FILE_SYSTEM, wait_ms=200, retries=0, **more)
    return open_lock(open_storage(str(table)), config, SystemClock())


def age(file: Path, seconds: float = SECONDS_OF_HUDI) -> None:
    then = file.stat().st_mtime - seconds
    os.utime(file, (then, then))


def test_where_hudi_holds_the_lock_we_wait(table: Path, locks: HudiLocks) -> None:
    assert locks.lock("A")
    said = r"does not say who it is, as Hudi's do not, holds .*/\.hoodie/lock since"
    with pytest.raises(LockError, match=said), ours(table).hold():
        pass
    locks.unlock("A")
    assert os.listdir(table / ".hoodie") == []
    with ours(table).hold() as held:
        held.confirm()


def test_where_we_hold_the_lock_hudi_waits(table: Path, locks: HudiLocks) -> None:
    # What an earlier file of Hudi's left beside it would make it take ours for damaged.
    (table / ".hoodie" / ".lock.crc").write_bytes(b"crc\0\0\0\2\0\1\2\3\4")
    with ours(table).hold() as held:
        assert not locks.lock("A")
        assert json.loads(locks.owner("A"))["pid"] == os.getpid()
        held.confirm()
    assert locks.lock("A")
    locks.unlock("A")


def test_a_loser_of_hudis_that_deletes_our_lock_is_noticed(table: Path, locks: HudiLocks) -> None:
    with ours(table).hold() as held:
        assert not locks.lock("A")
        locks.close("A")
        assert locks.lock("B"), "Hudi deletes the holder's file: what confirm is for"
        with pytest.raises(LostLockError, match="was taken: a writer that does not say who it is"):
            held.confirm()
    assert (table / ".hoodie" / "lock").exists(), "a lock that was lost is not given back"
    locks.unlock("B")


def test_a_loser_of_hudis_alone_takes_our_lock_too(table: Path, locks: HudiLocks) -> None:
    with ours(table).hold() as held:
        assert not locks.lock("A")
        locks.close("A")
        with pytest.raises(LostLockError, match="gone while this writer held it"):
            held.confirm()


def test_a_lock_that_hudi_left_is_taken_when_its_time_is_over(
    table: Path, locks: HudiLocks
) -> None:
    assert locks.lock("A")
    with pytest.raises(LockError), ours(table, expire_minutes=1).hold():
        pass
    age(table / ".hoodie" / "lock")
    with ours(table, expire_minutes=1).hold() as held:
        held.confirm()
        assert not locks.lock("B")
    assert list((table / ".hoodie").glob("lock*")) == []


def test_a_lock_that_we_left_is_taken_by_hudi_when_its_time_is_over(
    table: Path, locks: HudiLocks
) -> None:
    make(locks, "impatient", table, expire=1)
    with ours(table, expire_minutes=0).hold() as held:
        assert not locks.lock("impatient")
        age(table / ".hoodie" / "lock")
        assert locks.lock("impatient")
        with pytest.raises(LostLockError):
            held.confirm()
    locks.unlock("impatient")


def test_a_lock_that_we_renew_is_left_to_us(table: Path, locks: HudiLocks) -> None:
    make(locks, "impatient", table, expire=1)
    with ours(table, expire_minutes=1).hold() as held:
        age(table / ".hoodie" / "lock")
        held.confirm()
        assert not locks.lock("impatient")


@pytest.fixture(scope="module", params=WITH_STORAGE_LOCKS)
def leases(request: pytest.FixtureRequest, hudi_home_ready: None) -> Iterator[HudiLocks]:
    with HudiLocks(request.param) as found:
        yield found


class OnStore:
    """A table on an object store, which both sides lock."""

    def __init__(self, server: StoreServer, locks: HudiLocks) -> None:
        self.storage = server.new_storage("table")
        self._locks, self._options = (
            locks,
            {
                "hoodie__base__path": self.storage.uri.replace("s3://", "s3a://"),
                "test__endpoint": f"http://127.0.0.1:{server.port}",
            },
        )

    def hudi(self, name: str, **more: object) -> None:
        """Make a writer of Hudi's that locks it."""
        self._locks.make(name, STORAGE_LOCK, **self._options, **more)

    def ours(self, clock: SystemClock | None = None):
        config = LockConfig(provider=LockProvider.STORAGE, wait_ms=200, retries=0)
        return open_lock(self.storage, config, clock or SystemClock())


class Ahead(SystemClock):
    """A clock by which the lease of Hudi's is over as soon as it is granted."""

    def now_ms(self) -> int:
        return super().now_ms() + 12_000


@pytest.fixture
def store(store_server: StoreServer, leases: HudiLocks) -> OnStore:
    found = OnStore(store_server, leases)
    found.hudi("A")
    return found


def test_a_lease_of_hudis_keeps_us_out_until_it_is_given_back(
    store: OnStore, leases: HudiLocks
) -> None:
    assert leases.lock("A")
    said = r"owner [0-9a-f-]{36} holds .* until 20"
    with pytest.raises(LockError, match=said), store.ours().hold():
        pass
    leases.unlock("A")
    with store.ours().hold() as held:
        held.confirm()


def test_a_lease_of_ours_keeps_hudi_out_until_it_is_given_back(
    store: OnStore, leases: HudiLocks
) -> None:
    with store.ours().hold() as held:
        assert not leases.lock("A")
        held.confirm()
        assert not leases.lock("A")
    assert leases.lock("A")
    leases.unlock("A")
    # In turns, on one object.
    for _ in range(3):
        with store.ours().hold() as held:
            held.confirm()
        assert leases.lock("A")
        leases.unlock("A")


def test_a_lease_of_hudis_that_ended_is_ours_and_hudi_cannot_renew_it(
    store: OnStore, leases: HudiLocks
) -> None:
    store.hudi(
        "slow",
        hoodie__write__lock__storage__validity__timeout__secs=10,
        hoodie__write__lock__storage__renew__interval__secs=1,
    )
    assert leases.lock("slow")
    found = json.loads(store.storage.read(".hoodie/.locks/table_lock.json"))
    assert set(found) == {"expired", "validUntil", "owner"}
    with store.ours(clock=Ahead()).hold() as held:
        held.confirm()
        time.sleep(1.5)  # Hudi tries to renew it
        # Of its holder's thread, 1.2 interrupts the work and says so at the end; 1.1 goes on.
        with nullcontext() if leases.version < "1.2" else pytest.raises(HudiLockError, match=LOST):
            leases.unlock("slow")
        held.confirm()


def test_hudi_and_we_note_who_held_the_lock_when(store: OnStore, leases: HudiLocks) -> None:
    text = b'{"STORAGE_LOCK_AUDIT_SERVICE_ENABLED": true}'
    store.storage.put(".hoodie/.locks/audit_enabled.json", text)
    store.hudi("noting")
    for _ in range(2):
        with store.ours().hold() as held:
            held.confirm()
        assert leases.lock("noting")
        leases.unlock("noting")
    spans, forms = [], set()
    for file in store.storage.list(".hoodie/.locks/audit"):
        lines = [json.loads(line) for line in store.storage.read(file.path).splitlines()]
        forms.update(tuple(sorted(line)) for line in lines)
        for begin, end in zip(
            [line for line in lines if line["state"] == "START"],
            [line for line in lines if line["state"] == "END"],
            strict=True,
        ):
            spans.append((begin["timestamp"], end["timestamp"], file.name))
            assert file.name == f"{begin['transactionStartTime']}_{begin['ownerId']}.jsonl"
    assert len(forms) == 1, "both sides write the same lines"
    assert len(spans) == 4
    spans.sort()
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_on_hdfs_both_sides_keep_each_other_out(mini_dfs: HdfsServer, leases: HudiLocks) -> None:
    base = f"{mini_dfs.uri}/locks"
    storage = open_storage(base)
    expire = {"hoodie__write__lock__filesystem__expire": 1}
    leases.make("H", FILE_LOCK, hoodie__base__path=base, **expire)
    config = LockConfig(provider=LockProvider.FILE_SYSTEM, wait_ms=200, retries=0, expire_minutes=1)
    lock = open_lock(storage, config, SystemClock())
    with lock.hold() as held:
        assert not leases.lock("H")
        assert json.loads(leases.owner("H"))["pid"] == os.getpid()
        held.confirm()
    assert leases.lock("H")
    with pytest.raises(LockError), lock.hold():
        pass
    leases.unlock("H")
    with lock.hold() as held:
        held.confirm()
