"""Several archivers of one history that stop anywhere: no instant that was archived goes."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from pyhudi.actions.history_row import HistoryRow
from pyhudi.errors import AlreadyExistsError, HudiError, MissingFileError
from pyhudi.storage.storage import Storage
from pyhudi.table import history_writing
from pyhudi.table.history import TIME, VERSION, History
from pyhudi.table.history_writing import append, base_of, known_instants, merge_levels, sweep
from tests.support.crashes import World, course_of
from tests.support.faulty import Faults
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE
from tests.support.schedule import TurnStorage, random_orders, run_in_turns

FOLDER = ".hoodie/timeline/history"
COUNT = 3
"""How many archivers there are at once."""
ORDERS = 2_000 if IS_WHOLE else 40


def row(number: int) -> HistoryRow:
    return HistoryRow(time=f"{number:017d}", completion_time=f"{number:016d}9", action="commit")


def times(*numbers: int) -> set[str]:
    return {row(number).time for number in numbers}


def history_of(storage: Storage) -> History:
    return History(storage=storage, folder=FOLDER)


def found(storage: Storage) -> list[str]:
    """The instants that readers find, and how often."""
    history = history_of(storage)
    while True:
        with suppress(MissingFileError):  # it was merged meanwhile, and swept
            tables = [history.rows(file, (TIME,)) for file in history.files()]
            return [time for each in tables for time in each[TIME].to_pylist()]


def archive(storage: Storage, left: set[int], numbers: set[int]) -> None:
    """Archive some instants, as the service does; ``left`` are those on the timeline."""
    for _ in range(20):
        with suppress(AlreadyExistsError, MissingFileError):
            return try_once(history_of(storage), left, numbers)
    raise AssertionError("others were faster twenty times")


def try_once(history: History, left: set[int], numbers: set[int]) -> None:
    base = base_of(history)
    wanted = sorted(numbers & left)
    if not wanted:
        return
    known = known_instants(history, base, row(wanted[0]).time, row(wanted[-1]).time)
    rows = [row(each) for each in wanted if row(each).identity not in known]
    after = append(history, base, rows)
    left -= numbers
    after, merged = merge_levels(history, after)
    sweep(history, base.listing, merged, times(*left))


def begun(*numbers: int, noted: int | None = None) -> MemoryStorage:
    """A history with a file for each of some instants."""
    storage = MemoryStorage()
    for number in numbers:
        archive(storage, {number}, {number})
    if noted is not None:
        storage.put(f"{FOLDER}/{VERSION}", str(noted).encode())
    return storage


def put_manifest(storage: MemoryStorage, number: int, names: list[str]) -> None:
    entries = [{"fileName": name, "fileLen": 1} for name in names]
    storage.put(f"{FOLDER}/manifest_{number}", json.dumps({"files": entries}).encode())


def with_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_writing, "MERGED_AT", 3)


@pytest.mark.parametrize("noted", [None, 4])
def test_who_stops_anywhere_is_gone_on_from(
    noted: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_few(monkeypatch)
    world = World(table=begun(1, 2, 3, 4, 5, 6, 7, noted=None))
    if noted is not None:
        numbers = history_of(world.table).look().manifests
        world.table.put(f"{FOLDER}/{VERSION}", str(numbers[0]).encode())
        world.table.put(f"{FOLDER}/manifest_{numbers[0] + 1}", b'{"files" : [ {')
    left = {8, 9}

    def act(storage: Storage, _: Storage) -> None:
        archive(storage, set(left), {8})

    course = course_of(world.copy(), act)
    assert len(course.states) > 5
    stopped = [state.world for state in course.states]
    for kind, at in course.faults():
        failed = world.copy()
        with suppress(OSError, HudiError):
            failed.stop(act, Faults(kind, at))
        stopped.append(failed)
    for number, each in enumerate(stopped):
        table = each.table
        assert set(found(table)) >= times(*range(1, 8)), number
        archive(table, set(left), {8})
        archive(table, {9}, {9})
        assert sorted(found(table)) == sorted(times(*range(1, 10))), number
        assert f"{FOLDER}/{VERSION}" not in table.files, number
        assert unnamed(table) == set(), number


def unnamed(storage: Storage) -> set[str]:
    """The files of instants that no manifest names."""
    history = history_of(storage)
    listing = history.look()
    return set(listing.files.difference(*(history.manifest(n).names for n in listing.manifests)))


@pytest.mark.parametrize("noted", [False, True])
def test_archivers_at_once_in_any_order(noted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of some begins again when another was faster, and readers meanwhile miss nothing."""
    with_few(monkeypatch)
    first = begun(1, 2)
    if noted:
        number = history_of(first).look().manifests[0]
        first.put(f"{FOLDER}/{VERSION}", str(number).encode())
        first.put(f"{FOLDER}/manifest_{number + 1}", b"{")
    chooser = random.Random(3)
    for number, order in enumerate(random_orders(ORDERS, 300, COUNT + 1)):
        storage, gone = first.copy(), {1, 2}
        left = [set(range(3, 30)) for _ in range(COUNT)]
        shares = [set(chooser.sample(range(3, 12), 3)) for _ in range(COUNT)]

        def act(own: TurnStorage, left: set[int], share: set[int], gone: set[int] = gone) -> None:
            for more in (share, {max(share) + 10}):
                before = set(left)
                archive(own, left, more)
                gone |= before - left

        def read(own: TurnStorage, gone: set[int] = gone, number: int = number) -> None:
            for _ in range(4):
                wanted = times(*gone)
                assert wanted <= set(found(own)), number

        bodies: list[Callable[[TurnStorage], object]] = [
            partial(act, left=own, share=share) for own, share in zip(left, shares, strict=True)
        ]
        raised = run_in_turns(storage, order, *bodies, read)
        assert raised == [None] * (COUNT + 1), (number, raised)
        wanted = times(*gone)
        assert sorted(found(storage)) == sorted(wanted), number


def test_what_hudi_left_above_its_number_is_not_gone_on_from_where_it_lacks_some() -> None:
    """Of ours who stopped before the number was deleted, and Hudi that has gone on since."""
    storage = begun(1, 2)
    history = history_of(storage)
    (second, first, *_) = history.look().manifests
    names = sorted(history.manifest(second).names)
    put_manifest(storage, second + 1, names[:1])
    storage.put(f"{FOLDER}/{VERSION}", str(second).encode())
    archive(storage, {3}, {3})
    assert sorted(found(storage)) == sorted(times(1, 2, 3))
    assert first < second < max(history.look().manifests)


def test_checksums_of_hadoop_go_with_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    with_few(monkeypatch)
    storage = begun(1, 2)
    for path in storage.below(FOLDER):
        folder, _, name = path.rpartition("/")
        storage.put(f"{folder}/.{name}.crc", b"crc")
    storage.put(f"{FOLDER}/{VERSION}", b"2")
    storage.put(f"{FOLDER}/.{VERSION}.crc", b"crc")
    for number in range(3, 12):
        archive(storage, {number}, {number})
    assert not [path for path in storage.files if path.endswith(".crc")]


def test_a_file_whose_manifest_may_still_come_is_not_swept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    storage = begun(1, 2)
    history = history_of(storage)
    base = base_of(history)
    after = append(history, base, [row(3)])
    create = storage.create

    def sweeping(path: str, data: bytes) -> None:
        if "manifest" in path:
            sweep(history, base.listing, 0, ())
        create(path, data)

    monkeypatch.setattr(storage, "create", sweeping)
    append(history, after, [row(4)])
    assert sorted(found(storage)) == sorted(times(1, 2, 3, 4))
