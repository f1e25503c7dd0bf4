"""What a validation finds. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Grade(Enum):
    """How bad a finding is.

    An ERROR is a table that answers wrongly or not at all, an ORPHAN a file that nothing needs and
    nothing will delete; a NOTE is worth knowing and no fault.
    """

    ERROR = "error"
    ORPHAN = "orphan"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it might be: ``what`` in a word, ``where`` by path or instant."""

    grade: Grade
    what: str
    where: str
    detail: str

    @property
    def rank(self) -> tuple[int, str, str]:
        """The worst first, then by what and where."""
        return list(Grade).index(self.grade), self.what, self.where
