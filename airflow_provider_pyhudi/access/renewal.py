"""A private file of keys that end, written again while a job runs."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowException

from airflow_provider_pyhudi.access.aws import AwsKeys
from airflow_provider_pyhudi.masking import mask_settings

PERIOD_S = 60.0
"""How often keys are asked for: AWS's client exchanges them a quarter of an hour before they end,
and holds on to them otherwise."""

log = logging.getLogger(__name__)


@contextmanager
def keys_file(
    keys: Callable[[], AwsKeys], folder: str, *, period_s: float = PERIOD_S
) -> Iterator[str]:
    """A file of mode 600 that has the keys of the moment for as long as the context lasts."""
    path = os.path.join(folder, "keys.json")
    written = _write(path, keys())
    done = threading.Event()
    thread = threading.Thread(
        target=_renew, args=(path, keys, written, done, period_s), name="pyhudi-keys", daemon=True
    )
    thread.start()
    try:
        yield path
    finally:
        done.set()
        thread.join()
        os.unlink(path)


def _renew(
    path: str,
    keys: Callable[[], AwsKeys],
    written: AwsKeys,
    done: threading.Event,
    period_s: float,
) -> None:
    while not done.wait(period_s):
        written = _renewed(path, keys, written)


def _renewed(path: str, keys: Callable[[], AwsKeys], written: AwsKeys) -> AwsKeys:
    try:
        found = keys()
        if found == written:
            return written
        _write(path, found)
    except (AirflowException, OSError) as error:
        # The next round may do better, and the job itself says when its keys have ended.
        log.warning("The keys of the storage are not renewed: %s", error)
        return written
    log.info("The keys of the storage are renewed; they hold until %s", found.ends)
    return found


def _write(path: str, keys: AwsKeys) -> AwsKeys:
    mask_settings(keys.options())
    beside = f"{path}.next"
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(keys.to_json())
    os.replace(beside, path)
    return keys
