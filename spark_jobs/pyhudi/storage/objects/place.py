"""Where on an object store a folder lies, as its URI and options say. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import parse_qsl, unquote

from pyhudi.config.access.secret import redacted
from pyhudi.config.access.storage_options import check_options_of_scheme
from pyhudi.errors import OptionError
from pyhudi.storage.keyring import HiddenOptions


class Store(Enum):
    """A kind of object store, and the extra of this package that writing to it needs."""

    S3 = "s3"
    GCS = "gcs"
    AZURE = "azure"


STORES: Final[Mapping[str, Store]] = {
    "s3": Store.S3,
    "s3a": Store.S3,
    "s3n": Store.S3,
    "gs": Store.GCS,
    "gcs": Store.GCS,
    "abfs": Store.AZURE,
    "abfss": Store.AZURE,
    "wasb": Store.AZURE,
    "wasbs": Store.AZURE,
}
"""The schemes of URIs, Hadoop's among them."""

_HOST: Final = re.compile(r"(?P<account>[a-z0-9-]+)\.(?:dfs|blob)\.(?P<suffix>[a-z0-9.-]+)")
_BUCKET: Final = re.compile(r"[A-Za-z0-9$][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A bucket and how it is reached.

    ``given`` are the user's options, pickled without those that are secret; where credentials come
    from the surroundings there is none among them.
    """

    store: Store
    bucket: str
    given: HiddenOptions

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """The options as they are now, with their secrets; clients are kept by them.

        Raises:
            StorageError: the secrets have not reached this process.
        """
        return tuple(sorted(self.given.revealed().items()))

    def option(self, name: str) -> str | None:
        """One of the options."""
        return dict(self.options).get(name)

    def is_on(self, name: str, *, default: bool) -> bool:
        """Whether an option is true.

        Raises:
            OptionError: it is neither true nor false.
        """
        text = (self.option(name) or str(default)).lower()
        if text not in ("true", "false", "1", "0"):
            raise OptionError(f"storage_options: {name} is {text!r}; it may be true or false")
        return text in ("true", "1")

    @property
    def endpoint(self) -> str | None:
        """The URL of the server, where it is not the one that the store has for everybody."""
        given = self.option("endpoint_override")
        if given is None:
            return None
        return given if "://" in given else f"{self.option('scheme') or 'https'}://{given}"

    @property
    def shown(self) -> str:
        """The bucket and its server, for errors."""
        at = self.endpoint or self.option("blob_storage_authority")
        return f"{self.store.value}://{self.bucket}" + (f" at {at}" if at else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder of a bucket: ``root`` is what the keys below it begin with, without a slash."""

    connection: Connection
    root: str
    uri: str

    def key(self, path: str) -> str:
        """The key of a file."""
        return "/".join(part for part in (self.root, path) if part)

    def path(self, key: str) -> str:
        """The path of a file, or folder, from its key."""
        return key[len(self.root) :].lstrip("/") if self.root else key


def place_of(uri: str, options: Mapping[str, str]) -> Place:
    """The place that a URI and options name; parameters in the URI are options as well.

    ``%20`` and its like stand for what they encode, as in any URI.

    Raises:
        OptionError: no bucket, or options that do not go with the store.
    Guarantees: the URI of the place has no password.
    """
    shown = redacted(uri).partition("?")[0].rstrip("/")
    scheme, _, rest = uri.partition("://")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    user, _, host = authority.rpartition("@")
    store = STORES[scheme]
    chosen = {**dict(parse_qsl(query, keep_blank_values=True)), **options}
    name, _, password = user.partition(":")
    if store is Store.AZURE:
        host, path, chosen = _azure(name, password, host, path, chosen)
    elif user:
        shown = f"{scheme}://{host}/{path}".rstrip("/")
        chosen = {**_keys(unquote(name), unquote(password)), **chosen}
    if not _BUCKET.fullmatch(host):
        raise OptionError(f"cannot open {shown}: it names no bucket; {_FORMS[store]}")
    check_options_of_scheme(_SCHEMES[store], chosen, f"storage_options of {shown}")
    connection = Connection(store=store, bucket=host, given=HiddenOptions.of(chosen))
    return Place(connection=connection, root=unquote(path).strip("/"), uri=shown)


_SCHEMES: Final = {Store.S3: "s3", Store.GCS: "gs", Store.AZURE: "abfs"}
_FORMS: Final = {
    Store.S3: "give s3://bucket/folder",
    Store.GCS: "give gs://bucket/folder",
    Store.AZURE: "give abfss://container@account.dfs.core.windows.net/folder",
}


def _keys(access_key: str, secret_key: str) -> dict[str, str]:
    return {"access_key": access_key, "secret_key": secret_key} if access_key else {}


def _azure(
    name: str, password: str, host: str, path: str, options: Mapping[str, str]
) -> tuple[str, str, dict[str, str]]:
    """Container, path and options of an Azure URI, whose account may stand in three places.

    Source: AzureOptions::FromUri, Arrow 26, and the driver of Hadoop (abfs[s], wasb[s]).
    """
    found = dict(options)
    if password:
        found.setdefault("account_key", unquote(password))
    known = _HOST.fullmatch(host)
    if known is None:
        return host, path, found
    found.setdefault("account_name", known["account"])
    if known["suffix"] != "core.windows.net":
        found.setdefault("blob_storage_authority", f".blob.{known['suffix']}")
        found.setdefault("dfs_storage_authority", f".dfs.{known['suffix']}")
    if name:
        return unquote(name), path, found
    container, _, path = path.partition("/")
    return container, path, found
