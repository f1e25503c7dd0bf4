"""Where the rows of a batch belong, as the index says: before file groups are chosen for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyhudi.config.options.operations import Operation, StoredKeys
from pyhudi.config.table import TableType
from pyhudi.filegroup.slices import AppendTarget, BaseFile
from pyhudi.filegroup.view import GroupId
from pyhudi.fileslice.reader import SliceLogs
from pyhudi.index.bucket import BucketHash
from pyhudi.index.moves import RelocationContext
from pyhudi.index.simple import KeyLookup
from pyhudi.spark.batch.staging import StagedBatch
from pyhudi.spark.hashing import count_by_hash, verify_bucket_hash
from pyhudi.spark.relocation import RelocatedBatch, settle, with_contested
from pyhudi.spark.tagging import TaggedBatch, tag, untagged
from pyhudi.spark.work import Work
from pyhudi.table.files import TableFiles
from pyhudi.table.slice_reading import slice_logs
from pyhudi.table.table import Table
from pyhudi.write.plan.hash_buckets import HashCounts, HashGroups, hash_groups, hash_profile
from pyhudi.write.plan.profile import WorkloadProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketHashes:
    """How keys are hashed to buckets, what a partition has of these, and what the batch brings.

    ``opens`` says whether rows may open file groups.
    """

    hash: BucketHash
    groups: HashGroups
    counts: HashCounts
    opens: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What the index found out about a batch.

    ``files`` are the base files that it may touch, and ``logs`` says where rows are appended in a
    table that keeps updates in logs; ``settled`` has the rows that moved or met
    first, and ``hashed`` is there when the keys themselves say where they belong.
    """

    files: tuple[BaseFile, ...]
    tagged: TaggedBatch
    logs: Mapping[GroupId, AppendTarget] = field(default_factory=dict)
    settled: RelocatedBatch | None = None
    hashed: BucketHashes | None = None

    def release(self) -> None:
        """Let Spark drop what it keeps."""
        self.tagged.hits.release()
        if self.settled is not None:
            self.settled.release()


def find_places(work: Work, staged: StagedBatch, table: Table) -> Places:
    """Ask the index where the rows of a batch belong.

    Raises:
        TableMismatchError: a table whose file groups another index made.
    """
    config = work.config
    index = config.index
    listed = _listed(work, staged, table)
    files, logs = listed.latest_base_files(), _logs(work, table, listed)
    tagged = untagged(files)
    merged = _merged_slices(work, table, listed)
    if config.needs_lookup and not _is_hash_enough(work):
        lookup = KeyLookup(
            asks_filters=index.index_type.reads_bloom_filters,
            prunes_by_ranges=index.prunes_by_ranges,
            virtual_keys=work.target.virtual_keys,
            logs=merged,
        )
        is_global = index.index_type.is_global
        tagged = tag(staged, files, table.storage, lookup, is_global=is_global)
    if index.is_hashed:
        hashed = _hashed(work, staged, table, listed)
        return Places(files=files, tagged=tagged, logs=logs, hashed=hashed)
    if not index.index_type.is_global or config.operation is Operation.DELETE:
        return Places(files=files, tagged=tagged, logs=logs)
    if config.combines_batch:
        tagged = with_contested(staged, tagged)
    moves = index.moves_records and config.stored_keys is StoredKeys.KEEP
    job = _move_job(work, table, merged)
    settled = settle(staged, tagged, job, work.target.keying.schema, moves=moves)
    return Places(files=files, tagged=tagged, logs=logs, settled=settled)


def profile_of(work: Work, staged: StagedBatch, places: Places) -> WorkloadProfile:
    """Rows to insert by partition, and to update by file group."""
    hashed, settled, tagged = places.hashed, places.settled, places.tagged
    if hashed is not None:
        return hash_profile(hashed.counts, hashed.groups, opens=hashed.opens)
    inserts: Counter[str] = Counter() if settled is None else Counter(settled.inserts)
    possible: set[str] = set()
    if work.config.operation is not Operation.DELETE:
        hit_rows, hit_files = tagged.hit_rows(), tagged.hit_files()
        for piece in staged.pieces:
            fresh = piece.count_rows - hit_rows.get(piece.piece_id, 0)
            inserts[piece.partition_path] += max(0, fresh)
            # A key that lives in several file groups is hit in each of them, so rows of new keys
            # may be more than the hits leave; wherever they can be, they get a place to go.
            if hit_files.get(piece.piece_id, 0) > 1:
                possible.add(piece.partition_path)
    rows_of_files = dict(tagged.updates())
    if work.config.stored_keys is StoredKeys.DROP:
        rows_of_files = {}
    elif settled is not None:
        for number in settled.files:
            rows_of_files.pop(number, None)
        rows_of_files.update(settled.updates)
    updates = {
        (tagged.files[number].partition, tagged.files[number].file_id): rows
        for number, rows in rows_of_files.items()
    }
    return WorkloadProfile(inserts=dict(inserts), updates=updates, possible=frozenset(possible))


def _listed(work: Work, staged: StagedBatch, table: Table) -> TableFiles:
    """The files that the batch may have to do with."""
    config = work.config
    if config.needs_lookup and config.index.index_type.is_global:
        return table.files()
    is_appended = _keeps_logs(work) and not config.effect.replaces
    is_read = config.needs_lookup or config.fills_small_files or config.index.is_hashed
    return table.files(staged.partitions if is_read or is_appended else ())


def _keeps_logs(work: Work) -> bool:
    return work.target.config.table_type is TableType.MERGE_ON_READ


def _logs(work: Work, table: Table, listed: TableFiles) -> Mapping[GroupId, AppendTarget]:
    if not _keeps_logs(work) or work.config.effect.replaces:
        return {}
    return listed.append_targets(table.pending_compactions())


def _merged_slices(work: Work, table: Table, listed: TableFiles) -> SliceLogs | None:
    """What log files make of stored rows, where it matters whether a key is there at all.

    An update may be appended to the file group of a key that was deleted; it must not be left out
    because of it, nor taken for a move from there.
    """
    config = work.config
    is_global = config.index.index_type.is_global and config.operation is not Operation.DELETE
    asks = config.needs_lookup and (is_global or config.stored_keys is not StoredKeys.KEEP)
    if not asks or not _keeps_logs(work):
        return None
    return slice_logs(table, listed.latest_slices(), config.compaction.memory)


def _is_hash_enough(work: Work) -> bool:
    return work.config.index.is_hashed and work.config.stored_keys is StoredKeys.KEEP


def _hashed(work: Work, staged: StagedBatch, table: Table, listed: TableFiles) -> BucketHashes:
    index = work.config.index
    # File groups that the write replaces get no rows: each bucket begins anew.
    is_new = work.config.effect.replaces
    slices = () if is_new else listed.latest_slices()
    files = () if is_new else listed.latest_base_files()
    groups = hash_groups(slices, index.num_buckets)
    hashed = verify_bucket_hash(index, table.config, table.storage, files)
    return BucketHashes(
        hash=hashed,
        groups=groups,
        counts=count_by_hash(staged, hashed),
        opens=work.config.operation is not Operation.DELETE,
    )


def _move_job(work: Work, table: Table, merged: SliceLogs | None) -> RelocationContext:
    return RelocationContext(
        storage=table.storage,
        rule=work.target.rule,
        schema=work.target.schema,
        generator=work.target.keying.generator,
        is_combining=work.config.combines_batch,
        virtual_keys=work.target.virtual_keys,
        logs=merged,
    )
