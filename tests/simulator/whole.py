"""Histories of the whole pipeline: Parquet files, log blocks, lookups and merges of production."""

from __future__ import annotations

import pyarrow as pa

from pyhudi.config.options.operations import Operation
from pyhudi.config.read import ReadConfig
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.compaction import CompactionService, compaction_service
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.write import write_rows
from pyhudi.read.query import plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.services.compaction.kinds import compaction_kind
from pyhudi.table.table import Table
from tests.simulator.play import Outcome, Play, config_of
from tests.simulator.rows import Asked, DoubleError, Rows
from tests.support.local_rows import LocalRows
from tests.support.orders import OPERATION, orders


class WholePlay(Play):
    """A history in which production writes, compacts and reads the files."""

    def write(self, environment: Environment, asked: Asked, outcome: Outcome) -> JobResult:
        """A write by the pipeline itself, whose tasks run in this process."""
        options = {**self.options, OPERATION: asked.operation.value}
        source = None
        if asked.operation is Operation.DELETE_PARTITION:
            options["hoodie.datasource.write.partitions.to.delete"] = ",".join(asked.partitions)
        else:
            rows = ((key, part, None, value) for (part, key), value in asked.rows.items())
            table = orders(*rows)
            if asked.column:
                table = table.append_column(asked.column, pa.nulls(len(table), pa.string()))
            source = LocalRows.of(self.runner, table)
        outcome.asked_always = asked
        return write_rows(environment, source, "/t", options)

    def rows_of(self, table: Table, as_of: str | None = None) -> Rows:
        """The rows of a table as production reads them."""
        plan = plan_read(table, ReadConfig.of(as_of=as_of) if as_of else ReadConfig.of())
        parts = [part for file in plan.files for part in read_file(table.storage, plan, file)]
        parts += [part for each in plan.slices for part in read_slice(table.storage, plan, each)]
        found: Rows = {}
        for part in filter(len, parts):
            columns = ("_hoodie_partition_path", "_hoodie_record_key", "value")
            values = (part[name].to_pylist() for name in columns)
            for partition, key, value in zip(*values, strict=True):
                if (partition, key) in found:
                    raise DoubleError(f"{partition}/{key} is there twice")
                found[partition, key] = value
        return found

    def compactions(self, environment: Environment, kind: str) -> CompactionService:
        """The compactions of a kind, as production runs them."""
        storage = environment.open_storage("")
        config = config_of(self.options)
        return compaction_service(environment, compaction_kind(kind), storage, config, {})
