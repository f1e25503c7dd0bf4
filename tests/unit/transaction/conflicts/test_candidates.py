"""Whose changes a write has to look at before it commits."""

from hypothesis import given
from hypothesis import strategies as st

from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.conflicts.candidates import Snapshot, candidates

OWN = "20260101000000050"


def instant(second: int, action: Action = Action.COMMIT, state: State = State.COMPLETED) -> Instant:
    return Instant(time=f"202601010000000{second:02d}", action=action, state=state)


def look(before: list[Instant], now: list[Instant]):
    return candidates(Snapshot(own=OWN, timeline=Timeline.of(before)), Timeline.of(now))


def test_what_was_completed_before_is_no_candidate() -> None:
    found = look([instant(10)], [instant(10)])
    assert (found.completed, found.gone) == ((), ())


def test_what_was_pending_and_is_completed_by_now_is_one() -> None:
    before, now = instant(10, state=State.INFLIGHT), instant(10)
    assert look([instant(5), before], [instant(5), now]).completed == (now,)


def test_one_that_appeared_late_with_an_early_time_is_one() -> None:
    """Hole 4: its request was not there when the write began."""
    assert look([instant(20)], [instant(10), instant(20)]).completed == (instant(10),)


def test_oneself_is_none() -> None:
    own = Instant(time=OWN, action=Action.COMMIT, state=State.COMPLETED)
    assert look([], [own]).completed == ()


def test_cleans_and_savepoints_are_none() -> None:
    others = [instant(60, Action.CLEAN), instant(61, Action.SAVEPOINT)]
    found = look([], others)
    assert (found.completed, found.planned, found.gone) == ((), (), ())


def test_a_compaction_that_was_planned_before_is_none_whether_it_has_run_or_not() -> None:
    planned = instant(10, Action.COMPACTION, State.REQUESTED)
    assert look([planned], [planned]).planned == ()
    assert look([planned], [instant(10, Action.COMMIT)]).completed == ()


def test_a_compaction_that_was_planned_since_is_one_whatever_its_time() -> None:
    """Anomaly A9."""
    early, late = (instant(at, Action.COMPACTION, State.REQUESTED) for at in (10, 60))
    assert look([], [early, late]).planned == (early, late)
    assert look([], [instant(10, Action.COMMIT)]).completed == (instant(10, Action.COMMIT),)


def test_clusterings_of_any_time_are_candidates() -> None:
    found = [
        instant(10, Action.REPLACE_COMMIT, State.REQUESTED),
        instant(60, Action.CLUSTERING, State.INFLIGHT),
    ]
    assert look(found[:1], found).planned == tuple(found)


def test_overwrites_that_are_at_work_are_candidates_when_they_are_later() -> None:
    early, late = (instant(at, Action.REPLACE_COMMIT, State.INFLIGHT) for at in (10, 60))
    assert look([], [early, late]).overwriting == (late,)


def test_what_was_rolled_back_is_missed_and_what_was_archived_is_not() -> None:
    archived, undone, kept = instant(10), instant(20), instant(30)
    found = look([archived, undone, kept], [instant(15), kept])
    assert found.gone == (undone,)


def test_what_is_made_inflight_again_is_missed() -> None:
    again = instant(20, state=State.INFLIGHT)
    assert look([instant(10), instant(20)], [instant(10), again]).gone == (instant(20),)


def test_a_restore_since_is_told() -> None:
    pending = instant(60, Action.RESTORE, State.REQUESTED)
    assert look([], [pending]).restores == (pending,)
    done = instant(5, Action.RESTORE)
    assert look([done], [done]).restores == ()


def test_a_plan_that_was_taken_back_is_told() -> None:
    planned = instant(20, Action.COMPACTION, State.REQUESTED)
    assert look([instant(10), planned], [instant(10)]).unplanned == {planned.time}


ACTIONS = (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT)
INSTANTS = st.builds(instant, st.integers(1, 99), st.sampled_from(ACTIONS), st.sampled_from(State))


@given(st.lists(INSTANTS, max_size=12), st.sets(st.integers(0, 11)), st.lists(INSTANTS, max_size=6))
def test_whatever_hudi_looks_at_is_looked_at(
    before: list[Instant], ended: set[int], later: list[Instant]
) -> None:
    """Source: TransactionUtils.resolveWriteConflictIfAny, Hudi 1.1."""
    done = [
        each.in_state(State.COMPLETED) if number in ended else each
        for number, each in enumerate(before)
    ]
    then, now = Timeline.of(before), Timeline.of([*done, *later])
    last = max((each.time for each in then if each.is_completed), default="00000000000000")
    pending = {each.time for each in then if not each.is_completed}
    completed = {each for each in now if each.is_completed and each.time != OWN}
    hudis = {each for each in completed if each.time > last or each.time in pending}
    ours = set(candidates(Snapshot(own=OWN, timeline=then), now).completed)
    known = {each.identity for each in then if each.is_completed}
    assert {each for each in hudis if each.identity not in known} <= ours
