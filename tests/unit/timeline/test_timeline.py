"""The questions a timeline answers."""

from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline


def instant(time: str, action: Action = Action.COMMIT, state: State = State.COMPLETED) -> Instant:
    return Instant(time=time, action=action, state=state)


def times(timeline: Timeline) -> list[str]:
    return [found.time for found in timeline]


REQUESTED, INFLIGHT = State.REQUESTED, State.INFLIGHT


def test_of_an_instants_states_the_latest_counts_whatever_the_order() -> None:
    files = [instant("2"), instant("1", state=INFLIGHT), instant("2", state=REQUESTED)]
    timeline = Timeline.of([*files, instant("1", state=REQUESTED)])
    found = [(each.time, each.state) for each in timeline]
    assert found == [("1", INFLIGHT), ("2", State.COMPLETED)]


def test_a_compaction_that_has_ended_is_its_commit() -> None:
    pending = instant("1", Action.COMPACTION, INFLIGHT)
    assert Timeline.of([pending, instant("1")]).instants == (instant("1"),)


def test_a_savepoint_and_its_commit_are_two_instants() -> None:
    assert len(Timeline.of([instant("1"), instant("1", Action.SAVEPOINT)])) == 2


def test_completed_pending_and_writes() -> None:
    timeline = Timeline.of(
        [
            instant("1"),
            instant("2", Action.CLEAN),
            instant("3", Action.REPLACE_COMMIT),
            instant("4", Action.ROLLBACK, INFLIGHT),
            instant("5", Action.COMMIT, REQUESTED),
        ]
    )
    assert times(timeline.completed()) == ["1", "2", "3"]
    assert times(timeline.pending()) == ["4", "5"]
    assert times(timeline.write_instants()) == ["1", "3", "5"]
    assert times(timeline.pending_writes()) == ["5"]
    assert times(timeline.up_to("3")) == ["1", "2", "3"]
    assert timeline.last_completed == instant("3", Action.REPLACE_COMMIT)
    assert timeline.latest_time == "5"
    assert timeline.contains("4")
    assert not timeline.contains("6")


def test_a_planned_compaction_is_no_write_that_failed() -> None:
    for action in (Action.COMPACTION, Action.LOG_COMPACTION):
        assert not len(Timeline.of([instant("1", action, REQUESTED)]).pending_writes())


def test_a_log_compaction_that_runs_is_a_write() -> None:
    timeline = Timeline.of([instant("1", Action.LOG_COMPACTION, INFLIGHT)])
    assert times(timeline.pending_writes()) == ["1"]
    assert not len(Timeline.of([*timeline, instant("1", Action.DELTA_COMMIT)]).pending_writes())


def test_a_new_instant_must_be_later_than_completion_times() -> None:
    done = Instant(time="1", action=Action.COMMIT, state=State.COMPLETED, completion_time="7")
    assert Timeline.of([done, instant("5")]).latest_time == "7"


def test_an_empty_timeline_has_nothing() -> None:
    empty = Timeline()
    assert (empty.first, empty.last, empty.latest_time) == (None, None, None)
    assert not empty.is_committed("1")


def test_only_completed_writes_and_archived_ones_are_committed() -> None:
    timeline = Timeline.of(
        [instant("3"), instant("4", state=INFLIGHT), instant("5"), instant("6", Action.CLEAN)]
    )
    assert [time for time in "123456" if timeline.is_committed(time)] == ["1", "2", "3", "5"]


def test_a_pending_write_older_than_every_commit_is_not_taken_for_an_archived_one() -> None:
    timeline = Timeline.of([instant("2", state=INFLIGHT), instant("3")])
    assert not timeline.is_committed("2")
    assert timeline.is_committed("1")


def test_a_savepointed_commit_does_not_begin_the_listed_ones() -> None:
    timeline = Timeline.of([instant("1"), instant("1", Action.SAVEPOINT), instant("5")])
    assert timeline.is_committed("3")


def test_completions_are_those_of_writes_and_only_where_they_are_told() -> None:
    done = [
        Instant(time="1", action=Action.COMMIT, state=State.COMPLETED, completion_time="4"),
        Instant(time="2", action=Action.CLEAN, state=State.COMPLETED, completion_time="3"),
        instant("3"),
        instant("5", state=INFLIGHT),
    ]
    assert Timeline.of(done).completions() == {"1": "4"}


def test_what_was_completed_later_counts_as_pending() -> None:
    done = [
        Instant(time=time, action=Action.COMMIT, state=State.COMPLETED, completion_time=ended)
        for time, ended in (("1", "6"), ("2", "3"), ("4", "5"))
    ]
    then = Timeline.of(done).completed_by("5")
    assert times(then.completed()) == ["2", "4"]
    assert times(then.pending()) == ["1"]
    assert then.start == "1"
