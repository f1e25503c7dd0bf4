"""The lock that is a lease: taken and renewed by compare and swap, lost, and given back."""

import json
import os
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

import pytest

from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.errors import LockError, LostLockError, StorageError, UnsupportedError
from pyhudi.storage.schemes import open_storage
from pyhudi.transaction.lock.lease import Lease
from pyhudi.transaction.lock.opening import open_lock, storage_lock
from pyhudi.transaction.lock.storage_based import LOCK_OBJECT, StorageLock
from pyhudi.transaction.process import ProcessMark
from tests.support.clocks import FakeClock
from tests.support.faulty import dead_pid
from tests.support.versions import Answer, VersionedMemory

NOW = 1_767_225_600_000
SECOND = 1000
AUDIT = ".hoodie/.locks/audit"


class Renewals(FakeClock):
    """A clock by which what is repeated is done when a test says so."""

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.kept: list[tuple[object, float]] = []

    def repeating(self, act, every_s: float, name: str) -> AbstractContextManager[None]:
        self.kept.append((act, every_s))
        return nullcontext()

    def renew(self) -> None:
        """What the last holder repeats."""
        self.kept[-1][0]()


@pytest.fixture
def clock() -> Renewals:
    return Renewals(NOW)


@pytest.fixture
def storage(clock: Renewals) -> VersionedMemory:
    return VersionedMemory(clock)


def lock_on(storage: VersionedMemory, clock: FakeClock, **more: object) -> StorageLock:
    settings = {"wait_ms": 2000, "retries": 0} | more
    return open_lock(storage, LockConfig(provider=LockProvider.STORAGE, **settings), clock)


def theirs(**more: object) -> bytes:
    """A lease as Hudi 1.1 writes it."""
    found = {"expired": False, "validUntil": NOW + 300 * SECOND, "owner": "hudi"} | more
    return json.dumps(found).encode()


def found(storage: VersionedMemory) -> dict[str, object]:
    return json.loads(storage.files[LOCK_OBJECT])


def test_the_object_says_what_hudi_wants_to_read(storage, clock) -> None:
    with lock_on(storage, clock).hold() as held:
        says = found(storage)
        assert (says["expired"], says["validUntil"]) == (False, NOW + 300 * SECOND)
        assert len(says["owner"]) == 36
        assert (says["since"], says["process"]["pid"]) == (NOW, os.getpid())
        clock.advance(7 * SECOND)
        held.confirm()
        assert found(storage)["validUntil"] == NOW + 307 * SECOND
    over = found(storage)
    assert over == {**says, "expired": True, "validUntil": NOW + 307 * SECOND}
    assert list(storage.files) == [LOCK_OBJECT]


def test_a_lock_that_was_given_back_is_taken_at_once(storage, clock) -> None:
    for _ in range(3):
        with lock_on(storage, clock).hold() as held:
            held.confirm()
    assert clock.monotonic_ms() == 0


def test_whoever_does_not_get_it_is_told_who_has_it(storage, clock) -> None:
    storage.put(LOCK_OBJECT, theirs())
    said = r"owner hudi holds .* until 2026-01-01 00:05:00 UTC"
    with pytest.raises(LockError, match=said), lock_on(storage, clock).hold():
        pass
    assert clock.monotonic_ms() == 2000
    assert storage.files[LOCK_OBJECT] == theirs()
    assert storage.puts == 0


def test_a_lease_that_ended_is_left_alone_for_half_a_second(storage, clock) -> None:
    storage.put(LOCK_OBJECT, theirs())
    clock.advance(300 * SECOND + 499)
    with pytest.raises(LockError), lock_on(storage, clock, wait_ms=1).hold():
        pass
    with lock_on(storage, clock).hold() as held:
        held.confirm()


def test_the_lease_of_a_process_that_died_here_is_taken_at_once(storage, clock) -> None:
    mark = ProcessMark.of(dead_pid())
    dead = Lease(is_over=False, until_ms=NOW + 300 * SECOND, owner="x", process=mark)
    storage.put(LOCK_OBJECT, dead.to_bytes())
    with lock_on(storage, clock).hold() as held:
        held.confirm()
    assert clock.monotonic_ms() == 0


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{", b'"x"', theirs(validUntil=None), theirs(expired=0), theirs(owner=None)],
)
def test_an_object_that_makes_no_sense_is_held_by_somebody(storage, clock, data: bytes) -> None:
    storage.put(LOCK_OBJECT, data)
    with pytest.raises(LockError, match="does not say who it is"), lock_on(storage, clock).hold():
        pass
    assert storage.files[LOCK_OBJECT] == data


def test_unknown_properties_of_later_releases_are_nothing_to_us(storage, clock) -> None:
    storage.put(LOCK_OBJECT, theirs(expired=True, later={"a": 1}))
    with lock_on(storage, clock).hold() as held:
        held.confirm()


def test_it_is_renewed_as_often_as_the_option_says(storage, clock) -> None:
    with lock_on(storage, clock, renew_s=10, validity_s=100).hold():
        assert clock.kept[0][1] == 10
        for _ in range(20):
            clock.advance(10 * SECOND)
            clock.renew()
        assert found(storage)["validUntil"] == NOW + 300 * SECOND


def test_of_two_who_saw_it_free_one_gets_it(storage, clock) -> None:
    first, second = lock_on(storage, clock), lock_on(storage, clock)
    with ExitStack() as both:

        def slip_in() -> None:
            storage.before = None
            both.enter_context(first.hold())

        storage.before = slip_in
        with pytest.raises(LockError), second.hold():
            pass


@pytest.mark.parametrize("who", [theirs(), theirs(expired=True), b"broken"])
def test_whoever_slept_past_the_lease_and_was_overtaken_does_not_commit(
    storage, clock, who: bytes
) -> None:
    with lock_on(storage, clock).hold() as held:
        clock.advance(301 * SECOND)
        storage.put(LOCK_OBJECT, who)
        with pytest.raises(LostLockError, match="was taken"):
            held.confirm()
        with pytest.raises(LostLockError, match="was taken"):
            held.confirm()
    assert storage.files[LOCK_OBJECT] == who


def test_whoever_slept_past_the_lease_and_was_not_overtaken_has_it_still(storage, clock) -> None:
    with lock_on(storage, clock).hold() as held:
        clock.advance(400 * SECOND)
        held.confirm()
        assert found(storage)["validUntil"] == NOW + 700 * SECOND


def test_one_whose_clock_is_ahead_takes_it_and_the_holder_notices(storage, clock) -> None:
    ahead = FakeClock(NOW + 3600 * SECOND)
    with ExitStack() as stack:
        held = stack.enter_context(lock_on(storage, clock).hold())
        stack.enter_context(lock_on(storage, ahead).hold())
        with pytest.raises(LostLockError):
            held.confirm()


def test_a_clock_that_is_set_back_does_not_shorten_the_lease(storage, clock) -> None:
    with lock_on(storage, clock).hold():
        clock.set_back(3600 * SECOND)
        clock.advance(SECOND)
        clock.renew()
        assert found(storage)["validUntil"] == NOW + 301 * SECOND


@pytest.mark.parametrize("answer", [Answer.LOST, Answer.TWICE])
def test_a_lock_that_was_taken_without_an_answer_is_given_back_and_taken_again(
    storage, clock, answer: Answer
) -> None:
    storage.answers = [answer]
    with lock_on(storage, clock).hold() as held:
        held.confirm()
    assert storage.puts == 5  # taken in doubt, given back, taken, confirmed, given back
    assert found(storage)["expired"] is True


def test_a_lock_taken_without_an_answer_does_not_stay_when_waiting_ends(storage, clock) -> None:
    storage.answers = [Answer.LOST, Answer.NONE, Answer.NONE]
    with pytest.raises(LockError), lock_on(storage, clock, wait_ms=1).hold():
        pass
    assert found(storage)["expired"] is True


@pytest.mark.parametrize("answer", [Answer.LOST, Answer.TWICE, Answer.NONE])
def test_a_renewal_counts_when_one_after_it_succeeds(storage, clock, answer: Answer) -> None:
    with lock_on(storage, clock).hold() as held:
        storage.answers = [answer]
        clock.advance(30 * SECOND)
        clock.renew()
        clock.advance(30 * SECOND)
        clock.renew()
        assert found(storage)["validUntil"] == NOW + 360 * SECOND
        held.confirm()
    assert found(storage)["expired"] is True


def test_without_an_answer_the_time_of_the_lease_decides(storage, clock) -> None:
    with lock_on(storage, clock).hold() as held:
        clock.advance(269 * SECOND)
        storage.answers = [Answer.NONE]
        held.confirm()
        storage.answers = [Answer.NONE] * 5
        clock.advance(SECOND)
        with pytest.raises(LostLockError, match="all but over"):
            held.confirm()


def test_a_renewal_that_fails_is_warned_of_and_done_the_next_time(storage, clock, caplog) -> None:
    with lock_on(storage, clock).hold() as held:
        storage.answers = [Answer.NONE]
        clock.renew()
        assert "lock not renewed" in caplog.text
        held.confirm()


def test_a_renewal_that_finds_another_says_so_and_is_the_last(storage, clock, caplog) -> None:
    with lock_on(storage, clock).hold() as held:
        storage.put(LOCK_OBJECT, theirs())
        clock.renew()
        assert "was taken: owner hudi" in caplog.text
        puts = storage.puts
        clock.renew()
        assert storage.puts == puts
        with pytest.raises(LostLockError):
            held.confirm()
    assert storage.files[LOCK_OBJECT] == theirs()


@pytest.mark.parametrize("answers", [[Answer.LOST], [Answer.NONE] * 2, [Answer.TWICE]])
def test_giving_it_back_is_tried_again(storage, clock, answers: list[Answer]) -> None:
    with lock_on(storage, clock).hold():
        storage.answers = list(answers)
    assert found(storage)["expired"] is True


def test_a_lock_that_cannot_be_given_back_ends_by_itself(storage, clock, caplog) -> None:
    with lock_on(storage, clock).hold():
        storage.answers = [Answer.NONE] * 5
    assert "lock not given back" in caplog.text
    assert found(storage)["expired"] is False
    clock.advance(301 * SECOND)
    with lock_on(storage, clock).hold() as held:
        held.confirm()


def test_a_holder_of_hudi_1_0_2_is_named(storage, clock) -> None:
    storage.put(LOCK_OBJECT, theirs(validUntil=NOW + 300))
    clock.advance(20 * SECOND)
    said = r"owner hudi ended when .* Hudi 1\.0\.2"
    with pytest.raises(UnsupportedError, match=said), lock_on(storage, clock).hold():
        pass
    clock.advance(120 * SECOND)
    with lock_on(storage, clock).hold() as held:
        held.confirm()


def test_what_is_no_object_store_is_refused(tmp_path: Path) -> None:
    config = LockConfig(provider=LockProvider.STORAGE)
    with pytest.raises(UnsupportedError, match="take FileSystemBasedLockProvider here"):
        storage_lock(open_storage(str(tmp_path)), config, FakeClock(NOW))


def test_holders_are_noted_where_a_table_asks_for_it(storage, clock) -> None:
    storage.put(f"{AUDIT}_enabled.json", b'{"STORAGE_LOCK_AUDIT_SERVICE_ENABLED": true}')
    with lock_on(storage, clock).hold():
        clock.advance(30 * SECOND)
        clock.renew()
        clock.advance(SECOND)
        owner = found(storage)["owner"]
    lines = storage.files[f"{AUDIT}/{NOW}_{owner}.jsonl"].decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "ownerId": owner,
            "transactionStartTime": NOW,
            "timestamp": NOW + after * SECOND,
            "state": state,
            "lockExpiration": NOW + (after + 300) * SECOND,
            "lockHeld": True,
        }
        for state, after in (("START", 0), ("RENEW", 30), ("END", 31))
    ]


@pytest.mark.parametrize("text", [None, b"{}", b"no", b'{"STORAGE_LOCK_AUDIT_SERVICE_ENABLED":1}'])
def test_nothing_is_noted_elsewhere(storage, clock, text: bytes | None) -> None:
    if text is not None:
        storage.put(f"{AUDIT}_enabled.json", text)
    with lock_on(storage, clock).hold() as held:
        held.confirm()
    assert storage.below(AUDIT) == []


def test_an_audit_that_cannot_be_written_stops_nobody(storage, clock, caplog) -> None:
    storage.put(f"{AUDIT}_enabled.json", b'{"STORAGE_LOCK_AUDIT_SERVICE_ENABLED": true}')
    put = storage.put

    def refuse(path: str, data: bytes) -> None:
        if path.startswith(f"{AUDIT}/"):
            raise StorageError("no room")
        put(path, data)

    storage.put = refuse
    with lock_on(storage, clock).hold() as held:
        held.confirm()
    assert "audit file was not written" in caplog.text
