"""How a file is made as new as if it had been written, while its bytes stay."""

from __future__ import annotations

from typing import Protocol, cast

from pyhudi.errors import MissingFileError
from pyhudi.storage.storage import Storage


class Touchable(Protocol):
    """A storage that sets the time of a file without writing it, whoever has written it by then."""

    def touch(self, path: str) -> None:
        """Set the file's time to that of the storage; absent is fine."""
        ...


def touch(storage: Storage, path: str, data: bytes) -> None:
    """Make the file with these bytes new; one with others, and one that is gone, stay as they are.

    Guarantees: no bytes of others are replaced, where the storage is ``Touchable``. Elsewhere they
        may be when they are written between a look and the next call.
    """
    if callable(getattr(storage, "touch", None)):
        cast(Touchable, storage).touch(path)
        return
    try:
        is_same = storage.read(path) == data
    except MissingFileError:
        return
    if is_same:
        storage.put(path, data)
