"""What completed writes say of a table's files, read from storage."""

import threading

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.config.table import TimelineZone
from pyhudi.config.versions import TableVersion
from pyhudi.table.promised import told_by
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.clock import SystemClock
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.object_store import Answer, Seen

TIMES = ("20260101000000000", "20260102000000000", "20260103000000000")
LONGEST_S = 30.0


def name(time: str) -> str:
    return f"p/g{time}-0_0-0-0_{time}.parquet"


def test_on_an_object_store_the_commits_are_asked_for_at_once(store) -> None:
    active = ActiveTimeline(
        storage=store.new_storage(), version=TableVersion.SIX, zone=TimelineZone.UTC
    )
    for time in TIMES:
        stat = WriteStat(file_id=f"g{time}-0", path=name(time), partition_path="p")
        instant = Instant(time=time, action=Action.COMMIT, state=State.REQUESTED)
        active.request(instant, None)
        done = CommitMetadata(partition_to_write_stats={"p": (stat,)})
        active.complete(instant, done, SystemClock())
    together = threading.Barrier(len(TIMES), timeout=LONGEST_S)

    def meeting(seen: Seen) -> Answer:
        if seen.method == "GET" and seen.path.endswith(".commit"):
            together.wait()
        return Answer.WHOLE

    store.answer = meeting
    timeline = active.load()
    found = told_by(active, timeline, is_asked=lambda _: True, is_kept=lambda _: True)
    assert [each.path for each in found.promises] == [name(time) for time in TIMES]
