"""The clients of a bucket: ``pyarrow.fs``, which is always there, and obstore, which may not be.

Credentials that are not among the options are found by the clients themselves, each process for
itself, and renewed by them: environment, profiles, the roles of an instance or a container.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import quote, urlencode

from pyarrow import fs

from pyhudi.errors import OptionError, SetupError, StorageError
from pyhudi.storage.objects.place import Connection, Store

Options = tuple[tuple[str, str], ...]
_REQUEST_S: Final = 30
"""How long a request may go without a byte."""

_TRANSFER_S: Final = 300
_CONNECT_S: Final = 5
_TRIES: Final = 5
"""How often the client of ``pyarrow.fs`` tries a request on S3; it has no say in what it asks."""

_RETRY_S: Final = 30
"""How long the client of ``pyarrow.fs`` tries a request on Google's; by itself 15 minutes."""

_BY_URI_ALONE: Final = frozenset(
    {"background_writes", "credential_kind", "smart_defaults", "tls_verify_certificates"}
)
_CLIENTS: Final = 64
_SERVICE_ACCOUNT_KEY: Final = "service_account_key"
_GOOGLE_VARIABLE: Final = "GOOGLE_APPLICATION_CREDENTIALS"
_GOOGLE_LOCK: Final = threading.Lock()
_AZURE_KEYS: Final = (
    "account_name",
    "account_key",
    "sas_token",
    "blob_storage_authority",
    "dfs_storage_authority",
    "client_id",
    "client_secret",
    "tenant_id",
)


def arrow_client(connection: Connection) -> fs.FileSystem:
    """The file system of ``pyarrow.fs`` that has the bucket, another one when its keys change.

    Raises: OSError, ValueError or ArrowInvalid of Arrow's, which may quote options; StorageError
        where the region is not told; OptionError where an account is not named.
    """
    return _arrow_client(connection, connection.options)


@lru_cache(maxsize=_CLIENTS)
def _arrow_client(connection: Connection, _options: Options) -> fs.FileSystem:
    match connection.store:
        case Store.S3:
            return _arrow_s3(connection)
        case Store.GCS:
            is_anonymous = connection.is_on("anonymous", default=False)
            with _with_service_account(connection.option(_SERVICE_ACCOUNT_KEY)):
                return _by_uri("gs", "anonymous" if is_anonymous else "", "", connection)
        case Store.AZURE:
            return _arrow_azure(connection)


def _arrow_s3(connection: Connection) -> fs.S3FileSystem:
    given = dict(connection.options)
    if given.keys() & _BY_URI_ALONE:
        keys = given.get("access_key", ""), given.get("secret_key", "")
        return _by_uri("s3", *keys, connection)
    region = given.get("region")
    if region is None and connection.endpoint is None and not _environment_region():
        region = _region_of(connection.bucket)
    return fs.S3FileSystem(
        access_key=given.get("access_key"),
        secret_key=given.get("secret_key"),
        session_token=given.get("session_token"),
        anonymous=connection.is_on("anonymous", default=False),
        region=region,
        scheme=given.get("scheme"),
        endpoint_override=given.get("endpoint_override"),
        request_timeout=_REQUEST_S,
        connect_timeout=_CONNECT_S,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_TRIES),
        allow_bucket_creation=connection.is_on("allow_bucket_creation", default=False),
        allow_bucket_deletion=connection.is_on("allow_bucket_deletion", default=False),
        # A file that is smaller than a part is one request then.
        allow_delayed_open=connection.is_on("allow_delayed_open", default=True),
        check_directory_existence_before_creation=False,
        tls_ca_file_path=given.get("tls_ca_file_path"),
    )


def _region_of(bucket: str) -> str:
    """The region of a bucket of Amazon's, which is asked for it.

    Raises:
        StorageError: it does not say.
    """
    try:
        return str(fs.resolve_s3_region(bucket))
    except OSError as error:
        raise StorageError(
            f"cannot open s3://{bucket}: {error}; check the bucket's name, set the storage option "
            "region, or endpoint_override where the server is not Amazon's"
        ) from None


def _by_uri(scheme: str, user: str, password: str, connection: Connection) -> fs.FileSystem:
    """A file system with settings that Arrow takes in a URI alone."""
    names = (
        "access_key",
        "secret_key",
        "account_name",
        "account_key",
        "anonymous",
        _SERVICE_ACCOUNT_KEY,
    )
    given = {name: value for name, value in connection.options if name not in names}
    if connection.store is Store.GCS:
        given.setdefault("retry_limit_seconds", str(_RETRY_S))
    account = f"{quote(user, safe='')}:{quote(password, safe='')}" if password else quote(user)
    at = f"{account}@" if account else ""
    return fs.FileSystem.from_uri(f"{scheme}://{at}{connection.bucket}?{urlencode(given)}")[0]


def _arrow_azure(connection: Connection) -> fs.FileSystem:
    given = dict(connection.options)
    if given.keys() & _BY_URI_ALONE:
        account = given.get("account_name", ""), given.get("account_key", "")
        return _by_uri("abfs", *account, connection)
    if not _azure_account(given):
        raise OptionError(
            f"the container {connection.bucket} has no account: give abfss://container@account."
            "dfs.core.windows.net/folder, or the storage option account_name"
        )
    given["account_name"] = _azure_account(given)
    scheme = "https" if connection.is_on("enable_tls", default=True) else "http"
    return fs.AzureFileSystem(
        **{name: value for name, value in given.items() if name in _AZURE_KEYS},
        blob_storage_scheme=scheme,
        dfs_storage_scheme=scheme,
    )


@contextmanager
def _with_service_account(key: str | None) -> Iterator[None]:
    """Open file systems of Google's within the context with a key, if there is one.

    The client reads the file that an environment variable names, when it is made and never again
    (google-cloud-cpp, as in pyarrow 26). The file lies in memory and is gone with the context.
    """
    if key is None:
        yield
        return
    with _GOOGLE_LOCK, _file_of(key) as path:
        before = os.environ.get(_GOOGLE_VARIABLE)
        os.environ[_GOOGLE_VARIABLE] = path
        try:
            yield
        finally:
            if before is None:
                del os.environ[_GOOGLE_VARIABLE]
            else:
                os.environ[_GOOGLE_VARIABLE] = before


@contextmanager
def _file_of(text: str) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("key"), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield file.name


def has_obstore() -> bool:
    """Whether obstore is installed here."""
    return importlib.util.find_spec("obstore") is not None


def obstore_api() -> ModuleType:
    """The functions of obstore; loaded here alone, since who reads may do without."""
    return importlib.import_module("obstore")


def obstore_client(connection: Connection) -> Any:
    """The store of obstore that has the bucket, another one when its keys change.

    It tries no request again on its own.

    Raises:
        SetupError: what it takes is not installed here.
    """
    return _obstore_client(connection, connection.options)


@lru_cache(maxsize=_CLIENTS)
def _obstore_client(connection: Connection, _options: Options) -> Any:
    kinds = importlib.import_module("obstore.store")
    settings: dict[str, Any] = {
        "client_options": _client_options(connection),
        # A create that was tried again in silence would find its own first try in its way.
        "retry_config": {"max_retries": 0, "retry_timeout": timedelta(seconds=_REQUEST_S)},
    }
    match connection.store:
        case Store.S3:
            settings |= _s3_settings(connection)
            return kinds.S3Store(connection.bucket, **settings)
        case Store.GCS:
            if connection.endpoint:
                settings["base_url"] = connection.endpoint
            if connection.is_on("anonymous", default=False):
                settings["skip_signature"] = True
            if key := connection.option(_SERVICE_ACCOUNT_KEY):
                settings["service_account_key"] = key
            return kinds.GCSStore(connection.bucket, **settings)
        case Store.AZURE:
            settings |= _azure_settings(connection)
            return kinds.AzureStore(connection.bucket, **settings)


def _client_options(connection: Connection) -> dict[str, Any]:
    tls, certificates = "tls_verify_certificates", connection.option("tls_ca_file_path")
    options: dict[str, Any] = {
        "timeout": timedelta(seconds=_TRANSFER_S),
        "read_timeout": timedelta(seconds=_REQUEST_S),
        "connect_timeout": timedelta(seconds=_CONNECT_S),
        "allow_http": (connection.option("scheme") == "http")
        or (connection.endpoint or "").startswith("http://")
        or not connection.is_on("enable_tls", default=True),
        "allow_invalid_certificates": not connection.is_on(tls, default=True),
    }
    if certificates:
        options["root_certificate"] = Path(certificates).read_bytes()
    return options


def _s3_settings(connection: Connection) -> dict[str, Any]:
    settings: dict[str, Any] = {"region": arrow_client(connection).region}
    if connection.endpoint:
        settings["endpoint"] = connection.endpoint
    names = {
        "access_key": "access_key_id",
        "secret_key": "secret_access_key",
        "session_token": "session_token",
    }
    given = {theirs: connection.option(ours) for ours, theirs in names.items()}
    keys = {name: value for name, value in given.items() if value}
    if keys:
        return settings | keys
    if connection.is_on("anonymous", default=False):
        return settings | {"skip_signature": True}
    if _needs_profile(os.environ):
        return settings | {"credential_provider": _profile_credentials()}
    return settings


def _needs_profile(environment: Mapping[str, str]) -> bool:
    """Whether the keys are those of a profile, which obstore does not read."""
    if environment.get("AWS_ACCESS_KEY_ID") or environment.get("AWS_WEB_IDENTITY_TOKEN_FILE"):
        return False
    names = ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE")
    files = ("~/.aws/credentials", "~/.aws/config")
    found = (environment.get(name) or file for name, file in zip(names, files, strict=True))
    return bool(environment.get("AWS_PROFILE")) or any(
        os.path.isfile(os.path.expanduser(each)) for each in found
    )


def _profile_credentials() -> Any:
    if importlib.util.find_spec("boto3") is None:
        raise SetupError(
            "the credentials of S3 are those of an AWS profile, which boto3 reads, and it is not "
            "installed here: pip install 'airflow-provider-pyhudi[s3]', or set AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY"
        )
    return importlib.import_module("obstore.auth.boto3").Boto3CredentialProvider()


def _azure_settings(connection: Connection) -> dict[str, Any]:
    given = dict(connection.options)
    names = {
        "account_name": "account_name",
        "account_key": "account_key",
        "sas_token": "sas_key",
        "client_id": "client_id",
        "client_secret": "client_secret",
        "tenant_id": "tenant_id",
    }
    settings: dict[str, Any] = {
        theirs: given[ours] for ours, theirs in names.items() if given.get(ours)
    }
    authority = given.get("blob_storage_authority")
    account = _azure_account(given)
    if authority:
        scheme = "https" if connection.is_on("enable_tls", default=True) else "http"
        # One that begins with a dot follows the account, as Arrow has it.
        host = f"{account}{authority}" if authority.startswith(".") else f"{authority}/{account}"
        settings["endpoint"] = f"{scheme}://{host}"
    match given.get("credential_kind"):
        case "anonymous":
            settings["skip_signature"] = True
        case "cli":
            settings["use_azure_cli"] = True
        case _:
            pass
    return settings


def _azure_account(given: Mapping[str, str]) -> str:
    return given.get("account_name") or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")


def _environment_region() -> bool:
    return any(os.environ.get(name) for name in ("AWS_REGION", "AWS_DEFAULT_REGION"))


def _forget() -> None:
    _arrow_client.cache_clear()
    _obstore_client.cache_clear()


# Neither client works in a process that was forked from the one that made it.
os.register_at_fork(after_in_child=_forget)
