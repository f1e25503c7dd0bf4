"""The options of storages by the schemes of their URIs, and names that no storage knows. Pure.

Source: the query parameters that ``pyarrow.fs.FileSystem.from_uri`` reads (pyarrow 26), and what
its file systems take beside them: ``anonymous``, ``session_token``, ``account_name`` and
``sas_token``; ``credentials_file`` and ``service_account_key`` are this engine's. The keys of an
account stand in its URIs before the host; here they are options like the others.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from pyhudi.errors import OptionError

CREDENTIALS_FILE = "credentials_file"
"""File of S3 keys that end, in the form of AWS's ``credential_process``; read as it changes."""
_S3 = (
    "access_key",
    "allow_bucket_creation",
    "allow_bucket_deletion",
    "allow_delayed_open",
    "anonymous",
    CREDENTIALS_FILE,
    "endpoint_override",
    "region",
    "scheme",
    "secret_key",
    "session_token",
    "smart_defaults",
    "tls_ca_file_path",
    "tls_verify_certificates",
)
_GCS = (
    "anonymous",
    "endpoint_override",
    "project_id",
    "retry_limit_seconds",
    "scheme",
    "service_account_key",
)
_AZURE = (
    "account_key",
    "account_name",
    "background_writes",
    "blob_storage_authority",
    "client_id",
    "client_secret",
    "credential_kind",
    "dfs_storage_authority",
    "enable_tls",
    "sas_token",
    "tenant_id",
)
_HDFS = ("default_block_size", "replication")
OPTIONS_BY_SCHEME: Mapping[str, tuple[str, ...]] = {
    "s3": _S3,
    "gs": _GCS,
    "gcs": _GCS,
    "abfs": _AZURE,
    "abfss": _AZURE,
    "hdfs": _HDFS,
    "viewfs": _HDFS,
}
TAKES_HADOOP_KEYS = frozenset({"hdfs", "viewfs"})
SOURCE_PREFIX = "bootstrap."
"""Before options of the storage that a table was bootstrapped from, where it has its own."""
_KEY_PAIR = frozenset({"access_key", "secret_key"})


def check_storage_options(names: Iterable[str], where: str) -> None:
    """Refuse names that no storage has; a key of Hadoop's, with a dot, is HDFS's.

    Raises:
        OptionError: says which name, what it may have meant, and what there is.
    """
    known = sorted({name for options in OPTIONS_BY_SCHEME.values() for name in options})
    _refuse_unknown((name for name in names if "." not in name), known, where, "a storage")


def parted_options(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The options of a table's storage, and those of the one that it was bootstrapped from."""
    own = {name: text for name, text in options.items() if not name.startswith(SOURCE_PREFIX)}
    sources = {
        name.removeprefix(SOURCE_PREFIX): text
        for name, text in options.items()
        if name.startswith(SOURCE_PREFIX)
    }
    return own, sources


def check_options_of_scheme(scheme: str, names: Iterable[str], where: str) -> None:
    """Refuse names that the storage of a scheme does not have, and half a pair of keys.

    Raises:
        OptionError: says which.
    """
    given = set(names)
    if len(given & _KEY_PAIR) == 1:
        raise OptionError(f"{where}: access_key and secret_key go together; give both or neither")
    known = OPTIONS_BY_SCHEME.get(scheme)
    if known is not None and scheme not in TAKES_HADOOP_KEYS:
        _refuse_unknown(sorted(given), known, where, scheme)


def _refuse_unknown(names: Iterable[str], known: Iterable[str], where: str, whose: str) -> None:
    allowed = list(known)
    for name in names:
        if name in allowed:
            continue
        near = difflib.get_close_matches(name, allowed, n=1)
        instead = f"did you mean {near[0]}?" if near else f"there are {', '.join(allowed)}"
        raise OptionError(f"{where}: {name} is no option of {whose}; {instead}")
