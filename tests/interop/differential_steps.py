"""What one step of a random history asks for: a write, or a service of the table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

ENGINES = ("hudi", "ours")


@dataclass(frozen=True)
class Step:
    """One write; ``by`` says who carries it out on the table that both write."""

    operation: str
    rows: pa.Table
    by: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        more = "".join(f" {key}={value}" for key, value in self.options.items())
        return f"{self.operation} of {self.rows.num_rows} rows, shared table by {self.by}{more}"


@dataclass(frozen=True)
class Service:
    """One thing done to a table beside writing it.

    The table has the rows then that it had after the step ``leaves``. ``at`` is the step whose
    instants it is about, ``dying`` a write that comes to its end but for its commit.
    """

    operation: str
    by: str
    leaves: int
    at: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    dying: Step | None = None

    def __str__(self) -> str:
        about = "" if self.at is None else f" of step {self.at}"
        about += "" if self.dying is None else f" of ({self.dying})"
        more = "".join(f" {key}={value}" for key, value in self.options.items())
        told = f"{self.operation}{about}, shared table by {self.by}{more}"
        return f"{told}; the rows are those after step {self.leaves}"


@dataclass(frozen=True)
class Changes:
    """A query for the rows that changed after a step, up to another or to now."""

    begin: int
    end: int | None


Turn: TypeAlias = Step | Service
