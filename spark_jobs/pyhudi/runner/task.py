"""Which attempt of which task is at work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Tell: TypeAlias = Callable[[str, int, int], None]
"""Tells what a task has done: of something that has this name, how much, of how much.

The first only rises; the second is 0 where it is not known."""

_DIGITS_OF_DAY = 9


def tell_nobody(what: str, done: int, whole: int) -> None:
    """A ``Tell`` that nobody hears."""
    del what, done, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIdentity:
    """Which attempt of which task is writing; its token tells the files of attempts apart."""

    partition_id: int
    stage_id: int
    attempt_id: int

    @property
    def write_token(self) -> str:
        """The middle part of a base file's name.

        Source: FSUtils.makeWriteToken, Hudi 0.15.
        """
        return f"{self.partition_id}-{self.stage_id}-{self.attempt_id}"

    def log_token(self, instant: str) -> str:
        """The end of a log file's name, which no other write gives a file of the same slice.

        The name has the slice's instant and not that of the write; two drivers number their stages
        alike, and one that was taken for dead would write over the file of who came after it. The
        last digits of the instant, a time of day in milliseconds, stand in the place of the stage.

        Source: FSUtils.getStageIdFromLogPath, Hudi 0.15: the part is a number of 32 bits.
        """
        number = (int(instant[-_DIGITS_OF_DAY:]) + self.stage_id) % 10**_DIGITS_OF_DAY
        return f"{self.partition_id}-{number}-{self.attempt_id}"
