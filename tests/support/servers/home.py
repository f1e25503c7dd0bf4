"""Where `setup.sh` put the servers, and what a test does when one is missing."""

import os
import shutil
from pathlib import Path

import pytest

VERSITYGW = "versitygw-1.8.0/versitygw"
FAKE_GCS = "fake-gcs-server-1.56.1/fake-gcs-server"
AZURITE = "azurite-3.37.0/node_modules/.bin/azurite-blob"
HADOOP = "hadoop-3.3.4/ready"


def home() -> Path:
    """The folder that `setup.sh` fills."""
    default = Path.home() / ".cache" / "pyhudi-servers"
    return Path(os.environ.get("PYHUDI_SERVERS_HOME", default))


def built(name: str) -> Path:
    """What `setup.sh` made; without it the test is skipped, or fails under CI."""
    path = home() / name
    if not path.exists():
        absent(f"{path} is not there: run `make servers`")
    return path


def on_path(tool: str) -> str:
    """A program that is installed; without it the test is skipped, or fails under CI."""
    return shutil.which(tool) or absent(f"{tool} is not on PATH")


def absent(reason: str) -> str:
    """End the test: a server that it needs cannot be started here."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"tests of storages may not skip when CI=true: {reason}", pytrace=False)
    pytest.skip(reason)
