"""The locks of a table on every kind of storage that can have them."""

import time

import pytest

from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.errors import LockError, LostLockError, PreconditionError, StorageError
from pyhudi.storage.storage import Storage
from pyhudi.storage.touch import touch
from pyhudi.storage.versioned import VersionedStorage, as_versioned
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.lock.lock import TableLock
from pyhudi.transaction.lock.opening import open_lock
from tests.support.backends import storage_on

DISKS = ["local", pytest.param("hdfs", marks=pytest.mark.interop)]
STORES = [
    "moto",
    *(pytest.param(name, marks=pytest.mark.interop) for name in ("versitygw", "azurite")),
]
LOCK_FILE, LOCK_OBJECT = ".hoodie/lock", ".hoodie/.locks/table_lock.json"


@pytest.fixture
def storage(request: pytest.FixtureRequest) -> Storage:
    return storage_on(request.param, request)


def lock_on(storage: Storage, provider: LockProvider, **more: int) -> TableLock:
    config = LockConfig(provider=provider, wait_ms=300, retries=0, **more)
    return open_lock(storage, config, SystemClock())


def swapping(storage: Storage) -> VersionedStorage:
    found = as_versioned(storage)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("storage", "provider", "path"),
    [
        ("local", LockProvider.FILE_SYSTEM, LOCK_FILE),
        pytest.param("hdfs", LockProvider.FILE_SYSTEM, LOCK_FILE, marks=pytest.mark.interop),
        ("moto", LockProvider.STORAGE, LOCK_OBJECT),
        pytest.param("versitygw", LockProvider.STORAGE, LOCK_OBJECT, marks=pytest.mark.interop),
        pytest.param("azurite", LockProvider.STORAGE, LOCK_OBJECT, marks=pytest.mark.interop),
    ],
    indirect=["storage"],
)
def test_one_holds_it_and_is_told_when_it_was_taken(
    storage: Storage, provider: LockProvider, path: str
) -> None:
    with lock_on(storage, provider).hold() as held:
        held.confirm()
        with pytest.raises(LockError, match=r"process \d+ on "), lock_on(storage, provider).hold():
            pass
        held.confirm()
        taken = storage.read(path)
        storage.put(path, taken.replace(b'"owner"', b'"nobody"'))
        with pytest.raises(LostLockError):
            held.confirm()
    storage.delete(path)
    with lock_on(storage, provider).hold() as held:
        held.confirm()


@pytest.mark.parametrize("storage", DISKS, indirect=True)
def test_a_lock_file_is_touched_and_nothing_else(storage: Storage) -> None:
    touch(storage, LOCK_FILE, b"mine")
    assert not storage.exists(LOCK_FILE)
    storage.create(LOCK_FILE, b"theirs")
    before = storage.status(LOCK_FILE)
    time.sleep(0.05)
    touch(storage, LOCK_FILE, b"mine")
    after = storage.status(LOCK_FILE)
    assert storage.read(LOCK_FILE) == b"theirs"
    assert before is not None
    assert after is not None
    assert after.modified_ms > before.modified_ms


@pytest.mark.parametrize("storage", STORES, indirect=True)
def test_a_file_is_swapped_by_its_version_alone(storage: Storage) -> None:
    store = swapping(storage)
    first = store.put_if(LOCK_OBJECT, b"first", None)
    with pytest.raises(PreconditionError):
        store.put_if(LOCK_OBJECT, b"again", None)
    second = store.put_if(LOCK_OBJECT, b"second", first)
    with pytest.raises(PreconditionError):
        store.put_if(LOCK_OBJECT, b"late", first)
    found = store.read_versioned(LOCK_OBJECT)
    assert (found.data, found.version) == (b"second", second)
    assert abs(found.modified_ms - SystemClock().now_ms()) < 60_000
    storage.delete(LOCK_OBJECT)
    with pytest.raises(StorageError):
        store.put_if(LOCK_OBJECT, b"gone", second)
    assert not storage.exists(LOCK_OBJECT)
