"""Instants as marks on lanes of time."""

from pyhudi.cli.overview.lanes import lanes, seconds_of
from pyhudi.timeline.instant import Action, Instant, State


def instant(time: str, action: Action = Action.COMMIT, state: State = State.COMPLETED) -> Instant:
    return Instant(time=time, action=action, state=state)


def test_each_action_has_a_lane_over_the_time_of_all() -> None:
    first, middle, last = "20260101000000000", "20260101120000000", "20260102000000000"
    found = lanes([instant(first), instant(middle, Action.CLEAN), instant(last)], marks=101)
    assert [(lane.action, lane.count) for lane in found] == [("commit", 2), ("clean", 1)]
    assert [mark.at for mark in found[0].marks] == [0.0, 1.0]
    assert [mark.at for mark in found[1].marks] == [0.5]


def test_what_lies_close_together_is_one_mark() -> None:
    times = [f"202601010000{second:02}000" for second in range(10)]
    pending = instant("20260101000003500", state=State.REQUESTED)
    (lane,) = lanes([*map(instant, times), pending], marks=2)
    assert [(mark.count, mark.pending, mark.first, mark.last) for mark in lane.marks] == [
        (10, 1, times[0], times[8]),
        (1, 0, times[9], times[9]),
    ]


def test_one_instant_and_none_are_drawn_too() -> None:
    assert lanes([], marks=10) == ()
    (lane,) = lanes([instant("20260101000000000")], marks=10)
    assert [mark.at for mark in lane.marks] == [0.0]


def test_digits_are_seconds_and_those_of_bootstraps_are_the_first_of_all() -> None:
    assert seconds_of("20260101000001500") - seconds_of("20260101000000") == 1.5
    assert seconds_of("00000000000001") == 0.0
