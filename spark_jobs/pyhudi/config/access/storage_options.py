"""The options of storages by the schemes of their URIs, and names that no storage knows. Pure.

Source: the query parameters that ``pyarrow.fs.FileSystem.from_uri`` reads (pyarrow 26). The keys
of an account stand in its URIs before the host; here they are options like the others.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from pyhudi.errors import OptionError

_S3 = (
    "access_key",
    "allow_bucket_creation",
    "allow_bucket_deletion",
    "allow_delayed_open",
    "endpoint_override",
    "region",
    "scheme",
    "secret_key",
    "smart_defaults",
    "tls_ca_file_path",
    "tls_verify_certificates",
)
_GCS = ("endpoint_override", "project_id", "retry_limit_seconds", "scheme")
_AZURE = (
    "account_key",
    "background_writes",
    "blob_storage_authority",
    "client_id",
    "client_secret",
    "credential_kind",
    "dfs_storage_authority",
    "enable_tls",
    "tenant_id",
)
_HDFS = ("buffer_size", "default_block_size", "kerb_ticket", "replication", "user")
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
_KEY_PAIR = frozenset({"access_key", "secret_key"})


def check_storage_options(names: Iterable[str], where: str) -> None:
    """Refuse names that no storage has; a key of Hadoop's, with a dot, is HDFS's.

    Raises:
        OptionError: says which name, what it may have meant, and what there is.
    """
    known = sorted({name for options in OPTIONS_BY_SCHEME.values() for name in options})
    _refuse_unknown((name for name in names if "." not in name), known, where, "a storage")


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
