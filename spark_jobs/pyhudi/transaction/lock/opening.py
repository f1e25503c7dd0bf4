"""From the options of a writer to the lock of a table."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from pyhudi.config.options.locks import ATOMIC_SCHEMES, FOLDER, PROVIDER, LockConfig, LockProvider
from pyhudi.errors import OptionError, UnsupportedError
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from pyhudi.storage.versioned import as_versioned
from pyhudi.timeline.clock import Clock
from pyhudi.transaction.lock.file_system import FileSystemLock
from pyhudi.transaction.lock.in_process import InProcessLock
from pyhudi.transaction.lock.lock import TableLock
from pyhudi.transaction.lock.storage_based import StorageLock

_FILE_SCHEMES: Final = ("", "file", "hdfs", "viewfs", "dfs", "hopsfs")
"""Where a file lock may lie.

Source: FileSystemBasedLockProvider, StorageSchemes.isAtomicCreationSupported, Hudi 0.15 to 1.2.
"""

_log = logging.getLogger(__name__)


def open_lock(
    storage: Storage,
    config: LockConfig,
    clock: Clock,
    open_folder: Callable[[str], Storage] = open_storage,
) -> TableLock:
    """The lock of the table in a storage, of the provider that options name.

    ``open_folder`` opens the folder of a lock that lies elsewhere.

    Raises:
        OptionError: they name none.
        UnsupportedError: the provider cannot lock a table in this storage.
    """
    match config.provider:
        case LockProvider.IN_PROCESS:
            _log.warning(
                "%s is InProcessLockProvider, which keeps out threads of this process and nobody "
                "else: no other job, nor Hudi",
                PROVIDER.key,
            )
            return InProcessLock(storage.absolute(""), config, clock)
        case LockProvider.FILE_SYSTEM:
            return file_system_lock(storage, config, clock, open_folder)
        case LockProvider.STORAGE:
            return storage_lock(storage, config, clock)
        case None:
            raise OptionError(f"{PROVIDER.key} names no lock", where=storage.uri)


def storage_lock(storage: Storage, config: LockConfig, clock: Clock) -> StorageLock:
    """The lock object of the table in a storage.

    Raises:
        UnsupportedError: the storage does not compare and swap, and Hudi has no client for it.
    """
    store = as_versioned(storage)
    if store is None:
        raise UnsupportedError(
            f"{PROVIDER.key} is {LockProvider.STORAGE.value}, which is for object stores, and "
            f"nothing else; take {LockProvider.FILE_SYSTEM.value} here",
            where=storage.uri,
        )
    return StorageLock(storage, store, config, clock)


def file_system_lock(
    storage: Storage,
    config: LockConfig,
    clock: Clock,
    open_folder: Callable[[str], Storage] = open_storage,
) -> FileSystemLock:
    """The lock file of the table in a storage.

    Raises:
        UnsupportedError: on such a storage Hudi's writers do not create a file for one alone.
    """
    where = open_folder(config.folder) if config.folder else storage
    scheme = where.uri.partition("://")[0].lower() if "://" in where.uri else ""
    if scheme not in (*_FILE_SCHEMES, *config.atomic_schemes):
        raise UnsupportedError(
            f"{PROVIDER.key} is {LockProvider.FILE_SYSTEM.value}, which is not for {scheme}: take "
            f"{LockProvider.STORAGE.value}, name a folder elsewhere with {FOLDER.key}, or, if all "
            f"writers create files there for one alone, {scheme} with {ATOMIC_SCHEMES.key}",
            where=where.uri,
        )
    if config.folder:
        return FileSystemLock(where, config, clock, folder="")
    return FileSystemLock(where, config, clock)
