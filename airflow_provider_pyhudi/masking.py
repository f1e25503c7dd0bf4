"""Secrets that Airflow is told of, so that logs, rendered fields and XCom show stars for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk.log import mask_secret

from pyhudi.config.access.secret import passwords_in, secrets_of


def mask_settings(settings: Mapping[str, Any]) -> None:
    """Have the secret ones among the settings masked from now on."""
    for value in secrets_of(settings).values():
        for text in passwords_in(str(value)) or (str(value),):
            mask_secret(text)


def mask_fields(task: Any) -> None:
    """Have the secrets in a task's rendered fields masked, before Airflow stores the fields.

    Airflow itself masks by the names that it knows; this adds the names and URIs that the engine
    takes for secret.
    """
    for name in task.template_fields:
        value = getattr(task, name, None)
        if isinstance(value, Mapping):
            mask_settings(value)
        elif isinstance(value, str):
            for password in passwords_in(value):
                mask_secret(password)
