"""Keys of AWS that end: those of a role, a profile or a federation, from Airflow's own hook."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib import import_module
from typing import Any

from airflow_provider_pyhudi.exceptions import PyhudiEnvironmentError, PyhudiSetupError

# What only the hook of Airflow's provider for AWS can make keys of.
_MORE = (
    "assume_role_kwargs",
    "assume_role_method",
    "assume_role_with_saml",
    "assume_role_with_web_identity_federation",
    "profile_name",
    "role_arn",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsKeys:
    """Keys of AWS, and until when they hold where that is known."""

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    ends: datetime | None = None

    def options(self) -> dict[str, str]:
        """The keys as options of a storage."""
        token = {"session_token": self.session_token} if self.session_token else {}
        return {"access_key": self.access_key, "secret_key": self.secret_key, **token}

    def to_json(self) -> str:
        """The keys as a ``credential_process`` prints them, which every SDK of AWS reads."""
        found = {
            "Version": 1,
            "AccessKeyId": self.access_key,
            "SecretAccessKey": self.secret_key,
            "SessionToken": self.session_token,
            "Expiration": None if self.ends is None else self.ends.isoformat(),
        }
        return json.dumps({name: value for name, value in found.items() if value is not None})


def has_more_than_keys(extra: Mapping[str, Any]) -> bool:
    """Whether the Extra of a connection says how keys are got, rather than which they are."""
    return any(extra.get(name) for name in _MORE)


def keys_of_a_session(conn_id: str) -> Callable[[], AwsKeys]:
    """What gives the keys of a connection as they are at that time, renewed before they end.

    Raises:
        PyhudiSetupError: Airflow's provider for AWS is not installed, or there are no keys.
        PyhudiEnvironmentError: AWS gives none. So does what is returned, later.
    """
    label = f"the connection {conn_id!r} (storage_conn_id)"
    try:
        from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
    except ImportError:
        raise PyhudiSetupError(
            f"{label} has a role or profile, of which Airflow's provider for AWS makes keys; pip "
            "install apache-airflow-providers-amazon"
        ) from None
    with _told_of(label):
        session = AwsBaseHook(aws_conn_id=conn_id, client_type="s3").get_session()
        credentials = session.get_credentials()
    if credentials is None:
        raise PyhudiSetupError(f"{label} leads to no keys of AWS on this machine")

    def now() -> AwsKeys:
        with _told_of(label):
            # Keys that end soon are exchanged by this call.
            frozen = credentials.get_frozen_credentials()
        ends = getattr(credentials, "_expiry_time", None)
        return AwsKeys(
            access_key=frozen.access_key,
            secret_key=frozen.secret_key,
            session_token=frozen.token,
            ends=None if ends is None else ends.astimezone(timezone.utc),
        )

    return now


@contextmanager
def _told_of(label: str) -> Iterator[None]:
    """Errors of AWS's client, which Airflow's provider brings along, as one of ours."""
    client = import_module("botocore.exceptions")
    try:
        yield
    except (client.BotoCoreError, client.ClientError) as error:
        raise PyhudiEnvironmentError(f"AWS gives no keys for {label}: {error}") from None
