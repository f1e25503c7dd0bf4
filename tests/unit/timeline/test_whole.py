"""Listings of a timeline that others archive from, judged by one that was whole."""

from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.timeline.whole import WholeTimelines
from tests.support.in_process import NOW_MS, clock_at, options_of, write
from tests.support.memory import MemoryStorage
from tests.support.object_store import StoreServer

ROWS = {("x", "a"): (1, "old")}


def timeline(*times: str) -> Timeline:
    return Timeline.of(
        Instant(time=time, action=Action.COMMIT, state=State.COMPLETED) for time in times
    )


def test_one_that_has_all_of_a_whole_one_is_whole() -> None:
    known = WholeTimelines(2)
    assert not known.has_all_in("t", timeline("1", "2"))
    known.put("t", timeline("1", "2"))
    assert known.has_all_in("t", timeline("1", "2"))
    assert known.has_all_in("t", timeline("1", "2", "3"))
    assert not known.has_all_in("t", timeline("2", "3")), "its first one was archived"
    assert not known.has_all_in("t", timeline("1", "3")), "one was archived while it was listed"
    assert not known.has_all_in("u", timeline("1", "2"))


def test_those_used_longest_ago_are_forgotten() -> None:
    known = WholeTimelines(2)
    for folder in "abc":
        known.put(folder, timeline("1"))
    assert [known.has_all_in(folder, timeline("1")) for folder in "abc"] == [False, True, True]


def test_an_archived_table_is_looked_at_once_and_again_when_its_first_instant_went(
    store: StoreServer,
) -> None:
    memory = MemoryStorage(now_ms=NOW_MS)
    for number in range(3):
        clock = clock_at(NOW_MS + 1_000 * number)
        write(memory, {("x", "a"): (number, "new")}, clock, options=options_of())
    memory.create(".hoodie/archived/.commits_.archive.1_1-0-1", b"")
    storage = store.filled(memory)
    table, seen = load_table(storage), []
    for _ in range(2):
        with store.counting() as counts:
            assert len(table.active.load()) == 3
        seen.append(counts)
    first = table.timeline.instants[0]
    for state in State:
        table.active.remove(first.in_state(state))
    with store.counting() as counts:
        assert len(table.active.load()) == 2
    assert [*seen, counts] == [{"list": 1}, {"list": 1}, {"list": 1, "head": 1}]
