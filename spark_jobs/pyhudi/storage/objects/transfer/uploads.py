"""Uploads in parts that nobody ends.

Their parts take space that is paid for, and no listing of files shows them. S3 alone keeps them for
ever; Google Cloud Storage and Azure drop theirs after a week.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from pyhudi.storage.objects.answers import said
from pyhudi.storage.objects.clients import arrow_client
from pyhudi.storage.objects.place import Connection, Place, Store
from pyhudi.storage.objects.requests import Kind, note
from pyhudi.storage.storage import Storage

_log = logging.getLogger(__name__)


def give_up_uploads(storage: Storage, paths: Iterable[str]) -> None:
    """End the unfinished uploads of some files, so that neither file nor parts are left.

    An attempt that still uploads one fails. On S3 and with boto3 alone; elsewhere nothing is done,
    nor where it fails: a rule of the bucket for incomplete uploads does the same in time.
    """
    place = getattr(storage, "place", None)
    if not isinstance(place, Place):
        return
    wanted = {place.key(path) for path in paths}
    is_anonymous = place.connection.is_on("anonymous", default=False)
    if not wanted or is_anonymous or place.connection.store is not Store.S3:
        return
    if importlib.util.find_spec("boto3") is None:
        _log.info("unfinished uploads below %s stay: boto3 is not installed here", storage.uri)
        return
    errors = importlib.import_module("botocore.exceptions")
    try:
        for key, upload in _unfinished(place):
            if key in wanted:
                note(storage.uri, Kind.DELETE, key)
                _client(place.connection).abort_multipart_upload(
                    Bucket=place.connection.bucket, Key=key, UploadId=upload
                )
                _log.info("an unfinished upload of %s is given up", key)
    except (errors.BotoCoreError, errors.ClientError) as error:
        _log.warning("unfinished uploads below %s stay: %s", storage.uri, said(str(error)))


def _unfinished(place: Place) -> list[tuple[str, str]]:
    """Keys and ids of the uploads below a root that were begun and not ended."""
    pages = _client(place.connection).get_paginator("list_multipart_uploads")
    found = []
    prefix = f"{place.root}/" if place.root else ""
    for page in pages.paginate(Bucket=place.connection.bucket, Prefix=prefix):
        note(place.uri, Kind.LIST, place.root)
        found += [(each["Key"], each["UploadId"]) for each in page.get("Uploads", ())]
    return found


def _client(connection: Connection) -> Any:
    """The client of the bucket, another one when its keys change."""
    return _made(connection, connection.options)


@lru_cache(maxsize=8)
def _made(connection: Connection, _options: object) -> Any:
    session = importlib.import_module("boto3.session").Session()
    config = importlib.import_module("botocore.config").Config(
        s3={"addressing_style": "path"},
        retries={"mode": "standard", "max_attempts": 5},
        connect_timeout=5,
        read_timeout=30,
    )
    certificates = connection.option("tls_ca_file_path")
    return session.client(
        "s3",
        region_name=arrow_client(connection).region,
        endpoint_url=connection.endpoint,
        aws_access_key_id=connection.option("access_key"),
        aws_secret_access_key=connection.option("secret_key"),
        aws_session_token=connection.option("session_token"),
        verify=certificates or connection.is_on("tls_verify_certificates", default=True),
        config=config,
    )
