"""The flags by which a job is told which part of its source it writes, for requests to have."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pyhudi.config.options import operations
from pyhudi.flags import Flag

SlotKey: TypeAlias = Annotated[
    str | None,
    Flag(
        help="which part of the source this is, such as a day: commits that carry this text "
        "are of the same part, whichever request made them",
        option=operations.SLOT,
    ),
]
OnExistingFlag: TypeAlias = Annotated[
    str | None,
    Flag(
        help="what to do where a commit of the same part is there: append, reuse or replace",
        option=operations.ON_EXISTING,
    ),
]
SlotSince: TypeAlias = Annotated[
    str | None,
    Flag(
        help="a time before anybody can have written this part of the source",
        option=operations.SLOT_SINCE,
    ),
]
