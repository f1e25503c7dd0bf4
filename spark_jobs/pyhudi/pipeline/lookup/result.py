"""What the index says of a batch, before file groups are chosen for its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from pyhudi.config.options.operations import Operation, StoredKeys
from pyhudi.config.table import TableType
from pyhudi.filegroup.slices import AppendTarget, BaseFile, GroupId
from pyhudi.fileslice.reader import SliceLogs
from pyhudi.index.bucket import BucketHash
from pyhudi.index.moves import RelocationContext
from pyhudi.index.simple import KeyLookup
from pyhudi.pipeline.batch.staging import StagedBatch
from pyhudi.pipeline.lookup.hashing import count_by_hash, verify_bucket_hash
from pyhudi.pipeline.lookup.relocation import RelocatedBatch, relocate, with_contested
from pyhudi.pipeline.lookup.tagging import TaggedBatch, tag, untagged
from pyhudi.pipeline.write_run import WriteRun
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
class LookupResult:
    """What the index found out about a batch.

    ``files`` are the base files that it may touch, and ``targets`` says where rows are appended in
    a table that keeps updates in logs; ``relocated`` has the rows that moved or met first, and
    ``hashes`` is there when the keys themselves say where they belong.
    """

    files: tuple[BaseFile, ...]
    tagged: TaggedBatch
    targets: Mapping[GroupId, AppendTarget] = field(default_factory=dict)
    relocated: RelocatedBatch | None = None
    hashes: BucketHashes | None = None

    def release(self) -> None:
        """Drop what is held."""
        self.tagged.matches.release()
        if self.relocated is not None:
            self.relocated.release()


def look_up(run: WriteRun, staged: StagedBatch, table: Table) -> LookupResult:
    """Ask the index where the keys of a batch are stored.

    Raises:
        TableMismatchError: a table whose file groups another index made.
    """
    config, runner = run.config, run.runner
    index = config.index
    listed = _listed(run, staged, table)
    files, targets = listed.latest_base_files(), _targets(run, table, listed)
    tagged = untagged(files)
    merged = _merged_slices(run, table, listed)
    if config.needs_lookup and not _is_hash_enough(run):
        lookup = KeyLookup(
            asks_filters=index.index_type.reads_bloom_filters,
            prunes_by_ranges=index.prunes_by_ranges,
            virtual_keys=run.target.virtual_keys,
            logs=merged,
            asks_rows=_notes_positions(run),
        )
        is_global = index.index_type.is_global
        tagged = tag(runner, staged, files, table.storage, lookup, is_global=is_global)
    if index.is_hashed:
        hashes = _hashes(run, staged, table, listed)
        return LookupResult(files=files, tagged=tagged, targets=targets, hashes=hashes)
    if not index.index_type.is_global or config.operation is Operation.DELETE:
        return LookupResult(files=files, tagged=tagged, targets=targets)
    if config.combines_batch:
        tagged = with_contested(runner, staged, tagged)
    relocated = relocate(
        runner,
        staged,
        tagged,
        _relocation_context(run, table, merged),
        schema=run.target.keying.schema,
        moves=index.moves_records and config.stored_keys is StoredKeys.KEEP,
    )
    return LookupResult(files=files, tagged=tagged, targets=targets, relocated=relocated)


def groups_with_keys(
    run: WriteRun, staged: StagedBatch, table: Table, groups: Collection[GroupId]
) -> frozenset[GroupId]:
    """Of some file groups those in which keys of the batch are stored, deleted ones among them."""
    index = run.config.index
    partitions = {partition for partition, _ in groups}
    if not index.index_type.is_global:
        partitions &= set(staged.partitions)
    if not partitions:
        return frozenset()
    sound = replace(table, skips_damaged=True)
    found = sound.files(partitions, with_logs=False).latest_base_files()
    files = tuple(file for file in found if (file.partition, file.file_id) in groups)
    lookup = KeyLookup(
        asks_filters=index.index_type.reads_bloom_filters,
        prunes_by_ranges=index.prunes_by_ranges,
        virtual_keys=run.target.virtual_keys,
    )
    is_global = index.index_type.is_global
    tagged = tag(run.runner, staged, files, table.storage, lookup, is_global=is_global)
    try:
        return frozenset((files[n].partition, files[n].file_id) for n in tagged.updates())
    finally:
        tagged.matches.release()


def profile_of(run: WriteRun, staged: StagedBatch, found: LookupResult) -> WorkloadProfile:
    """Rows to insert by partition, and to update by file group."""
    hashes, relocated, tagged = found.hashes, found.relocated, found.tagged
    if hashes is not None:
        return hash_profile(hashes.counts, hashes.groups, opens=hashes.opens)
    inserts: Counter[str] = Counter() if relocated is None else Counter(relocated.inserts)
    possible: set[str] = set()
    if run.config.operation is not Operation.DELETE:
        matched_rows, matched_files = tagged.matched_rows(), tagged.matched_files()
        for piece in staged.pieces:
            fresh = piece.count_rows - matched_rows.get(piece.piece_id, 0)
            inserts[piece.partition_path] += max(0, fresh)
            # A key that is stored in several file groups matches in each of them, so rows of new
            # keys may be more than the matches leave; wherever they can be, they get a bucket.
            if matched_files.get(piece.piece_id, 0) > 1:
                possible.add(piece.partition_path)
    rows_of_files = dict(tagged.updates())
    if run.config.stored_keys is StoredKeys.DROP:
        rows_of_files = {}
    elif relocated is not None:
        for number in relocated.files:
            rows_of_files.pop(number, None)
        rows_of_files.update(relocated.updates)
    updates = {
        (tagged.files[number].partition, tagged.files[number].file_id): rows
        for number, rows in rows_of_files.items()
    }
    return WorkloadProfile(inserts=dict(inserts), updates=updates, possible=frozenset(possible))


def _listed(run: WriteRun, staged: StagedBatch, table: Table) -> TableFiles:
    """The files that the batch may have to do with."""
    config = run.config
    if config.needs_lookup and config.index.index_type.is_global:
        return table.files()
    is_appended = _keeps_logs(run) and not config.recorded_operation.replaces
    is_read = config.needs_lookup or config.fills_small_files or config.index.is_hashed
    return table.files(staged.partitions if is_read or is_appended else ())


def _keeps_logs(run: WriteRun) -> bool:
    return run.target.config.table_type is TableType.MERGE_ON_READ


def _targets(run: WriteRun, table: Table, listed: TableFiles) -> Mapping[GroupId, AppendTarget]:
    if not _keeps_logs(run) or run.config.recorded_operation.replaces:
        return {}
    return listed.append_targets(table.pending_compactions())


def _merged_slices(run: WriteRun, table: Table, listed: TableFiles) -> SliceLogs | None:
    """What log files make of stored rows, where it matters whether a key is there at all.

    An update may be appended to the file group of a key that was deleted; it must not be left out
    because of it, nor taken for a move from there.
    """
    config = run.config
    is_global = config.index.index_type.is_global and config.operation is not Operation.DELETE
    asks = config.needs_lookup and (is_global or config.stored_keys is not StoredKeys.KEEP)
    if not asks or not _keeps_logs(run):
        return None
    return slice_logs(table, listed.latest_slices(), config.compaction.memory)


def _notes_positions(run: WriteRun) -> bool:
    """Whether log blocks say where their records lie in the base file.

    Source: HoodieAppendHandle and HoodieWriteConfig.shouldWriteRecordPositions, Hudi 1.0 and 1.1;
    where a bucket index has found a record it has no position.
    """
    config, table = run.config, run.target.config
    notes = table.version.has_record_positions and config.logs.record_positions
    return notes and _keeps_logs(run) and not config.index.is_hashed


def _is_hash_enough(run: WriteRun) -> bool:
    return run.config.index.is_hashed and run.config.stored_keys is StoredKeys.KEEP


def _hashes(run: WriteRun, staged: StagedBatch, table: Table, listed: TableFiles) -> BucketHashes:
    index = run.config.index
    # File groups that the write replaces get no rows: each bucket begins anew.
    is_new = run.config.recorded_operation.replaces
    slices = () if is_new else listed.latest_slices()
    files = () if is_new else listed.latest_base_files()
    groups = hash_groups(slices, index.num_buckets)
    hashed = verify_bucket_hash(index, table.config, table.storage, files)
    return BucketHashes(
        hash=hashed,
        groups=groups,
        counts=count_by_hash(staged, hashed),
        opens=run.config.operation is not Operation.DELETE,
    )


def _relocation_context(run: WriteRun, table: Table, merged: SliceLogs | None) -> RelocationContext:
    return RelocationContext(
        storage=table.storage,
        rule=run.target.rule,
        schema=run.target.schema,
        generator=run.target.keying.generator,
        is_combining=run.config.combines_batch,
        virtual_keys=run.target.virtual_keys,
        logs=merged,
    )
