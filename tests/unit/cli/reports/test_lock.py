"""Who holds the lock of a table, and when it may be broken."""

import io
import json
import os
import time
from pathlib import Path

import pytest

from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.errors import LostLockError
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.heartbeat import start_heartbeat
from pyhudi.transaction.lock.lock_file import lock_text
from pyhudi.transaction.lock.opening import open_lock
from pyhudi.transaction.process import ProcessMark
from tests.support.console import Shell
from tests.support.faulty import dead_pid
from tests.support.object_store import StoreServer

FILE_LOCK = LockConfig(provider=LockProvider.FILE_SYSTEM, wait_ms=1, retries=0)
ELSEWHERE = ProcessMark(host="other", boot=None, namespace=None, pid=7, started=None)
EXPIRE = ("--hoodie-conf", "hoodie.write.lock.filesystem.expire=1")


def held_by(table: Path, text: bytes, minutes_ago: float = 0) -> Path:
    """A lock file of somebody else, so old."""
    path = table / ".hoodie" / "lock"
    path.write_bytes(text)
    then = time.time() - minutes_ago * 60
    os.utime(path, (then, then))
    return path


def text_of(process: ProcessMark, minutes_ago: float = 0) -> bytes:
    return lock_text("token", process, SystemClock().now_ms() - round(minutes_ago * 60_000))


def test_a_free_lock_is_none(pyhudi: Shell, table: Path) -> None:
    found = pyhudi.json("lock", "show", table)
    assert found["held"] is False
    (lock,) = found["locks"]
    assert (lock["provider"], lock["standing"]) == ("FileSystemBasedLockProvider", "free")
    assert lock["path"] == str(table / ".hoodie" / "lock")
    assert pyhudi.json("lock", "break", table, "--yes")["status"] == "nothing_to_do"


def test_a_lock_that_is_held_is_told_with_its_holder(pyhudi: Shell, table: Path) -> None:
    with open_lock(open_storage(str(table)), FILE_LOCK, SystemClock()).hold():
        code, out, _ = pyhudi.outcome("lock", "show", table)
        assert code == 1
        words = ("held", str(os.getpid()), ProcessMark.here().host, "waits until it is given back")
        assert [word for word in words if word not in out] == []


@pytest.mark.parametrize(
    ("process", "minutes", "flags", "standing"),
    [
        (ProcessMark.here(), 60, (), "held"),
        (ProcessMark.here(), 60, EXPIRE, "expired"),
        (ProcessMark.of(dead_pid()), 0, (), "abandoned"),
        (ELSEWHERE, 60, (), "held"),
    ],
)
def test_its_standing_is_that_of_the_options(
    pyhudi: Shell, table: Path, process: ProcessMark, minutes: int, flags, standing: str
) -> None:
    held_by(table, text_of(process, minutes), minutes)
    code, out, _ = pyhudi.outcome("lock", "show", table, *flags, "--json")
    assert f'"standing": "{standing}"' in out
    assert code == (1 if standing == "held" else 0)


@pytest.mark.parametrize(
    ("process", "minutes", "flags"),
    [
        (ProcessMark.of(dead_pid()), 0, ()),
        (ProcessMark.here(), 60, EXPIRE),
        (ELSEWHERE, 60, ()),
        (None, 60, ()),
    ],
)
def test_a_lock_whose_holder_shows_no_sign_of_life_is_broken(
    pyhudi: Shell, table: Path, process: ProcessMark | None, minutes: int, flags
) -> None:
    path = held_by(table, b"" if process is None else text_of(process, minutes), minutes)
    found = pyhudi.json("lock", "break", table, "--yes", *flags)
    assert (found["status"], len(found["broken"])) == ("broken", 1)
    assert not path.exists()


@pytest.mark.parametrize(
    ("process", "minutes", "beats", "flags", "why"),
    [
        (ProcessMark.here(), 60, False, (), "its process runs on this machine"),
        (ELSEWHERE, 1, False, (), "that is not longer than 120 s"),
        (None, 1, False, (), "that is not longer than 120 s"),
        (None, 60, True, (), "the writer of instant 20990101000000000 lives, and may be it"),
        (ELSEWHERE, 0.5, False, EXPIRE, "its time is not over"),
    ],
)
def test_a_lock_whose_holder_seems_to_live_is_broken_by_force_alone(
    pyhudi: Shell, table: Path, process, minutes: float, beats: bool, flags, why: str
) -> None:
    path = held_by(table, b"" if process is None else text_of(process, minutes), minutes)
    if beats:
        start_heartbeat(open_storage(str(table)), "20990101000000000")
    code, out, err = pyhudi.outcome("lock", "break", table, "--yes", *flags)
    assert (code, out) == (3, "")
    assert f"; {why}. A writer whose lock is broken does not commit." in err
    assert path.exists()
    assert pyhudi.json("lock", "break", table, "--yes", "--force", *flags)["status"] == "broken"
    assert not path.exists()


def test_a_writer_whose_lock_is_broken_is_told(pyhudi: Shell, table: Path) -> None:
    with open_lock(open_storage(str(table)), FILE_LOCK, SystemClock()).hold() as held:
        held.confirm()
        pyhudi("lock", "break", table, "--yes", "--force")
        with pytest.raises(LostLockError, match="somebody broke the lock"):
            held.confirm()


class Terminal(io.StringIO):
    """Somebody sits there."""

    def isatty(self) -> bool:
        return True


def test_whoever_sits_there_is_asked(pyhudi: Shell, table: Path, monkeypatch) -> None:
    path = held_by(table, text_of(ELSEWHERE, 60), 60)
    code, _, err = pyhudi.outcome("lock", "break", table)
    assert (code, "nobody can be asked here whether to break the lock; add --yes" in err) == (
        2,
        True,
    )
    monkeypatch.setattr("sys.stdin", Terminal("no\n"))
    code, _, err = pyhudi.outcome("lock", "break", table)
    assert (code, "process 7 on other holds" in err, path.exists()) == (2, True, True)
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    assert pyhudi.outcome("lock", "break", table)[0] == 0
    assert not path.exists()


def test_a_lock_in_another_folder_is_looked_for_there(
    pyhudi: Shell, table: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "locks"
    elsewhere.mkdir()
    (elsewhere / "lock").write_bytes(b"")
    conf = ("--hoodie-conf", f"hoodie.write.lock.filesystem.path={elsewhere}")
    assert pyhudi.outcome("lock", "show", table, *conf)[0] == 1


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("InProcessLockProvider", "which its own process alone can see"),
        ("StorageBasedLockProvider", "which is for object stores"),
    ],
)
def test_a_lock_that_cannot_be_looked_at_is_refused(
    pyhudi: Shell, table: Path, provider: str, said: str
) -> None:
    conf = ("--hoodie-conf", f"hoodie.write.lock.provider={provider}")
    code, _, err = pyhudi.outcome("lock", "show", table, *conf)
    assert (code, said in err) == (2, True)


def test_a_lease_on_an_object_store_is_shown_and_ended(
    pyhudi: Shell, table: Path, store: StoreServer
) -> None:
    storage = store.new_storage()
    properties = ".hoodie/hoodie.properties"
    storage.put(properties, (table / properties).read_bytes())
    place = [storage.uri]
    for name, value in store.options.items():
        place += ["--storage-option", f"{name}={value}"]
    config = LockConfig(provider=LockProvider.STORAGE, wait_ms=1, retries=0)
    with open_lock(storage, config, SystemClock()).hold() as held:
        code, out, _ = pyhudi.outcome("lock", "show", *place, "--json")
        (lock,) = json.loads(out)["locks"]
        assert (code, lock["provider"]) == (1, "StorageBasedLockProvider")
        assert (lock["standing"], lock["process"]) == ("held", os.getpid())
        code, _, err = pyhudi.outcome("lock", "break", *place, "--yes")
        assert (code, "its process runs on this machine" in err) == (3, True)
        assert pyhudi.json("lock", "break", *place, "--yes", "--force")["status"] == "broken"
        with pytest.raises(LostLockError, match="nobody holds it by now"):
            held.confirm()
    assert pyhudi.json("lock", "show", *place)["held"] is False
