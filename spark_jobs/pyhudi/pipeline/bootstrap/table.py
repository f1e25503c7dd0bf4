"""Where a bootstrap's table will be: what lies there, and how a table that must go is deleted."""

from __future__ import annotations

import logging
import os
from urllib.parse import urlsplit

from pyhudi.config.options.bootstrap import SAVE_MODE, SaveMode
from pyhudi.errors import RequestError, TableNotFoundError
from pyhudi.storage.storage import Storage
from pyhudi.table.properties_file import BACKUP_FILE, PROPERTIES_FILE
from pyhudi.table.table import Table, load_made
from pyhudi.transaction.exclusion import Writer, at_work, live_writers
from pyhudi.write.files.partition import METADATA_FILE

_log = logging.getLogger(__name__)
_ALIKE = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "abfs", "wasb": "abfs"}


def existing_table(storage: Storage) -> Table | None:
    """The table in a storage; None without any."""
    try:
        return load_made(storage)
    except TableNotFoundError:
        return None


def has_writes(table: Table) -> bool:
    """Whether something is in a table: a bootstrap that failed leaves none."""
    return len(table.timeline.write_instants().completed()) > 0


def check_save_mode(table: Table, mode: SaveMode) -> str | None:
    """Why nothing is to be done about a table that has rows; None where it is to be replaced.

    Raises:
        RequestError: it may be neither left nor replaced.
    """
    name = table.config.name
    match mode:
        case SaveMode.OVERWRITE:
            return None
        case SaveMode.IGNORE:
            return f"there is a table {name} with rows at the path already"
        case SaveMode.ERROR_IF_EXISTS:
            raise RequestError(
                f"there is a table {name} already, and {SAVE_MODE.key} is {mode.value}",
                where=table.storage.uri,
            )
        case SaveMode.APPEND:
            instant = table.timeline.write_instants().completed().instants[-1].time
            raise RequestError(
                f"the timeline of the table {name} is not empty (it has a write at {instant}), and "
                "a bootstrap makes the first rows of a table; take the writes back, bootstrap to "
                f"another path, or delete the table with {SAVE_MODE.key}="
                f"{SaveMode.OVERWRITE.value}",
                where=table.storage.uri,
            )


def check_apart(table: Storage, source: Storage) -> None:
    """Refuse a source within the table's folder, and the reverse.

    Raises:
        RequestError: says which.
    """
    own, other = _place(table), _place(source)
    if own == other or other.startswith(f"{own}/"):
        problem = f"the source {source.uri} lies in the folder of the table, {table.uri}"
    elif own.startswith(f"{other}/"):
        problem = f"the folder of the table, {table.uri}, lies in the source {source.uri}"
    else:
        return
    raise RequestError(f"{problem}; a table and its source each need a folder of their own")


def hadoop_uri(storage: Storage, path: str) -> str:
    """The URI of a path in a storage as Hadoop writes it, nothing escaped.

    Source: FileStatusUtils.fromPath, Hudi 0.15.
    """
    scheme = urlsplit(storage.uri).scheme if "://" in storage.uri else ""
    if scheme in ("", "file"):
        return f"file:{storage.absolute(path)}"
    root = storage.uri.rstrip("/")
    return f"{root}/{path}" if path else root


def delete_table(writer: Writer) -> None:
    """Delete a table, its files and nothing that is not its own.

    Readers see no table from the first step on; whoever dies midway leaves folders that the same
    call finds.

    Raises:
        WriterAtWorkError: somebody writes it.
    """
    alive = live_writers(writer)
    if alive:
        raise at_work(writer, alive)
    _log.warning("%s is deleted, to be made anew", writer.storage.uri)
    delete_files(writer.storage)


def delete_files(storage: Storage) -> None:
    """Delete what a table has left in its folder, its properties first."""
    for path in (PROPERTIES_FILE, BACKUP_FILE):
        storage.delete(path)
    found = storage.walk("", without=".hoodie")
    marks = [entry.path for entry in found if entry.name.startswith(METADATA_FILE)]
    folders = {path.rpartition("/")[0] for path in marks}
    own = [entry.path for entry in found if entry.path.rpartition("/")[0] in folders]
    storage.delete_dir(".hoodie")
    storage.delete_all(path for path in own if path not in marks)
    storage.delete_all(marks)
    for folder in sorted(folders, key=len, reverse=True):
        _delete_empty(storage, folder)


def _delete_empty(storage: Storage, folder: str) -> None:
    """Delete a folder and those above it, as long as nothing is in them."""
    while folder and not storage.list(folder):
        storage.delete_dir(folder)
        folder = folder.rpartition("/")[0]


def _place(storage: Storage) -> str:
    """A text that two storages of one folder share, and those of one below it begin with."""
    scheme, _, rest = storage.uri.partition("://")
    if not rest or scheme == "file":
        return os.path.realpath(storage.absolute(""))
    return f"{_ALIKE.get(scheme, scheme)}://{rest.rstrip('/')}"
