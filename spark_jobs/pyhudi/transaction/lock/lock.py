"""What a lock of a table promises, whichever provider it is of."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class HeldLock(Protocol):
    """The lock of a table while it is this writer's, as far as is known."""

    def confirm(self) -> None:
        """Called last before a commit point: see to it that the lock is this writer's still.

        Raises:
            LostLockError: it is another's, or may be; whoever has lost it does not commit.
            StorageError: nobody knows; nor does this writer commit then.
        """
        ...


class TableLock(Protocol):
    """A lock of one table, which at most one holds at a time, as far as its provider can promise.

    It is not re-entrant: who holds it does not ask for it again.
    """

    def hold(self) -> AbstractContextManager[HeldLock]:
        """Wait for the lock, have it, and give it back at the end.

        Raises:
            LockError: others held it for longer than it is waited for.
        """
        ...
