"""What has to be so for writers to go on beside each other: their clocks, no metadata table."""

from __future__ import annotations

import logging

from pyhudi.config.instant_text import elapsed_seconds
from pyhudi.config.options.concurrency import CLOCK_SKEW_MS
from pyhudi.config.table import TimelineZone
from pyhudi.errors import RequestError, UnsupportedError
from pyhudi.table.table import Table
from pyhudi.timeline.active import Seen
from pyhudi.timeline.clock import instant_time
from pyhudi.timeline.instant import State
from pyhudi.transaction.exclusion import Writer

_MOST_SKEW_MS = 60_000
_QUARTER_S = 900
_SLACK_S = 30
_MOST_APART_S = 14 * 3600 + _SLACK_S
_log = logging.getLogger(__name__)


def check_clock(writer: Writer, drawn: str) -> None:
    """Notice that the timeline is ahead of this machine's clock, by an instant drawn after it.

    Raises:
        RequestError: by so much that one of the clocks or time zones must be wrong.
    """
    zone, now_ms = writer.table.config.timezone, writer.clock.now_ms()
    if drawn <= instant_time(now_ms + writer.concurrency.clock_skew_ms, zone):
        return
    text = (
        f"the newest instant of the table is about {drawn}, and by the clock of this machine it is "
        f"{instant_time(now_ms, zone)} (the timeline's time zone: {zone.value})"
    )
    if drawn <= instant_time(now_ms + _MOST_SKEW_MS, zone):
        _log.warning("%s: %s; the clocks of its writers differ", writer.storage.uri, text)
        return
    raise RequestError(
        f"{text}. Set the clocks of all writers, by NTP, and where the time zone is LOCAL give all "
        "of them the same one; retry when the clock has come that far, or with a "
        f"{CLOCK_SKEW_MS.key} that allows for it",
        where=writer.storage.uri,
    )


def warn_of_other_zones(table: Table, seen: Seen) -> None:
    """Notice that the latest write was made by somebody in another time zone.

    In a timeline of local times its instant and the time at which it was requested are then whole
    quarters of an hour apart, by the zone of this process. Of two writers the one that is ahead
    gives later instants than the other can follow.
    """
    latest = table.timeline.last_completed
    if table.config.timezone is not TimelineZone.LOCAL or latest is None:
        return
    requested = seen.written(latest.in_state(State.REQUESTED))
    if requested is None:
        return
    apart = elapsed_seconds(latest.time, requested)
    if abs(apart) <= _MOST_APART_S and _is_of_zones(abs(apart)):
        _log.warning(
            "%s: the write %s was requested at %s by the time zone of this process, which is %+.2f "
            "hours off: give all writers of the table one time zone",
            *(table.storage.uri, latest.time, requested, apart / 3600),
        )


def _is_of_zones(seconds: float) -> bool:
    quarters = round(seconds / _QUARTER_S)
    return quarters > 0 and abs(seconds - quarters * _QUARTER_S) <= _SLACK_S


def check_no_metadata_table(table: Table) -> None:
    """Refuse a table whose metadata table would go stale, while others may be writing it.

    Raises:
        UnsupportedError: says what to set.
    """
    if table.config.metadata_partitions:
        raise UnsupportedError(
            f"the table has a metadata table ({', '.join(table.config.metadata_partitions)}), "
            "which this engine does not keep and, beside other writers, must not switch off; set "
            "hoodie.metadata.enable=false for all of them, let one write alone once in "
            "single-writer mode, which switches it off, and retry",
            where=table.storage.uri,
        )
