"""From a URI to a Storage; the only place that chooses a backend."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from pyhudi.config.access.secret import HIDDEN, is_secret, redacted
from pyhudi.config.access.storage_options import check_options_of_scheme, check_storage_options
from pyhudi.errors import OptionError, StorageError
from pyhudi.storage import create
from pyhudi.storage.arrowfs import ArrowStorage
from pyhudi.storage.storage import Storage


def open_storage(uri: str, storage_options: Mapping[str, str] | None = None) -> Storage:
    """The Storage of the folder at a path or URI.

    A path without a scheme, or with ``file:``, is local. Other schemes are those of ``pyarrow.fs``
    (``s3``, ``gs``, ``abfs``, ``hdfs``); the ``s3a`` and ``s3n`` of Hadoop are read as ``s3``.
    ``storage_options`` go to the URI, as ``pyarrow.fs.FileSystem.from_uri`` reads them.

    Raises:
        OptionError: an empty path, a scheme that pyarrow does not know, or an option that the
            storage does not have.
        StorageError: the file system cannot be reached.
    Guarantees: no password of URI or options is in the storage's URI or in an error.
    """
    if not uri.strip():
        raise OptionError("the table's path is empty; give the folder of the table")
    options = storage_options or {}
    check_storage_options(options, "storage_options")
    scheme = urlsplit(uri).scheme if "://" in uri or uri.startswith("file:") else ""
    if scheme in ("", "file"):
        return _local(uri)
    arrow, shown = _arrow_scheme(uri), redacted(uri)
    check_options_of_scheme(arrow.partition(":")[0], options, f"storage_options of {shown}")
    try:
        filesystem, root = fs.FileSystem.from_uri(_arrow_uri(arrow, options))
    # Arrow's errors quote the URI, and would be shown as causes.
    except (pa.ArrowInvalid, ValueError) as error:
        raise OptionError(f"cannot open {shown}: {_without(str(error), options)}") from None
    except OSError as error:
        raise StorageError(f"cannot open {shown}: {_without(str(error), options)}") from None
    return ArrowStorage(
        filesystem=filesystem,
        root=root.rstrip("/"),
        uri=shown,
        create_if_absent=create.refuse,
        replace=create.refuse,
    )


def _local(uri: str) -> Storage:
    path = unquote(urlsplit(uri).path) if uri.startswith("file:") else uri
    root = os.path.abspath(os.path.expanduser(path))
    return ArrowStorage(
        filesystem=fs.LocalFileSystem(),
        root=root,
        real_root=os.path.realpath(root),
        uri=uri,
        create_if_absent=create.create_local,
        replace=create.replace_local,
    )


def _arrow_scheme(uri: str) -> str:
    for hadoop in ("s3a://", "s3n://"):
        if uri.startswith(hadoop):
            return "s3://" + uri[len(hadoop) :]
    return uri


def _arrow_uri(uri: str, options: Mapping[str, str]) -> str:
    """The URI with its options: keys of an account stand before the host, others in the query."""
    user, password = options.get("access_key", ""), options.get("secret_key")
    password = options.get("account_key", password)
    keys = ("access_key", "secret_key", "account_key")
    if password is not None:
        scheme, _, rest = uri.partition("://")
        host, slash, path = rest.partition("/")
        # An Azure URI may have the container where the user stands.
        container, _, host = host.rpartition("@")
        user = quote(user, safe="") or container
        uri = f"{scheme}://{user}:{quote(password, safe='')}@{host}{slash}{path}"
    query = "&".join(
        f"{quote(name)}={quote(value, safe='')}"
        for name, value in options.items()
        if name not in keys
    )
    return f"{uri}{'&' if '?' in uri else '?'}{query}" if query else uri


def _without(text: str, options: Mapping[str, str]) -> str:
    for name, value in options.items():
        if is_secret(name, value):
            text = text.replace(quote(value, safe=""), HIDDEN).replace(value, HIDDEN)
    return redacted(text)
