"""Which attempt of which task is at work."""

from __future__ import annotations

from dataclasses import dataclass


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
