"""What Airflow asks a provider package about itself."""

from __future__ import annotations

import pkgutil
from importlib.util import find_spec
from typing import Any

from pyhudi.config.access.storage_options import OPTIONS_BY_SCHEME

INTEGRATION = "Apache Hudi"
PACKAGE = "airflow_provider_pyhudi"
_BASE = "job"
"""What all operators share, and no DAG asks for."""


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
        }
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
    }


def _modules(kind: str) -> list[str]:
    """The modules of an inner package, none of which is imported for it."""
    spec = find_spec(f"{PACKAGE}.{kind}")
    folders = spec.submodule_search_locations if spec else None
    names = [found.name for found in pkgutil.iter_modules(folders) if found.name != _BASE]
    return [f"{PACKAGE}.{kind}.{name}" for name in names]
