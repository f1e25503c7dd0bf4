"""The write pipeline: request, target, keys, lookup, file groups, files, commit.

Insert skips the lookup, bulk insert skips lookup and file groups, delete brings keys alone. A bulk
insert that combines records of one key needs its rows together, and goes the way of an insert that
leaves existing files alone.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.config.write import Operation
from pyhudi.errors import ConflictError, OptionError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.jobs import JobResult, UpsertRequest
from pyhudi.spark.bulk import bulk_insert
from pyhudi.spark.failures import explained
from pyhudi.spark.source import Rows, rows_of_frame, rows_of_source
from pyhudi.spark.staging import StagedBatch, stage
from pyhudi.spark.tagging import TaggedBatch, tag, untagged
from pyhudi.spark.work import Work, prepare
from pyhudi.spark.writing import write_buckets
from pyhudi.table.table import Table
from pyhudi.timeline.clock import new_file_id_prefix
from pyhudi.timeline.instant import Action
from pyhudi.transaction.clustering import claimed_file_groups
from pyhudi.transaction.transaction import Transaction
from pyhudi.write.buckets import BucketPlan, assign_buckets
from pyhudi.write.profile import WorkloadProfile, planned_stats


def write(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    options: Mapping[str, str],
    mode: str = "append",
    storage_options: Mapping[str, str] | None = None,
) -> JobResult:
    """Write a DataFrame into the Hudi table at a path, which is created if there is none.

    ``options`` are Hudi's own (``hoodie.datasource.write.operation`` …); what the table knows of
    itself need not be said again.

    Raises:
        RequestError: options, rows and table do not fit; nothing was written.
        ConflictError: another writer is at work; nothing of this write is visible.
        PlatformError: disk, network or Spark failed; nothing of this write is visible.
    Guarantees: the rows are in the table whole when this returns, and not at all when it raises.
    """
    if mode != "append":
        raise OptionError(
            f"mode is {mode!r}; only 'append' is supported, the operation says what becomes of rows"
        )
    with explained():
        return write_rows(rows_of_frame(frame), os.fspath(path), options, storage_options)


def run_upsert(spark: SparkSession, request: UpsertRequest) -> JobResult:
    """Carry out the request of the job ``upsert.py``."""
    with explained():
        source = rows_of_source(
            spark,
            request.source,
            source_format=request.source_format,
            source_options=request.source_options,
            sql=request.sql,
        )
        return write_rows(
            source,
            request.base_path,
            request.options(),
            request.storage_options,
            commit_metadata=request.commit_metadata,
        )


def write_rows(
    rows: Rows,
    path: str,
    options: Mapping[str, str],
    storage_options: Mapping[str, str] | None = None,
    *,
    commit_metadata: Mapping[str, str] | None = None,
) -> JobResult:
    """The whole write, stage by stage; see ``write``."""
    work = prepare(rows.schema, path, options, storage_options, commit_metadata)
    if work.landed is not None:
        return work.already(work.landed)
    if work.config.operation is Operation.BULK_INSERT and not work.config.combines_batch:
        return _begin(work, lambda *begun: _write_unstaged(work, rows, *begun))
    with work.watch.stage("key"):
        staged = stage(rows, work.target.keying)
    try:
        if not staged.pieces:
            return work.nothing()
        return _begin(work, lambda *begun: _write_staged(work, staged, *begun))
    finally:
        staged.release()


def _begin(work: Work, write_files: Callable[[Transaction, Table], JobResult]) -> JobResult:
    """Begin the write, unless the table is no longer the one that the request was held against."""
    with Transaction(work.begin(), Action.COMMIT) as transaction:
        table = work.open()
        landed = work.landed_meanwhile(table)
        if landed is not None:
            transaction.withdraw()
            return work.already(landed)
        if work.has_other_schema(table):
            transaction.withdraw()
            raise ConflictError(
                "another writer has changed the table's schema meanwhile; retry",
                where=table.storage.uri,
            )
        return write_files(transaction, table)


def _write_unstaged(work: Work, rows: Rows, transaction: Transaction, table: Table) -> JobResult:
    transaction.start(b"")
    with work.watch.stage("write"):
        job = work.job(table, transaction.instant)
        stats = bulk_insert(rows, work.target.keying, work.config.bulk_insert, job)
    return _commit_or_withdraw(work, transaction, stats)


def _write_staged(
    work: Work, staged: StagedBatch, transaction: Transaction, table: Table
) -> JobResult:
    is_bulk = work.config.operation is Operation.BULK_INSERT
    files = () if is_bulk else table.latest_base_files(staged.partitions)
    with work.watch.stage("lookup"):
        has_lookup = work.config.operation in (Operation.UPSERT, Operation.DELETE)
        tagged = tag(staged, files, table.storage) if has_lookup else untagged(files)
    try:
        profile = _profile(work, staged, tagged)
        if profile.is_empty:
            transaction.withdraw()
            return work.nothing()
        plan = _plan(work, table, profile, files)
        transaction.start(_intent(work, profile, files).to_bytes())
        with work.watch.stage("write"):
            job = work.job(table, transaction.instant)
            schema = work.target.keying.schema
            stats = write_buckets(staged, tagged, plan, job=job, schema=schema)
    finally:
        tagged.release()
    return _commit_or_withdraw(work, transaction, stats)


def _commit_or_withdraw(
    work: Work, transaction: Transaction, stats: Sequence[WriteStat]
) -> JobResult:
    if not stats:
        # An empty source, or nothing but deletes of keys that are nowhere.
        transaction.withdraw()
        return work.nothing()
    with work.watch.stage("commit"):
        metadata = work.metadata(_by_partition(stats))
        written = frozenset(stat.path for stat in stats if stat.path)
        transaction.complete(metadata.to_bytes(), written)
    return work.result("committed", transaction.instant, stats)


def _profile(work: Work, staged: StagedBatch, tagged: TaggedBatch) -> WorkloadProfile:
    inserts: Counter[str] = Counter()
    if work.config.operation is not Operation.DELETE:
        for piece in staged.pieces:
            # A key that lives in several file groups is hit in each of them, so rows of new keys
            # may be more than the hits leave; wherever they can be, they get a place to go.
            fresh = piece.count_rows - tagged.hit_rows.get(piece.piece_id, 0)
            fewest = 1 if tagged.hit_files.get(piece.piece_id, 0) > 1 else 0
            inserts[piece.partition_path] += max(fewest, fresh)
    updates = {
        (tagged.files[number].partition, tagged.files[number].file_id): rows
        for number, rows in tagged.updates.items()
    }
    return WorkloadProfile(inserts=dict(inserts), updates=updates)


def _plan(
    work: Work, table: Table, profile: WorkloadProfile, files: Iterable[BaseFile]
) -> BucketPlan:
    claimed = claimed_file_groups(table.storage, table.config.version, table.timeline)
    blocked = sorted(claimed & profile.updates.keys())
    if blocked:
        raise ConflictError(
            f"{len(blocked)} file groups to update are under a pending clustering, the first is "
            f"{'/'.join(blocked[0])}; let the clustering end and retry",
            where=table.storage.uri,
        )
    by_partition: dict[str, list[BaseFile]] = defaultdict(list)
    for file in files:
        if (file.partition, file.file_id) not in claimed:
            by_partition[file.partition].append(file)
    return assign_buckets(
        profile,
        by_partition,
        sizing=work.config.sizing,
        record_size_bytes=work.record_size(table),
        new_file_id=lambda: f"{new_file_id_prefix()}-0",
    )


def _intent(work: Work, profile: WorkloadProfile, files: Iterable[BaseFile]) -> CommitMetadata:
    before = {(file.partition, file.file_id): file.instant for file in files}
    stats: dict[str, list[WriteStat]] = defaultdict(list)
    for partition, stat in planned_stats(profile, before):
        stats[partition].append(stat)
    return work.metadata({partition: tuple(found) for partition, found in stats.items()})


def _by_partition(stats: Iterable[WriteStat]) -> dict[str, tuple[WriteStat, ...]]:
    found: dict[str, list[WriteStat]] = defaultdict(list)
    for stat in sorted(stats, key=lambda stat: stat.path or ""):
        found[stat.partition_path or ""].append(stat)
    return {partition: tuple(group) for partition, group in found.items()}
