"""Processes that race for the lock of one table on a server that compares and swaps for real."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import count

import pytest

from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from tests.support.servers.object_stores import S3Server
from tests.support.servers.proxy import BROKEN, SLOW_DOWN, DropAnswer, Proxy

pytestmark = pytest.mark.interop

LOCK = ".hoodie/.locks/table_lock.json"
TURNS = 12
WRITERS = 4
_numbers = count()

WRITER = """
import json, sys, time
from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.errors import LostLockError
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.lock.opening import open_lock

uri, options, settings, turns, pause = sys.argv[1:]
storage = open_storage(uri, json.loads(options))
config = LockConfig(provider=LockProvider.STORAGE, **json.loads(settings))
lost = 0
for _ in range(int(turns)):
    with open_lock(storage, config, SystemClock()).hold() as held:
        found = int(storage.read("count"))
        print("held", flush=True)
        time.sleep(float(pause))
        try:
            held.confirm()
        except LostLockError:
            lost += 1
            continue
        storage.put("count", str(found + 1).encode())
print("lost", lost, flush=True)
"""


@pytest.fixture
def bucket(versitygw: S3Server) -> str:
    name = f"locks-{os.getpid()}-{next(_numbers)}"
    versitygw.make_bucket(name)
    return name


@pytest.fixture
def storage(versitygw: S3Server, bucket: str) -> Storage:
    found = open_storage(f"s3://{bucket}/table", versitygw.options)
    found.put("count", b"0")
    found.put(".hoodie/.locks/audit_enabled.json", b'{"STORAGE_LOCK_AUDIT_SERVICE_ENABLED": true}')
    return found


def start(
    server: S3Server, bucket: str, turns: int = TURNS, pause: float = 0, **settings: int
) -> subprocess.Popen[str]:
    """A process that counts up under the lock, so often, and pauses each time it has it."""
    return subprocess.Popen(
        [
            *(sys.executable, "-c", WRITER, f"s3://{bucket}/table", json.dumps(server.options)),
            *(json.dumps(settings), str(turns), str(pause)),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def lost(process: subprocess.Popen[str]) -> int:
    """How often a process was told that it had lost the lock."""
    out, _ = process.communicate(timeout=180)
    assert process.returncode == 0
    return int(out.split()[-1])


def noted(storage: Storage, path: str) -> tuple[str, ...]:
    """What a holder noted of its lock."""
    return tuple(json.loads(line)["state"] for line in storage.read(path).splitlines())


def test_processes_that_count_under_the_lease_count_right(
    versitygw: S3Server, bucket: str, storage: Storage
) -> None:
    writers = [start(versitygw, bucket) for _ in range(WRITERS)]
    assert sum(map(lost, writers)) == 0
    assert storage.read("count") == str(WRITERS * TURNS).encode()
    files = storage.list(".hoodie/.locks/audit")
    assert len(files) == WRITERS * TURNS
    assert {noted(storage, file.path) for file in files} == {("START", "RENEW", "END")}
    assert json.loads(storage.read(LOCK))["expired"] is True


@pytest.mark.slow
def test_answers_that_are_lost_or_bad_let_nobody_count_twice(
    versitygw: S3Server, bucket: str, storage: Storage, proxy: Proxy
) -> None:
    faulty = versitygw.behind(proxy.port)
    rule = proxy.fail(DropAnswer(), kind="PutObject", key="*table_lock.json", chance=0.15)
    proxy.fail(SLOW_DOWN, key="*table_lock.json", chance=0.05)
    proxy.fail(BROKEN, key="*table_lock.json", chance=0.05)
    writers = [start(faulty, bucket, turns=5) for _ in range(WRITERS)]
    assert sum(map(lost, writers)) == 0
    assert storage.read("count") == str(WRITERS * 5).encode()
    assert rule.met


@pytest.mark.slow
def test_a_holder_that_was_stopped_past_its_lease_does_not_count(
    versitygw: S3Server, bucket: str, storage: Storage
) -> None:
    lease = {"validity_s": 10, "renew_s": 1}
    slow = start(versitygw, bucket, turns=1, pause=0.5, **lease)
    assert slow.stdout
    assert slow.stdout.readline() == "held\n"
    slow.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    fast = start(versitygw, bucket, turns=3, **lease)
    assert lost(fast) == 0
    # Nobody on this machine takes one that was stopped for dead.
    assert time.monotonic() - began > 9
    assert storage.read("count") == b"3"
    slow.send_signal(signal.SIGCONT)
    assert lost(slow) == 1
    assert storage.read("count") == b"3"


def test_a_holder_that_was_killed_here_is_followed_at_once(
    versitygw: S3Server, bucket: str, storage: Storage
) -> None:
    dead = start(versitygw, bucket, turns=1, pause=60)
    assert dead.stdout
    assert dead.stdout.readline() == "held\n"
    dead.kill()
    dead.communicate()
    began = time.monotonic()
    assert lost(start(versitygw, bucket, turns=1)) == 0
    assert time.monotonic() - began < 60
    assert storage.read("count") == b"1"
