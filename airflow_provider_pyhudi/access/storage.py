"""Connections of clouds as the options of a storage."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_provider_pyhudi.access.aws import AwsKeys, has_more_than_keys, keys_of_a_session
from airflow_provider_pyhudi.connections import (
    environment_variable,
    extra_of,
    storage_options_of,
)
from airflow_provider_pyhudi.exceptions import PyhudiRequestError

_EXAMPLE = '{"conn_type": "aws", "login": "<access key>", "password": "<secret key>"}'
_OF_GOOGLE = "extra__google_cloud_platform__"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageAccess:
    """The options that a connection gives to a storage, secrets included.

    ``keys`` is asked for keys that end, again and again; None where none do.
    """

    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    keys: Callable[[], AwsKeys] | None = None

    def options_now(self) -> dict[str, str]:
        """The options with the keys of this moment."""
        ending = self.keys().options() if self.keys else {}
        return {**self.options, **ending}


def storage_access(conn_id: str) -> StorageAccess:
    """What a connection of a cloud, or a generic one, says about a storage.

    One without any keys leaves it to the chain of the cloud's own clients: environment, profile,
    role of the machine.

    Raises:
        PyhudiRequestError: there is none, it is of another type, or has what cannot be used.
    """
    label = f"the connection {conn_id!r} (storage_conn_id)"
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise PyhudiRequestError(
            f"there is no connection {conn_id!r} (storage_conn_id); create it, or set "
            f"{environment_variable(conn_id)}='{_EXAMPLE}', or leave storage_conn_id out to have "
            "the machine's own identity used"
        ) from None
    extra = extra_of(connection, label)
    read = _KINDS.get(connection.conn_type or "")
    if read is None:
        raise PyhudiRequestError(
            f"{label} is of type {connection.conn_type or 'none at all'}, which says nothing of a "
            f"storage; it must be of type {', '.join(_KINDS)}"
        )
    found = read(connection, extra, label)
    options = storage_options_of(found.options, f"the options of {label}")
    return StorageAccess(options=options, keys=found.keys)


def _aws(connection: Connection, extra: Mapping[str, Any], label: str) -> StorageAccess:
    service = (extra.get("service_config") or {}).get("s3") or {}
    endpoint = service.get("endpoint_url") or extra.get("endpoint_url")
    options = _some(region=extra.get("region_name") or service.get("region_name"))
    options |= _endpoint(endpoint)
    if has_more_than_keys(extra):
        return StorageAccess(options=options, keys=keys_of_a_session(str(connection.conn_id)))
    keys = _some(
        access_key=connection.login or extra.get("aws_access_key_id"),
        secret_key=connection.password or extra.get("aws_secret_access_key"),
        session_token=extra.get("aws_session_token"),
    )
    if len(keys.keys() & {"access_key", "secret_key"}) == 1:
        raise PyhudiRequestError(
            f"{label} has half a pair of keys; its login is the access key, its password the secret"
        )
    return StorageAccess(options=options | keys)


def _google(_: Connection, extra: Mapping[str, Any], label: str) -> StorageAccess:
    given = {name.removeprefix(_OF_GOOGLE): value for name, value in extra.items() if value}
    unknown = sorted(given.keys() - {"key_path", "keyfile_dict", "num_retries", "project", "scope"})
    if unknown:
        raise PyhudiRequestError(
            f"{label} has {', '.join(unknown)}, which storages cannot use here; give it a key "
            "(keyfile_dict, key_path), or neither, to have the machine's own identity used"
        )
    key = given.get("keyfile_dict")
    if key is None and "key_path" in given:
        key = _text_of_file(str(given["key_path"]), label)
    text = json.dumps(key) if isinstance(key, Mapping) else key
    return StorageAccess(options=_some(project_id=given.get("project"), service_account_key=text))


def _azure(connection: Connection, extra: Mapping[str, Any], label: str) -> StorageAccess:
    parts = _connection_string(extra.get("connection_string") or "")
    sas = extra.get("sas_token") or parts.get("SharedAccessSignature") or ""
    if "?" in sas:
        sas = sas.partition("?")[2]
    if sas:
        return StorageAccess(options={"sas_token": sas})
    if parts:
        if "AccountKey" not in parts:
            raise PyhudiRequestError(f"the connection string of {label} has no AccountKey")
        return StorageAccess(options={"account_key": parts["AccountKey"]})
    if extra.get("tenant_id"):
        return StorageAccess(
            options=_some(
                tenant_id=extra["tenant_id"],
                client_id=connection.login,
                client_secret=connection.password,
            )
        )
    key = connection.password or extra.get("account_key") or extra.get("shared_access_key")
    return StorageAccess(options=_some(account_key=key))


def _plain(connection: Connection, extra: Mapping[str, Any], label: str) -> StorageAccess:
    options = extra.get("storage_options")
    if options is None and (connection.login or connection.password):
        raise PyhudiRequestError(
            f"{label} has a login or password, and no storage to give them to; write them into "
            'Extra: {"storage_options": {"access_key": "...", "secret_key": "..."}}'
        )
    return StorageAccess(options=storage_options_of(options, f"storage_options of {label}"))


_KINDS: Mapping[str, Callable[[Connection, Mapping[str, Any], str], StorageAccess]] = {
    "aws": _aws,
    "google_cloud_platform": _google,
    "wasb": _azure,
    "adls": _azure,
    "generic": _plain,
    "pyhudi": _plain,
}


def _some(**values: Any) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value not in (None, "")}


def _endpoint(url: str | None) -> dict[str, str]:
    if not url:
        return {}
    found = urlsplit(url if "://" in url else f"https://{url}")
    return {"endpoint_override": found.netloc, "scheme": found.scheme}


def _connection_string(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _text_of_file(path: str, label: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise PyhudiRequestError(f"the key_path of {label} cannot be read: {error}") from None
