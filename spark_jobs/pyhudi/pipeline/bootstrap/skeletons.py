"""Skeletons: files with the meta columns of rows that stay where they are in the source."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.commit import WriteStat
from pyhudi.config.options.bootstrap import MODE_SELECTOR
from pyhudi.errors import RecordKeyError, RequestError, SourceError
from pyhudi.keys.generators import KeyGenerator
from pyhudi.pipeline.batch.pieces import KEY_SCHEMA, one_row
from pyhudi.pipeline.batch.staging import error_of, problem_of
from pyhudi.pipeline.bootstrap.dataset.partitions import TakenPartition
from pyhudi.pipeline.bootstrap.dataset.source import (
    OpenSource,
    SourceData,
    open_source,
    part_name,
)
from pyhudi.runner.runner import Runner
from pyhudi.runner.task import TaskIdentity, Tell, tell_nobody
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.schema.metafields import with_meta, with_meta_avro
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import new_file_id_prefix
from pyhudi.write.context import WriteContext
from pyhudi.write.files.handle import BaseFileHandle

_AVRO: Final = with_meta_avro(
    {"type": "record", "name": "HoodieRecordKey", "doc": "", "fields": []}
)
"""Source: HoodieAvroUtils.createHoodieWriteSchema, RECORD_KEY_SCHEMA, Hudi 0.15."""
# What is done is heard when a task ends: so many that each has less than a tenth of a source.
_FEWEST_TASKS: Final = 12
_MADE: Final = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("stat", pa.string()),
        pa.field("problem", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """A skeleton that was written for a file of the source, by its statistics."""

    partition: TakenPartition
    source: SourceData
    stat: WriteStat


@dataclass(frozen=True, slots=True, kw_only=True)
class SkeletonWork:
    """What every task that writes skeletons must know.

    ``schema`` has the columns of the table that keys and paths are made of, and ``keys`` makes
    them. Rows of the source that have a skeleton are told to ``tell``.
    """

    storage: Storage
    context: WriteContext
    schema: pa.Schema
    keys: KeyGenerator
    tell: Tell

    @classmethod
    def of(
        cls,
        storage: Storage,
        context: WriteContext,
        schema: pa.Schema,
        keys: KeyGenerator,
        tell: Tell = tell_nobody,
    ) -> SkeletonWork:
        """The work on the files in a storage; ``context`` is that of any write to the table."""
        tops = _top_levels((*keys.key_columns, *keys.path_fields))
        return cls(
            storage=storage,
            context=replace(context, schema=with_meta(pa.schema([])), avro_schema=_AVRO),
            schema=pa.schema([field for field in schema if field.name in tops]),
            keys=keys,
            tell=tell,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SkeletonFile:
    """One file of the source to write a skeleton for."""

    partition: TakenPartition
    source: SourceData


def write_skeletons(
    runner: Runner, work: SkeletonWork, files: Sequence[SkeletonFile], most_tasks: int
) -> list[Skeleton]:
    """Write a skeleton for each of the files, over tasks.

    Raises:
        RecordKeyError: a row of the source has no record key; it names the file.
        SourceError: a file has changed, or its rows lie in a folder that is not theirs.
    """
    tasks = _tasks(files, min(runner.parallelism, most_tasks))

    def write(task: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
        for place in tasks[number]:
            yield _made(work, task, files[place])

    by_path = {each.source.file.path: each for each in files}
    found = runner.tasks(len(tasks), write, _MADE).collect()
    problems = sorted(row.problem for row in found if row.problem is not None)
    if problems:
        raise error_of(problems[0])
    return [
        Skeleton(
            partition=by_path[row.path].partition,
            source=by_path[row.path].source,
            stat=WriteStat.from_json(json.loads(row.stat)),
        )
        for row in found
    ]


def _tasks(files: Sequence[SkeletonFile], parallelism: int) -> list[list[int]]:
    """Which files one task takes, by number: about as many rows each, the largest files first."""
    count = max(1, min(len(files), max(parallelism * 4, _FEWEST_TASKS)))
    ordered = sorted(range(len(files)), key=lambda number: -files[number].source.rows)
    tasks: list[list[int]] = [[] for _ in range(count)]
    rows = [0] * count
    for number in ordered:
        least = rows.index(min(rows))
        tasks[least].append(number)
        # A file costs something by itself, however few rows it has.
        rows[least] += files[number].source.rows + 1000
    return tasks


def _made(work: SkeletonWork, task: TaskIdentity, file: SkeletonFile) -> pa.RecordBatch:
    try:
        stat = write_skeleton(work, task, file)
    except RequestError as error:
        return one_row([file.source.file.path, None, problem_of(error)], _MADE)
    return one_row([file.source.file.path, json.dumps(stat.to_json()), None], _MADE)


def write_skeleton(work: SkeletonWork, task: TaskIdentity, file: SkeletonFile) -> WriteStat:
    """Write the skeleton of one file, its rows in their order.

    Guarantees: memory holds the key columns of some rows.
    Source: BaseBootstrapMetadataHandler and HoodieBootstrapHandle, Hudi 0.15: a file id is bare.
    """
    with open_source(work.storage, file.source.file) as opened:
        handle = BaseFileHandle(
            _sized_for(work.context, file.source.rows),
            task,
            partition=file.partition.path,
            file_id=new_file_id_prefix(),
            previous=None,
        )
        # What the folder says of its rows was held against its path already.
        told = _given(file, opened)
        checks_paths = not _top_levels(work.keys.path_fields) <= told.keys()
        with handle:
            for rows in _key_rows(work, file, opened):
                first = handle.counts.inserted
                handle.write_new(_keyed(work, file, rows, first, checks_paths=checks_paths))
                handle.counts.inserted += rows.num_rows
                work.tell(part_name(file.source, 0), handle.counts.inserted, file.source.rows)
            if handle.counts.inserted != file.source.rows:
                raise SourceError(
                    f"the source file {opened.where} has {handle.counts.inserted} rows and had "
                    f"{file.source.rows} when it was looked at: somebody writes to the source"
                )
    return handle.stat


def _sized_for(context: WriteContext, rows: int) -> WriteContext:
    """The work with bloom filters that are no larger than this many rows need.

    How many there are is known, and a filter of Hudi's defaults takes 430 kB of a small file. Any
    reader takes the size from the filter itself.
    """
    bloom = context.bloom
    if bloom is None:
        return context
    return replace(context, bloom=replace(bloom, num_entries=max(1, min(bloom.num_entries, rows))))


def _top_levels(names: Iterable[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def _key_rows(work: SkeletonWork, file: SkeletonFile, opened: OpenSource) -> Iterator[pa.Table]:
    """The columns that keys and paths are made of, some rows at a time, in the table's types.

    Those that neither the file nor its folder has are null, as they are when they are read.
    """
    given = _given(file, opened)
    kinds = pa.schema([field for field in work.schema if field.name not in given])
    for rows in opened.tables(kinds.names):
        found = reconcile(rows, kinds) if kinds.names else rows
        for name, value in given.items():
            found = found.append_column(name, pa.repeat(value, rows.num_rows))
        yield found


def _given(file: SkeletonFile, opened: OpenSource) -> dict[str, pa.Scalar]:
    """The values of the partition columns that the folder has and the file has not."""
    have = set(opened.columns)
    return {name: value for name, value in file.partition.values.items() if name not in have}


def _keyed(
    work: SkeletonWork,
    file: SkeletonFile,
    rows: pa.Table,
    first: int,
    *,
    checks_paths: bool,
) -> pa.Table:
    where = work.storage.absolute(file.source.file.path)
    keys, path = work.keys, file.partition.path
    try:
        made = keys.record_keys(rows)
    except RecordKeyError as error:
        missing = keys.keyless(rows).nonzero()[0]
        at = f"; the first of them is row {first + int(missing[0])}" if len(missing) else ""
        raise RecordKeyError(
            f"the source file {where}: {error}{at}. A row that stays where it is cannot be left "
            f"out: mend the file, or write its rows (full_record with {MODE_SELECTOR.key})"
        ) from error
    if not checks_paths:
        return pa.Table.from_arrays([made], schema=KEY_SCHEMA)
    paths = keys.partition_paths(rows)
    is_own = pc.equal(paths, path)
    if rows.num_rows and not pc.all(is_own).as_py():
        place = pc.index(is_own, value=False).as_py()
        raise SourceError(
            f"row {first + place} of the source file {where} belongs to the partition "
            f"{paths[place].as_py()!r} by its columns, and lies in {path!r}"
        )
    return pa.Table.from_arrays([made], schema=KEY_SCHEMA)
