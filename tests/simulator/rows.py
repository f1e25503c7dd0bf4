"""Stand-ins for data files: rows as JSON, behind the names, markers and statistics of real ones.

A row is a text by its key. Log files have real blocks, so that what looks at their headers reads
them as ever; what lies in a block is JSON again, and a key without a text is deleted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from pyhudi.actions.commit import WriteStat
from pyhudi.config.options.operations import Operation
from pyhudi.config.table import TableType
from pyhudi.config.versions import TableVersion
from pyhudi.filegroup.names import base_file_name, file_path
from pyhudi.filegroup.slices import AppendTarget, BaseFile, FileSlice, GroupId
from pyhudi.fileslice.logs import KnownWrites, counted_blocks
from pyhudi.fileslice.reading import SliceReading
from pyhudi.logfile.framing import BlockKind, HeaderKey, encode_block
from pyhudi.logfile.reader import Block
from pyhudi.pipeline.begun import Begun
from pyhudi.pipeline.replacing import delete_partitions, replaced_groups
from pyhudi.pipeline.staged import _takes_rows
from pyhudi.pipeline.write_run import Written
from pyhudi.runner.task import TaskIdentity
from pyhudi.storage.storage import Storage
from pyhudi.table.table import Table
from pyhudi.timeline.clock import new_file_id_prefix
from pyhudi.transaction.markers import MarkerType, leave_marker
from pyhudi.write.context import WriteContext
from pyhudi.write.files.partition import ensure_partition

Key = tuple[str, str]
"""Partition path and record key."""
Rows = dict[Key, str]
Changes = Mapping[str, str | None]
"""Texts by record key, of one file group; None deletes."""
_TASK = TaskIdentity(partition_id=0, stage_id=0, attempt_id=0)
"""As of the first task of every process, which tells no two processes apart."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a write is to do: rows to write, keys to delete, or partitions.

    Its rows have a further column where one is named.
    """

    operation: Operation
    rows: Mapping[Key, str]
    partitions: tuple[str, ...] = ()
    column: str = ""


def write_files(begun: Begun, asked: Asked) -> Written:
    """Look up, choose file groups and write files, in the order in which the pipeline does."""
    if asked.operation is Operation.DELETE_PARTITION:
        return delete_partitions(begun, asked.partitions)
    run, table = begun.run, begun.table
    if run.config.needs_lookup:
        begun.look_for_keys(partial(_groups_with_keys, asked))
    partitions = sorted({partition for partition, _ in asked.rows})
    replaced = replaced_groups(run, table, partitions)
    files = table.files(None if replaced is None else partitions)
    is_delta = table.config.table_type is TableType.MERGE_ON_READ
    targets = files.append_targets(table.pending_compactions()) if is_delta else {}
    bases = {(each.partition, each.file_id): each for each in files.latest_base_files()}
    updates, left = _located(asked, table.storage, bases)
    inserts: dict[GroupId, dict[str, str]] = defaultdict(dict)
    for (partition, key), value in sorted(left.items()):
        inserts[_group_for(asked, partition, bases, targets)][key] = value
    if not (updates or inserts or run.config.recorded_operation.replaces):
        return Written()
    begun.instant.start(run.metadata(_intent(updates, targets)))
    stats = []
    instant = begun.instant.instant
    for group in sorted({*updates, *inserts}):
        target, base = targets.get(group), bases.get(group)
        if target is not None and group not in inserts:
            log = log_of(target, table.config.version, instant)
            stats.append(append(table.storage, instant, log, updates[group]))
            continue
        stored = {} if base is None else read_base(table.storage, base)
        merged = _merged(stored, {**updates.get(group, {}), **inserts.get(group, {})})
        own = group if base is not None else (group[0], f"{new_file_id_prefix()}-0")
        stats.append(write_base(table.storage, instant, own, merged, base))
    return Written(stats=tuple(stats), replaced=replaced)


def _intent(
    updates: Iterable[GroupId], targets: Mapping[GroupId, AppendTarget]
) -> dict[str, tuple[WriteStat, ...]]:
    """The slices that a write is about to append to, as its inflight instant says."""
    planned: dict[str, tuple[WriteStat, ...]] = defaultdict(tuple)
    for group in updates:
        if (target := targets.get(group)) is not None:
            stat = WriteStat(file_id=group[1], prev_commit=target.base_instant)
            planned[group[0]] += (stat,)
    return planned


def log_of(target: AppendTarget, version: TableVersion, instant: str) -> AppendTarget:
    """What a write appends to: log files with its name, or those of the slice."""
    return target.of_write(instant) if version.logs_name_their_write else target


def _located(
    asked: Asked, storage: Storage, bases: Mapping[GroupId, BaseFile]
) -> tuple[dict[GroupId, dict[str, str | None]], dict[Key, str]]:
    """The keys that file groups have, with what becomes of them, and the rows that none has."""
    updates: dict[GroupId, dict[str, str | None]] = defaultdict(dict)
    left = dict(asked.rows)
    is_delete = asked.operation is Operation.DELETE
    if not is_delete and asked.operation is not Operation.UPSERT:
        return updates, left
    for group, base in bases.items():
        for key in sorted(
            read_base(storage, base).keys() & {k for part, k in left if part == group[0]}
        ):
            value = left.pop((group[0], key))
            updates[group][key] = None if is_delete else value
    return updates, {} if is_delete else left


def _groups_with_keys(asked: Asked, table: Table, groups: frozenset[GroupId]) -> frozenset[GroupId]:
    """Of some file groups those that have keys of the batch."""
    partitions = {partition for partition, _ in groups}
    found = table.files(partitions).latest_base_files()
    return frozenset(
        group
        for base in found
        if (group := (base.partition, base.file_id)) in groups
        and any((base.partition, key) in asked.rows for key in read_base(table.storage, base))
    )


def _group_for(
    asked: Asked,
    partition: str,
    bases: Mapping[GroupId, BaseFile],
    targets: Mapping[GroupId, AppendTarget],
) -> GroupId:
    """The small file that takes the new rows of a partition; without a name for a new one."""
    if asked.operation not in (Operation.UPSERT, Operation.INSERT):
        return partition, ""
    found = (
        group
        for group, base in sorted(bases.items())
        if group[0] == partition and _takes_rows(base, targets.get(group))
    )
    return next(found, (partition, ""))


def write_base(
    storage: Storage,
    instant: str,
    group: GroupId,
    rows: Mapping[str, str],
    previous: BaseFile | None,
    token: str = _TASK.write_token,
) -> WriteStat:
    """A base file: its partition, its marker, its bytes, its statistics."""
    partition, file_id = group
    path = file_path(partition, base_file_name(file_id, token, instant))
    ensure_partition(storage, partition, instant)
    kind = MarkerType.CREATE if previous is None else MarkerType.MERGE
    leave_marker(storage, instant, path, kind)
    data = json.dumps(rows).encode()
    storage.put(path, data)
    return WriteStat(
        file_id=file_id,
        path=path,
        prev_commit="null" if previous is None else previous.instant,
        num_writes=len(rows),
        num_inserts=len(rows) if previous is None else 0,
        total_write_bytes=len(data),
        partition_path=partition,
        file_size_bytes=len(data),
        num_ignored=0,
    )


def append(
    storage: Storage,
    instant: str,
    target: AppendTarget,
    changes: Changes,
    compacted: Iterable[str] = (),
    task: TaskIdentity = _TASK,
) -> WriteStat:
    """A log file of one block, as the slice's next one."""
    names_write = target.base_instant == instant
    token = task.write_token if names_write else task.log_token(instant)
    name = target.file_name(target.next_version, token)
    path = file_path(target.partition, name)
    if not (target.log_files or target.base_file):
        ensure_partition(storage, target.partition, instant)
    leave_marker(storage, instant, path, MarkerType.CREATE if names_write else MarkerType.APPEND)
    header: dict[int, str] = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: "{}"}
    if compacted:
        header[HeaderKey.COMPACTED_BLOCK_TIMES] = ",".join(compacted)
    data = encode_block(BlockKind.AVRO, header, json.dumps(changes).encode())
    storage.put(path, data)
    return WriteStat(
        file_id=target.file_id,
        path=path,
        prev_commit=target.base_instant,
        num_writes=len(changes),
        num_update_writes=len(changes),
        total_write_bytes=len(data),
        partition_path=target.partition,
        file_size_bytes=len(data),
        log_version=target.next_version,
        base_file=target.base_file,
        log_files=(*target.log_files, name),
        num_ignored=0,
    )


def compact_slice(
    context: WriteContext, task: TaskIdentity, found: FileSlice, reading: SliceReading
) -> list[WriteStat]:
    """What a compaction makes of a slice."""
    storage = context.storage
    base = {} if found.base_file is None else read_base(storage, found.base_file)
    changes, _ = read_logs(storage, found, reading.instant_test())
    group, rows = (found.partition, found.file_id), _merged(base, changes)
    stat = write_base(storage, context.instant, group, rows, found.base_file, task.write_token)
    return [stat]


def log_compact_slice(
    context: WriteContext, task: TaskIdentity, found: FileSlice, reading: SliceReading
) -> list[WriteStat]:
    """What a log compaction makes of a slice."""
    storage = context.storage
    changes, blocks = read_logs(storage, found, reading.instant_test())
    if not changes:
        return []
    instants = reversed(tuple(dict.fromkeys(block.instant for block in blocks)))
    target = log_of(AppendTarget.after(found), context.version, context.instant)
    return [append(storage, context.instant, target, changes, tuple(instants), task)]


def read_base(storage: Storage, file: BaseFile) -> dict[str, str]:
    """The rows of a base file."""
    found: dict[str, str] = json.loads(storage.read(file.path))
    return found


def read_logs(
    storage: Storage, found: FileSlice, counts: Callable[[str], bool]
) -> tuple[dict[str, str | None], tuple[Block, ...]]:
    """What the log files of a slice change, and the blocks that say so."""
    if not found.log_files:
        return {}, ()
    names = [log.path for log in found.log_files]
    writes = KnownWrites(active={log.path: log.writes for log in found.log_files})
    blocks = counted_blocks(names, storage.open_input, counts, writes=writes)
    changes: dict[str, str | None] = {}
    data = {name: storage.read(name) for name in names}
    for block in blocks:
        start = block.content_offset
        changes.update(json.loads(data[block.file][start : start + block.content_bytes]))
    return changes, blocks


def read_rows(table: Table, as_of: str | None = None) -> Rows:
    """The rows of a table, now or as of an instant.

    Raises:
        AssertionError: a key is there twice.
    """
    found: Rows = {}
    slices = table.latest_slices(as_of=as_of)
    is_committed = table.timeline.committed_test()

    def is_wanted(instant: str) -> bool:
        return (as_of is None or instant <= as_of) and is_committed(instant)

    for each in slices:
        rows = {} if each.base_file is None else read_base(table.storage, each.base_file)
        changes, _ = read_logs(table.storage, each, is_wanted)
        for key, value in _merged(rows, changes).items():
            where = each.partition, key
            if where in found:
                raise DoubleError(f"{each.partition}/{key} is there twice")
            found[where] = value
    return found


class DoubleError(AssertionError):
    """A key has two rows."""


def _merged(rows: Mapping[str, str], changes: Changes) -> dict[str, str]:
    merged = {**rows, **changes}
    return {key: value for key, value in merged.items() if value is not None}
