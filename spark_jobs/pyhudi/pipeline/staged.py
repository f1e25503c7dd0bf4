"""A staged batch on its way to file groups: lookup, counts, buckets, files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.config.options.operations import StoredKeys
from pyhudi.config.table import TableType
from pyhudi.errors import ConflictError, RecordKeyError
from pyhudi.filegroup.names import hash_bucket_file_id
from pyhudi.filegroup.slices import AppendTarget, BaseFile
from pyhudi.pipeline.batch.staging import StagedBatch
from pyhudi.pipeline.begun import Begun
from pyhudi.pipeline.files.routing import DoneBuckets, write_buckets
from pyhudi.pipeline.lookup.result import LookupResult, groups_with_keys, look_up, profile_of
from pyhudi.pipeline.lookup.tagging import TaggedBatch
from pyhudi.pipeline.replacing import replaced_groups
from pyhudi.pipeline.write_run import WriteRun, Written, note_files
from pyhudi.table.table import Table
from pyhudi.timeline.clock import new_file_id_prefix
from pyhudi.write.plan.buckets import BucketPlan, assign_buckets
from pyhudi.write.plan.hash_buckets import assign_hash_buckets
from pyhudi.write.plan.kept import FilesWritten
from pyhudi.write.plan.profile import WorkloadProfile, planned_stats


def write_staged(begun: Begun, staged: StagedBatch) -> Written:
    """Find a file group for every row of the batch and write the files.

    Raises:
        RecordKeyError: the table has some of the keys, and the request wants none of these.
        ConflictError: file groups to update are under a pending clustering.
    """
    run, table = begun.run, begun.table
    if run.config.needs_lookup and not run.config.index.is_hashed:
        begun.look_for_keys(partial(groups_with_keys, run, staged))
    replaced = replaced_groups(run, table, staged.partitions)
    with run.watch.stage("lookup") as noted:
        found = look_up(run, staged, table)
        searched = sum(file.size_bytes for file in found.files)
        noted.moved(sum(found.tagged.updates().values()), searched)
    try:
        if run.config.stored_keys is StoredKeys.FAIL and found.tagged.updates():
            raise _stored_keys_found(found.tagged)
        ignored = 0 if found.relocated is None else found.relocated.ignored
        nothing = Written(replaced=replaced, failures=run.failures, ignored=ignored)
        profile = profile_of(run, staged, found)
        if profile.is_empty and run.is_nothing(nothing):
            return nothing
        plan = _plan(run, table, profile, found)
        begun.instant.look_early(frozenset(plan.by_file))
        begun.start(_intent(run, profile, found))
        kept, skipped = _kept(begun, plan)
        if not plan.buckets:
            return nothing
        with run.watch.stage("write") as noted:
            stats = write_buckets(
                run.runner,
                staged,
                found,
                plan,
                context=run.context(table, begun.instant.instant),
                schema=run.target.keying.schema,
                done=DoneBuckets(skipped=skipped, before=kept.buckets),
            )
            counted = _with_ignored([*kept.stats, *stats], ignored)
            note_files(noted, counted[len(kept.stats) :])
        files = kept.and_then(tuple(stats), plan)
        return replace(
            nothing,
            stats=tuple(counted),
            ignored=None,
            files=None if found.relocated else files,
        )
    finally:
        found.release()


def _kept(begun: Begun, plan: BucketPlan) -> tuple[FilesWritten, frozenset[int]]:
    """The files of an earlier try that this one has no need to write, and the buckets they fill."""
    if begun.kept is None:
        return FilesWritten(), frozenset()
    files, changed = begun.kept.files.fits(plan, begun.kept.changed), begun.kept.changed
    return files, files.not_to_write(plan, changed)


def _with_ignored(stats: list[WriteStat], ignored: int) -> list[WriteStat]:
    """The statistics with rows counted that were ignored before there were file groups."""
    if not (ignored and stats) or stats[0].num_ignored is None:
        return stats
    return [replace(stats[0], num_ignored=stats[0].num_ignored + ignored), *stats[1:]]


def _stored_keys_found(tagged: TaggedBatch) -> RecordKeyError:
    updates = tagged.updates()
    where = tagged.files[min(updates)].partition
    return RecordKeyError(
        f"{sum(updates.values())} rows have keys that the table has already, some of them "
        f"in partition {where!r}; nothing was inserted. Upsert them, or leave them out"
    )


def _plan(run: WriteRun, table: Table, profile: WorkloadProfile, found: LookupResult) -> BucketPlan:
    clustered = table.clustered_groups()
    blocked = sorted(clustered & profile.updates.keys())
    if blocked:
        raise ConflictError(
            f"{len(blocked)} file groups to update are under a pending clustering, the first is "
            f"{'/'.join(blocked[0])}; let the clustering end and retry",
            where=table.storage.uri,
        )
    if found.hashes is not None:
        return assign_hash_buckets(
            found.hashes.counts,
            found.hashes.groups,
            opens=found.hashes.opens,
            new_file_id=lambda bucket: hash_bucket_file_id(bucket, new_file_id_prefix()),
            logs=found.targets,
        )
    by_partition: dict[str, list[BaseFile]] = defaultdict(list)
    for file in found.files:
        group = file.partition, file.file_id
        is_open = run.config.fills_small_files or group in profile.updates
        if is_open and group not in clustered and _takes_rows(file, found.targets.get(group)):
            by_partition[file.partition].append(file)
    sizing = run.config.sizing
    if table.config.table_type is TableType.MERGE_ON_READ:
        sizing = replace(sizing, small_file_candidates=run.config.logs.small_file_candidates)
    return assign_buckets(
        profile,
        by_partition,
        sizing=sizing,
        # Where new rows go depends on it; it takes reading the commits on the timeline.
        record_size_bytes=run.record_size(table) if profile.has_inserts else 1,
        new_file_id=lambda: f"{new_file_id_prefix()}-0",
        logs=found.targets,
    )


def _takes_rows(file: BaseFile, target: AppendTarget | None) -> bool:
    """Whether the base file may be rewritten: nothing was appended to it, nor will a compaction.

    In table versions 8 and 9 writes count on it that keep their instant after a conflict: log files
    that were completed since it was requested would lie on top of a base file that has them.

    Source: SparkUpsertDeltaCommitPartitioner.getSmallFileCandidates, Hudi 0.15 and 1.1.
    """
    return target is None or (target.base_file == file.name and not target.log_files)


def _intent(run: WriteRun, profile: WorkloadProfile, found: LookupResult) -> CommitMetadata:
    before = {group: target.base_instant for group, target in found.targets.items()}
    before.update({(file.partition, file.file_id): file.instant for file in found.files})
    stats: dict[str, list[WriteStat]] = defaultdict(list)
    for partition, stat in planned_stats(profile, before):
        stats[partition].append(stat)
    return run.metadata({partition: tuple(planned) for partition, planned in stats.items()})
