"""The rows of a source as a bulk insert takes them: columns of the folders' names beside theirs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi.pipeline.batch.source import SourceRows
from pyhudi.pipeline.bootstrap.dataset.partitions import TakenPartition
from pyhudi.pipeline.bootstrap.dataset.source import SourceData, open_source, part_name
from pyhudi.runner.runner import Runner, SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity, Tell, tell_nobody
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.storage.storage import Storage

_BATCH_ROWS = 65_536
_TASK_BYTES = 128 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Row groups of one file of the source that one task reads."""

    partition: TakenPartition
    source: SourceData
    row_groups: range
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRows:
    """Rows of partitions of a source, by the tasks that read them. See ``SourceRows``.

    Columns in ``encoded`` come dictionary-encoded. Rows that were taken are told to ``tell``.
    """

    runner: Runner
    storage: Storage
    tasks: tuple[tuple[Share, ...], ...]
    schema: pa.Schema
    encoded: frozenset[str] = frozenset()
    tell: Tell = tell_nobody

    def map(self, function: TaskFunction, schema: pa.Schema) -> SpreadRows:
        """What a function makes of the batches that each task reads."""
        tasks, storage, wanted, encoded = self.tasks, self.storage, self.schema, self.encoded
        tell = self.tell

        def read_and_map(task: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
            batches = (
                batch
                for share in tasks[number]
                for batch in _told(_read(storage, share, wanted, encoded), share, tell)
            )
            yield from function(task, batches)

        return self.runner.tasks(len(tasks), read_and_map, schema)

    def in_large_tasks(self, most_bytes: int) -> SourceRows:
        """The same rows in the same order, one task a core or as many as this size asks for."""
        shares = [share for task in self.tasks for share in task]
        total = sum(share.size_bytes for share in shares)
        size = min(most_bytes, -(-total // self.runner.parallelism))
        return replace(self, tasks=_joined(shares, size))

    def with_dictionaries(self, names: Iterable[str]) -> SourceRows:
        """The same rows with the text columns among ``names`` encoded that all files hold so."""
        found = {field.name for field in self.schema if field.type == pa.string()}
        found.intersection_update(names)
        for share in (share for task in self.tasks for share in task):
            found &= share.source.repeating
        return replace(self, encoded=frozenset(found))


def dataset_rows(
    runner: Runner,
    storage: Storage,
    partitions: Sequence[TakenPartition],
    schema: pa.Schema,
    tell: Tell = tell_nobody,
) -> DatasetRows:
    """The rows of some partitions in the columns of a schema."""
    shares = [
        share
        for partition in partitions
        for source in partition.files
        for share in _shares(partition, source)
    ]
    return DatasetRows(
        runner=runner,
        storage=storage,
        tasks=_joined(shares, _TASK_BYTES),
        schema=schema,
        tell=tell,
    )


def _shares(partition: TakenPartition, source: SourceData) -> Iterator[Share]:
    """The file in parts of about as many bytes as a task reads, each of whole row groups."""
    groups = source.row_groups
    parts = max(1, min(groups, source.file.size_bytes // _TASK_BYTES))
    for part in range(parts):
        own = range(groups * part // parts, groups * (part + 1) // parts)
        yield Share(
            partition=partition,
            source=source,
            row_groups=own,
            size_bytes=source.file.size_bytes // parts,
        )


def _joined(shares: Sequence[Share], target_bytes: int) -> tuple[tuple[Share, ...], ...]:
    """Neighbours together, about as much as asked."""
    tasks: list[list[Share]] = []
    size = target_bytes
    for share in shares:
        if not tasks or size + share.size_bytes // 2 > target_bytes:
            tasks.append([])
            size = 0
        tasks[-1].append(share)
        size += share.size_bytes
    return tuple(map(tuple, tasks))


def _told(batches: Iterator[pa.RecordBatch], share: Share, tell: Tell) -> Iterator[pa.RecordBatch]:
    """The same batches, each told once the next is asked for."""
    done, name = 0, part_name(share.source, share.row_groups.start)
    for batch in batches:
        yield batch
        done += batch.num_rows
        tell(name, done, share.source.rows)
    tell(name, done, share.source.rows)


def _read(
    storage: Storage, share: Share, schema: pa.Schema, encoded: Collection[str]
) -> Iterator[pa.RecordBatch]:
    values = share.partition.values
    with open_source(storage, share.source.file) as opened:
        have = set(opened.columns)
        given = {name: value for name, value in values.items() if name not in have}
        parts = opened.tables(
            schema.names,
            share.row_groups,
            batch_rows=_BATCH_ROWS,
            keep_dictionaries=bool(encoded),
        )
        for rows in parts:
            for name, value in given.items():
                rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
            # Other files may hold as plain texts what this one has encoded.
            plain = pa.schema([field for field in schema if field.name not in encoded])
            decoded = reconcile(rows, plain)
            for name in encoded:
                decoded = decoded.append_column(name, rows.column(name))
            yield from reconcile(decoded, schema, keep_dictionaries=True).to_batches()
