"""Connections, read once and checked: one that is wrong fails its task in one line, unretried."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.masking import mask_settings
from pyhudi.config.access.secret import passwords_in, redacted
from pyhudi.config.access.storage_options import check_storage_options
from pyhudi.config.option import option_texts
from pyhudi.errors import OptionError

PYHUDI = "pyhudi"
EXTRA_KEYS = ("storage_options", "storage_conn_id")
TABLES_EXAMPLE = '{"conn_type": "pyhudi", "host": "/data/lake"}'
SPARK_EXAMPLE = '{"conn_type": "spark", "host": "local[2]", "extra": {"deploy-mode": "client"}}'
OPTIONS_EXAMPLE = '{"storage_options": {"region": "eu-west-1"}}'

_SPARK_TYPES = ("spark", "k8s", "mesos")
_MASTER = re.compile(
    r"yarn|local(-cluster)?(\[[^\]]*\])?|spark://\S+:\d+(,\S+:\d+)*|k8s://\S+|mesos://\S+"
)
_LOCAL_AS_HOST = re.compile(r"\w+://(local(\[[^\]]*\])?)(:\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesConnection:
    """Where tables lie and how their storage is reached; ``base`` is empty when nothing is said.

    ``storage_conn_id`` is the connection of a cloud that has the keys.
    """

    base: str = ""
    storage_conn_id: str | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


def tables_connection(conn_id: str) -> TablesConnection:
    """What a connection of type ``pyhudi`` says.

    Raises:
        PyhudiRequestError: there is none, it is of another type, or its fields cannot be used.
    """
    label = _label(conn_id, "pyhudi_conn_id")
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise PyhudiRequestError(missing_connection(conn_id, "pyhudi_conn_id")) from None
    if connection.conn_type and connection.conn_type != PYHUDI:
        other = " (a Spark connection goes to conn_id)" if connection.conn_type == "spark" else ""
        raise PyhudiRequestError(
            f"{label} is of type {connection.conn_type}; it must be of type pyhudi{other}"
        )
    if connection.login or connection.password:
        raise PyhudiRequestError(
            f"{label} has a login or password, which are not used; keys of the storage go to "
            'Extra: {"storage_options": {"access_key": "...", "secret_key": "..."}}'
        )
    extra = _extra(connection, label)
    options, cloud = extra.get("storage_options"), extra.get("storage_conn_id")
    if cloud is not None and not isinstance(cloud, str):
        raise PyhudiRequestError(f"storage_conn_id in Extra of {label} must be a text")
    return TablesConnection(
        base=_base_folder(connection, label),
        storage_conn_id=cloud or None,
        storage_options=storage_options_of(options, f"storage_options of {label}"),
    )


def storage_options_of(given: Any, where: str) -> dict[str, str]:
    """Storage options as texts, the secret ones masked in Airflow's logs from now on.

    Raises:
        PyhudiRequestError: they are no mapping, or have a name that no storage knows.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise PyhudiRequestError(
            f"{where}: this takes a mapping of names to values, such as "
            f'{{"region": "eu-west-1"}}, not a {type(given).__name__}'
        )
    mask_settings(given)
    try:
        check_storage_options(given, where)
    except OptionError as error:
        raise PyhudiRequestError(str(error)) from None
    return texts(given, where)


def texts(mapping: Mapping[str, Any] | None, argument: str) -> dict[str, str]:
    """The mapping with all values as the texts Hudi's options have, None left out.

    Raises:
        PyhudiRequestError: it is no mapping, or has a value that is no text.
    """
    try:
        return option_texts(mapping, name=argument)
    except OptionError as error:
        raise PyhudiRequestError(str(error)) from None


def missing_connection(conn_id: str, argument: str) -> str:
    """Why a connection is not found, and what to do."""
    variable, is_spark = environment_variable(conn_id), argument == "conn_id"
    example = SPARK_EXAMPLE if is_spark else TABLES_EXAMPLE
    if variable in os.environ:
        return (
            f"{_label(conn_id, argument)} is set in {variable}, which Airflow cannot read; square "
            f"brackets, for one, cannot stand in a URI. Write it as JSON: {variable}='{example}'"
        )
    without = "to run on this machine" if is_spark else "and give whole paths"
    return (
        f"there is no {'Spark' if is_spark else PYHUDI} connection {conn_id!r} ({argument}); "
        f"create it, or set {variable}='{example}', or leave {argument} out {without}"
    )


def environment_variable(conn_id: str) -> str:
    """The environment variable that Airflow takes a connection from."""
    return f"AIRFLOW_CONN_{conn_id.upper()}"


def check_spark_type(connection: Connection, conn_id: str) -> None:
    """Refuse a connection that is none to Spark.

    Raises:
        PyhudiRequestError: says of which type it is and where it belongs.
    """
    if connection.conn_type in _SPARK_TYPES:
        return
    theirs = connection.conn_type or "none at all"
    belongs = "; give it as pyhudi_conn_id" if theirs == PYHUDI else f"; such as {SPARK_EXAMPLE}"
    raise PyhudiRequestError(
        f"{_label(conn_id, 'conn_id')} is of type {theirs}; it must be of type spark{belongs}"
    )


def check_spark_master(master: str, deploy_mode: str | None, conn_id: str) -> None:
    """Refuse a Spark master and a deploy mode that spark-submit would refuse after its start.

    Raises:
        PyhudiRequestError: says what to write instead.
    """
    label = _label(conn_id, "conn_id")
    local = _LOCAL_AS_HOST.fullmatch(master)
    if local or not _MASTER.fullmatch(master):
        instead = (
            f"local mode is the host {local[1]}, no scheme before it"
            if local
            else ("the host is yarn, local[2], spark://host with a port, or k8s://https://host:443")
        )
        raise PyhudiRequestError(
            f"{label} makes {redacted(master)!r} the Spark master, which is none: {instead}; "
            f"as JSON: {SPARK_EXAMPLE}"
        )
    if deploy_mode not in (None, "", "client", "cluster"):
        raise PyhudiRequestError(
            f"deploy_mode is {deploy_mode!r} for {label}; allowed: client, cluster"
        )
    if deploy_mode == "cluster" and master.startswith(("local", "spark://")):
        raise PyhudiRequestError(
            f"deploy_mode is cluster and {label} has the master {master}; Spark runs Python jobs "
            "there in client mode only"
        )


def _label(conn_id: str, argument: str) -> str:
    return f"the connection {conn_id!r} ({argument})"


def extra_of(connection: Connection, label: str, wanted: str = "a JSON object") -> dict[str, Any]:
    """The Extra of a connection, an object; empty where there is none.

    Raises:
        PyhudiRequestError: it is something else; says what is wanted.
    """
    try:
        extra = json.loads(connection.extra or "{}")
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise PyhudiRequestError(f"Extra of {label} must be {wanted}")
    return extra


def _extra(connection: Connection, label: str) -> dict[str, Any]:
    extra = extra_of(connection, label, f"JSON like {OPTIONS_EXAMPLE}")
    for name in extra:
        if name not in EXTRA_KEYS:
            near = difflib.get_close_matches(name, EXTRA_KEYS, n=1)
            meant = f"; did you mean {near[0]}?" if near else "."
            raise PyhudiRequestError(
                f"Extra of {label} has {name!r}, which is not known{meant} It takes "
                f"{', '.join(EXTRA_KEYS)}: {OPTIONS_EXAMPLE}"
            )
    return extra


def _base_folder(connection: Connection, label: str) -> str:
    host = (connection.host or "").strip()
    if passwords_in(host):
        raise PyhudiRequestError(
            f"the host of {label} has a password in it; give the keys of the storage in Extra: "
            '{"storage_options": {"access_key": "...", "secret_key": "..."}}'
        )
    is_absolute = host.startswith(("/", "file:/")) or "://" in host
    if (host and not is_absolute) or connection.schema:
        raise PyhudiRequestError(
            f"the host of {label} must be a whole path or URI, such as /data/lake or "
            f"s3://bucket/lake, not {host or connection.schema!r}, which each machine would look "
            f"for somewhere else; as JSON: {TABLES_EXAMPLE}"
        )
    return host.rstrip("/") or host
