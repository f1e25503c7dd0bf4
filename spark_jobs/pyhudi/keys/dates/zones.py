"""Time zones by the ids that Java knows."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import OptionError

UTC: Final = "UTC"
_UTC_IDS: Final = frozenset({"UTC", "GMT", "Etc/UTC", "Etc/GMT", "UCT", "Zulu", "Etc/UCT"})
_CUSTOM: Final = re.compile(r"GMT([+-])([0-9]{1,2})(?::?([0-9]{2}))?")
# Java's three-letter ids that the zone database does not have, or has for another place.
_OLD_IDS: Final = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
# The years that Python and the zone database know; offsets outside are those of the bounds.
_FIRST_MILLIS: Final = -62_135_510_400_000
_LAST_MILLIS: Final = 253_402_214_400_000


@cache
def zone_of(java_id: str) -> str:
    """The zone of an id, as the zone database or ``+08:00`` names it.

    Raises:
        OptionError: an id that Java does not know; it would take GMT without a word.
    Source: java.util.TimeZone.getTimeZone; DateTimeZone.forTimeZone, Joda-Time 2.9.
    """
    if java_id in _UTC_IDS:
        return UTC
    custom = _CUSTOM.fullmatch(java_id)
    if custom is not None:
        sign, hours, minutes = custom.group(1), int(custom.group(2)), int(custom.group(3) or 0)
        if hours <= 23 and minutes <= 59:
            return f"{sign}{hours:02d}:{minutes:02d}" if hours or minutes else UTC
    name = _OLD_IDS.get(java_id, java_id)
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise OptionError(
            f"{java_id!r} is no time zone that Java knows; name it as in Europe/Paris, GMT+8 or UTC"
        ) from None
    return name


def offsets_at(millis: npt.NDArray[np.int64], zone: str) -> npt.NDArray[np.int64]:
    """The offsets of a zone from UTC at some moments.

    Units: milliseconds since 1970 in UTC; milliseconds.
    """
    if zone == UTC:
        return np.zeros(len(millis), dtype=np.int64)
    moments = np.clip(millis, _FIRST_MILLIS, _LAST_MILLIS)
    local = pc.local_timestamp(pa.array(moments, pa.timestamp("ms", zone)))
    offsets: npt.NDArray[np.int64] = local.cast(pa.int64()).to_numpy() - moments
    return offsets


def offset_of_local(local_millis: int, zone: str) -> int | None:
    """The offset of a zone when its clock shows a time; None when it leaves that time out.

    Of two, the offset of the earlier moment.

    Units: milliseconds of the local clock since 1970; milliseconds.
    Source: DateTimeZone.getOffsetFromLocal, Joda-Time 2.9.
    """
    if zone == UTC:
        return 0
    shown = min(max(local_millis, _FIRST_MILLIS), _LAST_MILLIS)
    if zone[0] in "+-":
        return int(offsets_at(np.array([shown]), zone)[0])
    # Zones change at whole seconds.
    clock = datetime(1970, 1, 1) + timedelta(seconds=shown // 1000)  # noqa: DTZ001 - a local clock
    moment = clock.replace(tzinfo=ZoneInfo(zone))
    back = moment.astimezone(timezone.utc).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    if back != clock:
        return None
    offset = moment.utcoffset() or timedelta()
    return int(offset.total_seconds() * 1000)
