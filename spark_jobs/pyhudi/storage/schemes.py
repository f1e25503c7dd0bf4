"""From a URI to a Storage; the only place that chooses a backend."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from pyhudi.errors import OptionError, StorageError
from pyhudi.storage import create
from pyhudi.storage.arrowfs import ArrowStorage
from pyhudi.storage.storage import Storage


def open_storage(uri: str, storage_options: Mapping[str, str] | None = None) -> Storage:
    """The Storage of the folder at a path or URI.

    A path without a scheme, or with ``file:``, is local. Other schemes are those of ``pyarrow.fs``
    (``s3``, ``gs``, ``abfs``, ``hdfs``); the ``s3a`` and ``s3n`` of Hadoop are read as ``s3``.
    ``storage_options`` go to the URI's query, as ``pyarrow.fs.FileSystem.from_uri`` reads them.

    Raises:
        OptionError: an empty path, or a scheme that pyarrow does not know.
        StorageError: the file system cannot be reached.
    """
    if not uri.strip():
        raise OptionError("the table's path is empty; give the folder of the table")
    scheme = urlsplit(uri).scheme if "://" in uri or uri.startswith("file:") else ""
    if scheme in ("", "file"):
        return _local(uri)
    try:
        filesystem, root = fs.FileSystem.from_uri(_arrow_uri(uri, storage_options or {}))
    except (pa.ArrowInvalid, ValueError) as error:
        raise OptionError(f"cannot open {uri}: {error}") from error
    except OSError as error:
        raise StorageError(f"cannot open {uri}: {error}") from error
    return ArrowStorage(
        filesystem=filesystem,
        root=root.rstrip("/"),
        uri=uri,
        create_if_absent=create.refuse,
        replace=create.refuse,
    )


def _local(uri: str) -> Storage:
    path = unquote(urlsplit(uri).path) if uri.startswith("file:") else uri
    return ArrowStorage(
        filesystem=fs.LocalFileSystem(),
        root=os.path.abspath(os.path.expanduser(path)),
        uri=uri,
        create_if_absent=create.create_local,
        replace=create.replace_local,
    )


def _arrow_uri(uri: str, options: Mapping[str, str]) -> str:
    for hadoop in ("s3a://", "s3n://"):
        if uri.startswith(hadoop):
            uri = "s3://" + uri[len(hadoop) :]
    if not options:
        return uri
    query = "&".join(f"{quote(name)}={quote(value, safe='')}" for name, value in options.items())
    return f"{uri}{'&' if '?' in uri else '?'}{query}"
