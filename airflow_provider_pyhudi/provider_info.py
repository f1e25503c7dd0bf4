"""What Airflow asks a provider package about itself."""

from __future__ import annotations

import pkgutil
from importlib.util import find_spec
from typing import Any

from airflow_provider_pyhudi.assets.uri import SCHEME
from pyhudi.config.access.storage_options import OPTIONS_BY_SCHEME

INTEGRATION = "Apache Hudi"
PACKAGE = "airflow_provider_pyhudi"
_BASES = ("job", "waiting")
"""What all operators share, and all sensors and their triggers, and no DAG asks for."""


def _takes(storage: str, scheme: str) -> str:
    return f"{storage}: {', '.join(OPTIONS_BY_SCHEME[scheme])}."


# The form has a field for each key that Extra takes; of Extra itself it shows no placeholder.
_CONNECTION = {
    "connection-type": "pyhudi",
    "hook-class-name": f"{PACKAGE}.hooks.table.PyhudiHook",
    "hook-name": "PyHudi",
    "ui-field-behaviour": {
        "hidden-fields": ["schema", "login", "password", "port"],
        "relabeling": {"host": "Base folder"},
        "placeholders": {
            "host": "/data/lake, which can be written; s3://bucket/lake and the like to read",
        },
    },
    "conn-fields": {
        "storage_options": {
            "label": "Storage options",
            "description": (
                "What the storage of the base folder needs, as JSON; a local folder needs nothing. "
                f"{_takes('S3', 's3')} {_takes('Google Cloud Storage', 'gs')} "
                f"{_takes('Azure', 'abfs')} {_takes('HDFS', 'hdfs')} Keys and secrets reach the "
                "job without standing in command lines or logs. In Extra: "
                '{"storage_options": {"region": "eu-west-1"}}'
            ),
            "schema": {"type": ["object", "null"]},
        },
        "storage_conn_id": {
            "label": "Storage connection",
            "description": (
                "Connection of a cloud that has the keys of the storage: aws, "
                "google_cloud_platform, wasb, adls or generic. Without one and without keys above "
                "the machine's own identity is used."
            ),
            "schema": {"type": ["string", "null"]},
        },
    },
}

_CONFIG = {
    "description": "Which tables the page of tables shows, and where links lead.",
    "options": {
        "page_tables": {
            "description": (
                "Tables by name, as JSON, for all who may read assets: a path, or path and "
                "conn_id of a connection of type pyhudi. Those that lie in the base folder of a "
                "connection are shown without it to who may read the connection."
            ),
            "version_added": "0.1.0",
            "type": "string",
            "example": '{"orders": "/data/lake/orders", "days": {"path": "d", "conn_id": "lake"}}',
            "default": "",
        },
        "page_connections": {
            "description": (
                "Connections of type pyhudi, with commas between, that are in the environment or a "
                "secrets backend; those in Airflow's database are found without it."
            ),
            "version_added": "0.1.0",
            "type": "string",
            "example": "lake,warehouse",
            "default": "",
        },
        "spark_history_url": {
            "description": (
                "Address of Spark's history server, to which the link of a task that has ended to "
                "its application leads; {application_id} stands for the application. Tasks have no "
                "such link without it."
            ),
            "version_added": "0.1.0",
            "type": "string",
            "example": "https://spark-history.example.org/history/{application_id}/jobs/",
            "default": "",
        },
    },
}


def get_provider_info() -> dict[str, Any]:
    """Operators, sensors, triggers, hooks and connection types, as Airflow's schema wants them."""
    return {
        "package-name": "airflow-provider-pyhudi",
        "name": "PyHudi",
        "description": "Apache Hudi tables, written by a table engine in Python.",
        "integrations": [
            {
                "integration-name": INTEGRATION,
                "external-doc-url": "https://hudi.apache.org/",
                "tags": ["software"],
            }
        ],
        **{
            kind: [{"integration-name": INTEGRATION, "python-modules": _modules(kind)}]
            for kind in ("operators", "sensors", "triggers", "hooks")
        },
        "connection-types": [_CONNECTION],
        "config": {"pyhudi": _CONFIG},
        "extra-links": [
            f"{PACKAGE}.lineage.links.PyhudiTableLink",
            f"{PACKAGE}.lineage.links.PyhudiSparkLink",
        ],
        "asset-uris": [
            {
                "schemes": [SCHEME],
                "handler": f"{PACKAGE}.assets.uri.sanitize_uri",
                "factory": f"{PACKAGE}.assets.uri.create_asset",
                "to_openlineage_converter": f"{PACKAGE}.assets.uri.to_openlineage",
            }
        ],
    }


def _modules(kind: str) -> list[str]:
    """The modules of an inner package, none of which is imported for it."""
    spec = find_spec(f"{PACKAGE}.{kind}")
    folders = spec.submodule_search_locations if spec else None
    names = [found.name for found in pkgutil.iter_modules(folders) if found.name not in _BASES]
    return [f"{PACKAGE}.{kind}.{name}" for name in names]
