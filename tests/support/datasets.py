"""Datasets of plain files that tables are made of, in folders and in memory."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import orc
from pyarrow import parquet as pq

from pyhudi.config.formats import BaseFileFormat
from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.bootstrap.bootstrap import bootstrap_table
from pyhudi.pipeline.environment import Environment, environment_on
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import Clock
from tests.support.memory import MemoryStorage

SMALL_BLOOMS = {
    "hoodie.index.bloom.num_entries": "50",
    "hoodie.bloom.index.filter.dynamic.max.entries": "100",
}
FULL_RECORD = {"hoodie.bootstrap.mode.selector": "full_record"}
MIXED = {
    "hoodie.bootstrap.mode.selector": "regex",
    "hoodie.bootstrap.mode.selector.regex": ".*north",
}
"""Metadata alone for one partition of ``PARTS``, rows for the others."""
PARTS = ("north", "south", "west")
SOURCE_URI = "/memory/source"


def people(first: int, count: int) -> pa.Table:
    """Rows of a dataset, without its partition column."""
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": pa.array([f"k{number:04d}" for number in numbers]),
            "ts": pa.array(list(numbers), pa.int64()),
            "score": pa.array([number / 4 for number in numbers]),
        }
    )


def file_bytes(
    rows: pa.Table, kind: BaseFileFormat = BaseFileFormat.PARQUET, row_group_rows: int = 4
) -> bytes:
    """The bytes of a data file."""
    sink = io.BytesIO()
    if kind is BaseFileFormat.ORC:
        orc.write_table(rows, sink)
    else:
        pq.write_table(rows, sink, row_group_size=row_group_rows)
    return sink.getvalue()


def dataset(
    kind: BaseFileFormat = BaseFileFormat.PARQUET, files: int = 2, rows: int = 5
) -> dict[str, bytes]:
    """The files of a dataset in Hive's style, partitioned by ``part``, by their paths."""
    found = {}
    for number, part in enumerate(PARTS):
        for file in range(files):
            first = (number * files + file) * rows
            name = f"part={part}/f{file}{kind.extension}"
            found[name] = file_bytes(people(first, rows), kind)
    return found


def lay_out(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The files in a folder."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def request_of(
    table: Path | str, source: Path | str, options: Mapping[str, str] | None = None, **more: object
) -> BootstrapRequest:
    """A request to bootstrap a table of ``people``."""
    given = {
        "record_key": "id",
        "ordering_field": "ts",
        "table_name": "people",
        **more,
    }
    return BootstrapRequest(
        base_path=str(table),
        source=str(source),
        hoodie_conf={**SMALL_BLOOMS, **(options or {})},
        **given,  # type: ignore[arg-type]
    )


def bootstrap(
    table: Path | str, source: Path | str, options: Mapping[str, str] | None = None, **more: object
) -> JobResult:
    """Bootstrap a table on this machine, in this process."""
    request = request_of(table, source, options, **more)
    return bootstrap_table(environment_on(InProcessRunner()), request)


def bootstrap_in_memory(
    table: Storage,
    source: Storage,
    clock: Clock,
    options: Mapping[str, str] | None = None,
    **more: object,
) -> JobResult:
    """Bootstrap a table in memory of a dataset in memory."""
    environment = Environment(
        runner=InProcessRunner(),
        clock=clock,
        open_storage=lambda _: table,
        open_source=lambda *_: source,
    )
    return bootstrap_table(environment, request_of(table.uri, SOURCE_URI, options, **more))


class SourceInMemory(MemoryStorage):
    """A dataset in memory."""

    @property
    def uri(self) -> str:
        return SOURCE_URI
