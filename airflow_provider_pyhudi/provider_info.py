"""What Airflow asks a provider package about itself."""

from __future__ import annotations

from typing import Any

INTEGRATION = "Apache Hudi"


def get_provider_info() -> dict[str, Any]:
    """Operators, sensors, triggers, hooks and connection types, as Airflow's schema wants them."""
    package = "airflow_provider_pyhudi"
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
        "operators": [
            {
                "integration-name": INTEGRATION,
                "python-modules": [
                    f"{package}.operators.compaction",
                    f"{package}.operators.upsert",
                ],
            }
        ],
        "sensors": [
            {
                "integration-name": INTEGRATION,
                "python-modules": [f"{package}.sensors.instant"],
            }
        ],
        "triggers": [
            {
                "integration-name": INTEGRATION,
                "python-modules": [f"{package}.triggers.timeline"],
            }
        ],
        "hooks": [
            {
                "integration-name": INTEGRATION,
                "python-modules": [f"{package}.hooks.table"],
            }
        ],
        "connection-types": [
            {
                "connection-type": "pyhudi",
                "hook-class-name": f"{package}.hooks.table.PyhudiHook",
                "hook-name": "PyHudi",
                "ui-field-behaviour": {
                    "hidden-fields": ["schema", "login", "password", "port"],
                    "relabeling": {"host": "Base folder"},
                    "placeholders": {
                        "host": "/data/lake or s3://bucket/lake",
                        "extra": '{"storage_options": {"region": "eu-west-1"}}',
                    },
                },
            }
        ],
    }
