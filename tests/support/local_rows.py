"""Rows to write that are here already, as tasks of this process get them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from pyhudi.runner.in_process import Batches, InProcessRunner
from pyhudi.runner.runner import SpreadRows, TaskFunction


@dataclass(frozen=True)
class LocalRows:
    """A source of one task a table."""

    runner: InProcessRunner
    schema: pa.Schema
    tasks: tuple[Batches, ...]

    @classmethod
    def of(cls, runner: InProcessRunner, *tables: pa.Table) -> LocalRows:
        tasks = tuple(tuple(table.to_batches()) for table in tables)
        return cls(runner=runner, schema=tables[0].schema, tasks=tasks)

    def map(self, function: TaskFunction, schema: pa.Schema) -> SpreadRows:
        return self.runner.spread(self.tasks, self.schema).map(function, schema)

    def in_large_tasks(self, most_bytes: int) -> LocalRows:
        return self

    def with_dictionaries(self, names: Iterable[str]) -> LocalRows:
        return self
