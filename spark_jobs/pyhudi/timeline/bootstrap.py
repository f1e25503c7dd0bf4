"""The two instants of a bootstrap, which count together. Pure.

Source: HoodieTimeline.FULL_BOOTSTRAP_INSTANT_TS, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

from typing import Final

from pyhudi.timeline.instant import METADATA_BOOTSTRAP, Instant, State
from pyhudi.timeline.timeline import Timeline

FULL_BOOTSTRAP: Final = "00000000000002"
"""When the rows of partitions are written that get no skeletons."""
BOOTSTRAP_INSTANTS: Final = (METADATA_BOOTSTRAP, FULL_BOOTSTRAP)


def first_half(timeline: Timeline) -> Instant | None:
    """The completed first instant of a bootstrap whose second is pending; None for none.

    Hudi undoes both where it finds one pending, see ``roll_back``.

    Source: BaseHoodieTableServiceClient.rollbackFailedBootstrap, Hudi 0.15 and 1.1.
    """
    writes = timeline.write_instants()
    if not any(found.time == FULL_BOOTSTRAP for found in writes.pending()):
        return None
    done = (found for found in writes.completed() if found.time == METADATA_BOOTSTRAP)
    return next(done, None)


def as_bootstrapped(timeline: Timeline) -> Timeline:
    """The timeline without the first half of a bootstrap whose second half is not completed."""
    half = first_half(timeline)
    if half is None:
        return timeline
    seen = (found.in_state(State.INFLIGHT) if found == half else found for found in timeline)
    return Timeline(tuple(seen))
