"""From a URI to a Storage; the only place that chooses a backend."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from pyhudi.config.access.secret import HIDDEN, is_secret, redacted
from pyhudi.config.access.storage_options import (
    check_options_of_scheme,
    check_storage_options,
    parted_options,
)
from pyhudi.errors import OptionError, StorageError
from pyhudi.storage import create
from pyhudi.storage.arrowfs import ArrowStorage
from pyhudi.storage.hdfs import SCHEMES as HDFS_SCHEMES
from pyhudi.storage.hdfs import HdfsStorage, hdfs_storage
from pyhudi.storage.keyring import NO_OPTIONS, HiddenOptions
from pyhudi.storage.objects.clients import arrow_client
from pyhudi.storage.objects.place import STORES, place_of
from pyhudi.storage.objects.storage import ObjectStorage
from pyhudi.storage.storage import Storage


def open_storage(uri: str, storage_options: Mapping[str, str] | None = None) -> Storage:
    """The Storage of the folder at a path or URI.

    A path without a scheme, or with ``file:``, is local. Object stores have the schemes ``s3``,
    ``gs`` and ``abfs``, and those that Hadoop has for them: ``s3a``, ``s3n``, ``abfss``, ``wasb``
    and ``wasbs``; HDFS has ``hdfs`` and ``viewfs``. Others are those of ``pyarrow.fs``, and
    ``storage_options`` go to the URI there, as ``pyarrow.fs.FileSystem.from_uri`` reads them.
    Options that begin with ``bootstrap.`` are those of the storage that a table was bootstrapped
    from.

    Raises:
        OptionError: an empty path, a scheme that pyarrow does not know, or an option that the
            storage does not have.
        StorageError: the file system cannot be reached.
    Guarantees: no password of URI or options is in the storage's URI or in an error, nor in what
        the storage of an object store is pickled to.
    """
    if not uri.strip():
        raise OptionError("the table's path is empty; give the folder of the table")
    options, sources = parted_options(storage_options or {})
    for names in (options, sources):
        check_storage_options(names, "storage_options")
    opened = _opened(uri, options)
    return replace(opened, sources=HiddenOptions.of(sources)) if sources else opened


def open_beside(storage: Storage, uri: str) -> Storage:
    """The storage of a folder that a table's metadata names, in URIs as Hadoop writes them.

    Its options are those that the table's storage was opened with for it; without any, those of the
    table's own where both are in one kind of store.

    Raises: as ``open_storage``.
    """
    scheme, _, rest = uri.partition(":")
    if scheme == "file":
        # Hadoop escapes nothing in the path of a URI, and leaves out slashes before no host.
        return open_storage("/" + rest.lstrip("/"))
    if "://" not in uri:
        return open_storage(uri)
    for character in "%?#":
        rest = rest.replace(character, f"%{ord(character):02X}")
    sources: HiddenOptions = getattr(storage, "sources", NO_OPTIONS)
    options = sources.revealed() if sources.are_some else _options_of_kin(storage, scheme)
    return open_storage(f"{scheme}:{rest}", options)


def _options_of_kin(storage: Storage, scheme: str) -> Mapping[str, str]:
    if isinstance(storage, ObjectStorage) and STORES.get(scheme) is storage.place.connection.store:
        return storage.place.connection.given.revealed()
    if isinstance(storage, HdfsStorage) and scheme in HDFS_SCHEMES:
        return dict(storage.settings)
    return {}


def _opened(uri: str, options: Mapping[str, str]) -> ArrowStorage | ObjectStorage | HdfsStorage:
    scheme = urlsplit(uri).scheme if "://" in uri or uri.startswith("file:") else ""
    if scheme in ("", "file"):
        return _local(uri)
    shown = redacted(uri)
    if scheme in STORES:
        return _objects(uri, options, shown)
    check_options_of_scheme(scheme, options, f"storage_options of {shown}")
    if scheme in HDFS_SCHEMES:
        return hdfs_storage(uri, shown, options)
    with _arrow_errors(shown, options):
        filesystem, root = fs.FileSystem.from_uri(_arrow_uri(uri, options))
    return ArrowStorage(
        filesystem=filesystem,
        root=root.rstrip("/"),
        uri=shown,
        create_if_absent=create.refuse,
        replace=create.refuse,
    )


def check_writable(storage: Storage) -> None:
    """Refuse a storage on which this machine can create nothing, before rows are read.

    Raises:
        SetupError: a package is not installed.
    """
    if isinstance(storage, ObjectStorage):
        storage.check_writable()


def _local(uri: str) -> ArrowStorage:
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


def _objects(uri: str, options: Mapping[str, str], shown: str) -> ObjectStorage:
    storage = ObjectStorage(place=place_of(uri, options))
    with _arrow_errors(shown, dict(storage.place.connection.options)):
        # Its settings are checked here, before anything is asked of the store.
        arrow_client(storage.place.connection)
    return storage


@contextmanager
def _arrow_errors(shown: str, options: Mapping[str, str]) -> Iterator[None]:
    try:
        yield
    # Arrow's errors quote the URI, and would be shown as causes.
    except (pa.ArrowInvalid, ValueError) as error:
        raise OptionError(f"cannot open {shown}: {_without(str(error), options)}") from None
    except OSError as error:
        raise StorageError(f"cannot open {shown}: {_without(str(error), options)}") from None


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
