"""Which instants a restore undoes, in which order, and when it is refused."""

from pyhudi.services.undo.restore_plan import plan_restore, why_not_restored
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline


def at(digit: int) -> str:
    return f"2026010100000000{digit}"


def instant(digit: int, action: Action, state: State = State.COMPLETED) -> Instant:
    return Instant(time=at(digit), action=action, state=state)


TIMELINE = Timeline.of(
    (
        instant(1, Action.COMMIT),
        instant(2, Action.DELTA_COMMIT),
        instant(2, Action.SAVEPOINT),
        instant(3, Action.REPLACE_COMMIT, State.INFLIGHT),
        instant(4, Action.DELTA_COMMIT),
        instant(5, Action.CLEAN),
        instant(6, Action.COMPACTION, State.REQUESTED),
        instant(7, Action.DELTA_COMMIT, State.REQUESTED),
    )
)


def begun_as(found: Instant) -> Action:
    is_log_compaction = found.time == at(4)
    return Action.LOG_COMPACTION if is_log_compaction else found.action


def test_everything_written_or_planned_after_the_savepoint_goes_the_newest_first() -> None:
    plan = plan_restore(TIMELINE, at(2), clustering=(), begun_as=begun_as)
    assert plan.savepoint == at(2)
    found = [(each.time, each.action) for each in plan.instants]
    assert found.pop(0) == (at(7), "deltacommit"), "that of who keeps writers out"
    assert found == [
        (at(6), "compaction"),
        *((at(4), action) for action in ("deltacommit", "logcompaction")),
        (at(3), "replacecommit"),
    ]


def test_in_layout_2_what_was_completed_after_the_savepoint_goes() -> None:
    ends = {1: 8, 2: 3, 3: 9, 4: 7}
    timeline = Timeline.of(
        (
            *(
                instant(digit, Action.COMMIT).in_state(State.COMPLETED, at(end))
                for digit, end in ends.items()
            ),
            instant(8, Action.COMMIT, State.REQUESTED),
        )
    )
    plan = plan_restore(timeline, at(2), clustering=(), begun_as=lambda found: found.action)
    assert [each.time for each in plan.instants] == [at(8), at(3), at(1), at(4)]


def test_pending_clusterings_go_first() -> None:
    plan = plan_restore(TIMELINE, at(2), clustering=(at(3),), begun_as=begun_as)
    assert [each.time for each in plan.instants] == [at(3), at(7), at(6), at(4), at(4)]


def refusal(
    timeline: Timeline = TIMELINE,
    *,
    gone: str = "",
    instants: tuple[str, ...] = (),
    archived: tuple[str, ...] = (),
) -> str | None:
    saved = ("p/a", "p/b")
    present = {path for path in saved if path != gone}
    return why_not_restored(
        timeline, at(2), saved=saved, present=present, instants=instants, archived=archived
    )


def test_a_savepoint_is_restored_whole_or_not_at_all() -> None:
    assert refusal(instants=(at(1), at(4), at(9))) is None
    assert "p/b" in (refusal(gone="p/b") or "")


def test_a_later_savepoint_has_to_be_given_up_first() -> None:
    later = Timeline.of((*TIMELINE, instant(4, Action.SAVEPOINT)))
    assert at(4) in (refusal(later) or "")


def test_writes_that_were_archived_since_cannot_be_undone() -> None:
    rest = (instant(2, Action.DELTA_COMMIT), instant(2, Action.SAVEPOINT))
    archived = Timeline.of((*rest, instant(6, Action.DELTA_COMMIT)))
    assert at(4) in (refusal(archived, instants=(at(4),)) or "")
    assert at(4) in (refusal(archived, archived=(at(1), at(4))) or "")
    assert refusal(archived, archived=(at(1), at(6))) is None, "one is still on the timeline"
