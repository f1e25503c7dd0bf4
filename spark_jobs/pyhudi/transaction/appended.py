"""Log files that a write appended to: whether it made them, and how its blocks in others go."""

from __future__ import annotations

from collections.abc import Iterable

from pyhudi.config.versions import TableVersion
from pyhudi.errors import MissingFileError
from pyhudi.filegroup.names import LogFileName, file_path
from pyhudi.filegroup.slices import LogFile
from pyhudi.logfile.framing import BlockKind, HeaderKey, encode_block
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.logfile.scan import ROLLBACK
from pyhudi.storage.storage import Storage

_COMMAND_TOKEN = "1-0-1"


def is_own_log(storage: Storage, path: str, instant: str) -> bool:
    """Whether all whole blocks of the log file at ``path`` are of one write; not of a missing file.

    Writers that append to files of others, as Hudi 0.15 does on HDFS, leave ones that are not.
    """
    blocks = _blocks(storage, path)
    return blocks is not None and all(block.is_torn or block.instant == instant for block in blocks)


def logs_of_write(
    storage: Storage, logs: Iterable[LogFile], instant: str, version: TableVersion
) -> tuple[str, ...]:
    """The paths of the log files in which a write has a block.

    Where log files name their write they are told by that, else by reading every header.
    """
    if version.logs_name_their_write:
        return tuple(log.path for log in logs if log.name.base_instant == instant)
    return tuple(
        log.path
        for log in logs
        if log.name.base_instant <= instant
        and any(block.instant == instant for block in _blocks(storage, log.path) or ())
    )


def append_rollback_block(
    storage: Storage, logs: Iterable[LogFile], slice_of: LogFile, *, at: str, target: str
) -> str:
    """Take back the blocks that a write left in the log files of a slice, by a block behind them.

    ``slice_of`` is any of the slice's log files and ``logs`` those of its partition, ``at`` the
    instant of the rollback and ``target`` that of the write. Gives the path of the log file that
    holds the block.

    Guarantees: readers pass by the write's blocks; to do it again changes nothing for them.
    Source: BaseRollbackHelper.maybeDeleteAndCollectStats, Hudi 0.15 and 1.1.
    """
    versions = [log.name.version for log in logs if _slice_id(log) == _slice_id(slice_of)]
    name = LogFileName(
        file_id=slice_of.name.file_id,
        base_instant=slice_of.name.base_instant,
        version=max(versions, default=0) + 1,
        write_token=_COMMAND_TOKEN,
    )
    header: dict[int, str] = {
        HeaderKey.INSTANT_TIME: at,
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: ROLLBACK,
    }
    path = file_path(slice_of.partition, name)
    storage.put(path, encode_block(BlockKind.COMMAND, header, b""))
    return path


def _slice_id(log: LogFile) -> tuple[str, str]:
    return log.name.file_id, log.name.base_instant


def _blocks(storage: Storage, path: str) -> list[Block] | None:
    try:
        with storage.open_input(path) as source:
            return list(iter_blocks(source, path))
    except MissingFileError:
        return None
