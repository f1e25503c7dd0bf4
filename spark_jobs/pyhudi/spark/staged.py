"""A staged batch on its way to file groups: lookup, counts, buckets, files, commit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.config.options.operations import StoredKeys
from pyhudi.config.table import TableType
from pyhudi.errors import ConflictError, RecordKeyError, RequestError
from pyhudi.filegroup.names import hash_bucket_file_id
from pyhudi.filegroup.slices import AppendTarget, BaseFile
from pyhudi.jobs import JobResult
from pyhudi.spark.batch.staging import StagedBatch
from pyhudi.spark.placing import Places, find_places, profile_of
from pyhudi.spark.replacing import replaced_groups
from pyhudi.spark.tagging import TaggedBatch
from pyhudi.spark.work import Work, note_files
from pyhudi.spark.writing import write_buckets
from pyhudi.table.table import Table
from pyhudi.timeline.clock import new_file_id_prefix
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.write.plan.buckets import BucketPlan, assign_buckets
from pyhudi.write.plan.hash_buckets import assign_hash_buckets
from pyhudi.write.plan.profile import WorkloadProfile, planned_stats


def write_staged(work: Work, staged: StagedBatch, run: InstantRun, table: Table) -> JobResult:
    """Find a file group for every row of the batch, write the files and commit."""
    replaced = replaced_groups(work, table, staged.partitions)
    with work.watch.stage("lookup") as noted:
        places = _places(work, staged, run, table)
        searched = sum(file.size_bytes for file in places.files)
        noted.moved(sum(places.tagged.updates().values()), searched)
    try:
        if work.config.stored_keys is StoredKeys.FAIL and places.tagged.updates():
            run.withdraw()
            raise _stored_keys_found(places.tagged)
        profile = profile_of(work, staged, places)
        if profile.is_empty and work.is_nothing((), replaced):
            run.withdraw()
            return work.nothing()
        plan = _plan(work, table, profile, places)
        run.start(_intent(work, profile, places))
        stats: list[WriteStat] = []
        if plan.buckets:
            with work.watch.stage("write") as noted:
                job = work.job(table, run.instant)
                schema = work.target.keying.schema
                stats = write_buckets(staged, places, plan, job=job, schema=schema)
                note_files(noted, stats)
    finally:
        places.release()
    return work.commit(run, stats, replaced)


def _places(work: Work, staged: StagedBatch, run: InstantRun, table: Table) -> Places:
    try:
        return find_places(work, staged, table)
    except RequestError:
        # Nothing was written, so nothing is to be undone.
        run.withdraw()
        raise


def _stored_keys_found(tagged: TaggedBatch) -> RecordKeyError:
    updates = tagged.updates()
    where = tagged.files[min(updates)].partition
    return RecordKeyError(
        f"{sum(updates.values())} rows have keys that the table has already, some of them "
        f"in partition {where!r}; nothing was inserted. Upsert them, or leave them out"
    )


def _plan(work: Work, table: Table, profile: WorkloadProfile, places: Places) -> BucketPlan:
    claimed = table.clustered_groups()
    blocked = sorted(claimed & profile.updates.keys())
    if blocked:
        raise ConflictError(
            f"{len(blocked)} file groups to update are under a pending clustering, the first is "
            f"{'/'.join(blocked[0])}; let the clustering end and retry",
            where=table.storage.uri,
        )
    if places.hashed is not None:
        return assign_hash_buckets(
            places.hashed.counts,
            places.hashed.groups,
            opens=places.hashed.opens,
            new_file_id=lambda bucket: hash_bucket_file_id(bucket, new_file_id_prefix()),
            logs=places.logs,
        )
    by_partition: dict[str, list[BaseFile]] = defaultdict(list)
    for file in places.files:
        group = file.partition, file.file_id
        is_open = work.config.fills_small_files or group in profile.updates
        if is_open and group not in claimed and _takes_rows(file, places.logs.get(group)):
            by_partition[file.partition].append(file)
    sizing = work.config.sizing
    if table.config.table_type is TableType.MERGE_ON_READ:
        sizing = replace(sizing, small_file_candidates=work.config.logs.small_file_candidates)
    return assign_buckets(
        profile,
        by_partition,
        sizing=sizing,
        record_size_bytes=work.record_size(table),
        new_file_id=lambda: f"{new_file_id_prefix()}-0",
        logs=places.logs,
    )


def _takes_rows(file: BaseFile, place: AppendTarget | None) -> bool:
    """Whether the base file may be rewritten: nothing was appended to it, nor will a compaction.

    Source: SparkUpsertDeltaCommitPartitioner.getSmallFileCandidates, Hudi 0.15 and 1.1.
    """
    return place is None or (place.base_file == file.name and not place.log_files)


def _intent(work: Work, profile: WorkloadProfile, places: Places) -> CommitMetadata:
    before = {group: place.base_instant for group, place in places.logs.items()}
    before.update({(file.partition, file.file_id): file.instant for file in places.files})
    stats: dict[str, list[WriteStat]] = defaultdict(list)
    for partition, stat in planned_stats(profile, before):
        stats[partition].append(stat)
    return work.metadata({partition: tuple(found) for partition, found in stats.items()})
