"""What can go wrong, as a tree a caller can act on.

::

    HudiError
    ├── RequestError            the request is wrong: mend it, a retry cannot help   (exit code 2)
    │   ├── OptionError         an option's name or value
    │   ├── SourceError         the rows to write: unreadable
    │   │   └── MissingSourceError   not there
    │   ├── RecordKeyError      null or empty record keys
    │   ├── SchemaError         the rows do not fit the table's schema
    │   ├── TableMismatchError  the table at the path is another one than asked for
    │   ├── TableNotFoundError  no table at the path
    │   └── UnsupportedError    known to Hudi, not done here
    ├── ConflictError           another writer was there first: retry                (exit code 3)
    │   ├── WriterAtWorkError   it writes still: wait for it
    │   ├── LockError           it holds the table's lock, for longer than this one waits
    │   ├── LostLockError       it took the lock from this one, which must not commit
    │   ├── WriteConflictError  it committed a change of the same file groups first
    │   ├── RolledBackError     it took this one for dead, and undid it
    │   └── TableChangedError   it made another table of it than the rows were read for
    ├── PlatformError           disk, network, Spark, Java: a retry can help         (exit code 4)
    │   ├── SetupError          the machine lacks something: mend it, then retry     (exit code 6)
    │   ├── LateSourceError     the rows to write, expected and not there yet
    │   └── StorageError        one storage call failed
    │       ├── MissingFileError
    │       ├── AlreadyExistsError
    │       ├── PreconditionError    it was to be done to a version that is another by now
    │       └── UnclearAnswerError   nobody knows whether it was carried out
    ├── CorruptTableError       bytes of the table that break the format             (exit code 2)
    │   └── BootstrapSourceError     a file that it was bootstrapped from is gone or another
    └── InvariantError          a state the engine must never be in                  (exit code 5)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

EXIT_REQUEST, EXIT_CONFLICT, EXIT_PLATFORM, EXIT_INTERNAL, EXIT_SETUP = 2, 3, 4, 5, 6
"""What a job script ends with."""
FINAL_EXIT_CODES = frozenset({EXIT_REQUEST, EXIT_INTERNAL, EXIT_SETUP})
"""The exit codes after which the same call fails again; after any other a retry can help."""


class HudiError(Exception):
    """Root of every error of the engine.

    ``exit_code`` is what a job script ends with, and ``where`` names the table, path or instant
    concerned.
    """

    exit_code: int = EXIT_INTERNAL

    def __init__(self, message: str, *, where: str | None = None) -> None:
        super().__init__(message)
        self.where = where

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} [{self.where}]" if self.where and self.where not in message else message

    @property
    def retryable(self) -> bool:
        """Whether the same call can succeed later without being changed."""
        return self.exit_code not in FINAL_EXIT_CODES


@contextmanager
def located(where: str) -> Iterator[None]:
    """Errors of the engine that come out of here without a place get this one."""
    try:
        yield
    except HudiError as error:
        error.where = error.where or where or None
        raise


class RequestError(HudiError):
    """The request cannot be carried out as it stands."""

    exit_code = EXIT_REQUEST


class OptionError(RequestError):
    """An option has a name or a value that cannot be used."""


class SourceError(RequestError):
    """The rows to write cannot be read."""


class MissingSourceError(SourceError):
    """The rows to write are not there."""


class RecordKeyError(RequestError):
    """Rows without a usable record key."""


class SchemaError(RequestError):
    """Rows that do not fit the table's schema."""


class TableMismatchError(RequestError):
    """The table at the path has another name, type, version or key than the request says."""


class TableNotFoundError(RequestError):
    """No Hudi table lies at the path."""


class UnsupportedError(RequestError):
    """Something Hudi has and this engine does not, which would change the data if ignored."""


class ConflictError(HudiError):
    """Another writer holds the table or committed first; nothing of this write is visible."""

    exit_code = EXIT_CONFLICT


class WriterAtWorkError(ConflictError):
    """Another writer is in the way, and will not be for ever."""


class LockError(ConflictError):
    """The lock of the table could not be taken in the time that there was."""


class LostLockError(ConflictError):
    """The lock that this writer held is another's, or may be: what it guarded may not go on."""


class WriteConflictError(ConflictError):
    """Others committed what this write cannot stand beside; it can be made again.

    ``instants`` are those of the others.
    """

    def __init__(
        self, message: str, *, where: str | None = None, instants: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, where=where)
        self.instants = instants


class RolledBackError(ConflictError):
    """Another writer took this one for dead and has undone it, or is about to."""


class TableChangedError(ConflictError):
    """The table is no longer the one that the rows were prepared for."""


class PlatformError(HudiError):
    """The surroundings failed: disk, network, Spark or Java."""

    exit_code = EXIT_PLATFORM


class SetupError(PlatformError):
    """Something that every job needs is not installed, or in a version that does not do."""

    exit_code = EXIT_SETUP


class LateSourceError(PlatformError):
    """The rows to write are not there yet, and whoever asked said that they will be."""


class StorageError(PlatformError):
    """A call to the storage failed."""


class MissingFileError(StorageError):
    """A file that must be there is not."""


class AlreadyExistsError(StorageError):
    """A create-if-absent found the file already there."""


class PreconditionError(StorageError):
    """A file was to be replaced as long as it was as it had been, and it was not."""


class UnclearAnswerError(StorageError):
    """A call had no answer, or one that does not tell whether it was carried out."""


class CorruptTableError(HudiError):
    """Bytes of the table break the format; another attempt reads the same bytes."""

    exit_code = EXIT_REQUEST


class BootstrapSourceError(CorruptTableError):
    """A file with rows of a bootstrapped table is not what it was when the table was made of it."""


class InvariantError(HudiError):
    """The engine reached a state that it must never reach."""
