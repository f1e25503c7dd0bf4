"""The file hoodie.properties of a table: read it, make it once, replace it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress

from pyhudi.config import properties
from pyhudi.config.table import TableConfig
from pyhudi.errors import (
    CorruptTableError,
    MissingFileError,
    RequestError,
    StorageError,
    TableNotFoundError,
    UnclearAnswerError,
)
from pyhudi.storage.storage import Storage
from pyhudi.storage.versioned import read_known

_log = logging.getLogger(__name__)

PROPERTIES_FILE = ".hoodie/hoodie.properties"
BACKUP_FILE = f"{PROPERTIES_FILE}.backup"

# java.util.Properties writes this and no other encoding.
_ENCODING = "latin-1"
_COMMENT = ("Written by pyhudi",)
_NO_TAGS: Mapping[str, str] = {}


def load_config(storage: Storage, tags: Mapping[str, str] = _NO_TAGS) -> TableConfig:
    """The configuration of the table in a folder; ``tags`` are those of a listing, by path.

    While Hudi replaces the file only its backup is whole, and that is read then.

    Raises:
        TableNotFoundError: there is no table.
        RequestError: the path is one of a file.
        CorruptTableError: the file breaks the format, and so does its backup or there is none.
    Source: ConfigUtils.fetchConfigs, Hudi 0.15.
    """
    broken: CorruptTableError | None = None
    for path in (PROPERTIES_FILE, BACKUP_FILE, PROPERTIES_FILE):
        try:
            text = read_known(storage, path, tags.get(path, "")).decode(_ENCODING)
        except MissingFileError:
            continue
        except UnclearAnswerError:
            # It was waited for, and would be once more.
            raise
        except StorageError as error:
            if isinstance(error.__cause__, NotADirectoryError) or _is_file(storage):
                raise RequestError(
                    f"{storage.uri} is no folder: it is a file, or lies below one; give the folder "
                    "of the table",
                    where=storage.uri,
                ) from error
            raise
        try:
            found = _parsed(text, storage.absolute(path))
        except CorruptTableError as error:
            broken = broken or error
            continue
        if broken is not None and path == BACKUP_FILE:
            _log.warning("%s; its backup is read", broken)
        return found
    if broken is not None:
        raise broken
    raise TableNotFoundError(
        f"no Hudi table at {storage.uri}: {PROPERTIES_FILE} is not there; check the path, or write "
        "to it to make a table",
        where=storage.uri,
    )


def _parsed(text: str, where: str) -> TableConfig:
    # Every line that Java writes has an end; the checksum covers two names alone.
    if text and not text.endswith(("\n", "\r")):
        raise CorruptTableError(
            "the properties end within a line, so the file was cut short; put it back whole",
            where=where,
        )
    return TableConfig.from_properties(properties.parse(text), where=where)


def _is_file(storage: Storage) -> bool:
    with suppress(StorageError):
        root = storage.status("")
        return root is not None and not root.is_dir
    return False


def create_properties(storage: Storage, config: TableConfig) -> None:
    """Write the file of a new table.

    Raises:
        AlreadyExistsError: there is a table already.
    """
    storage.create(PROPERTIES_FILE, _bytes(config.to_properties()))


def replace_properties(storage: Storage, found: Mapping[str, str]) -> None:
    """Replace the file of a table at once."""
    storage.put(PROPERTIES_FILE, _bytes(found))


def _bytes(found: Mapping[str, str]) -> bytes:
    return properties.dump(found, _COMMENT).encode(_ENCODING)
