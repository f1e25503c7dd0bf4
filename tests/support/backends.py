"""Every kind of storage that a table can lie on, as a test opens it: empty, with options."""

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from tests.support.memory import MemoryStorage
from tests.support.object_store import StoreServer
from tests.support.servers.hdfs import HdfsServer
from tests.support.servers.object_stores import AzureServer, GcsServer, S3Server

QUICK = ("local", "memory", "moto")
"""Those that need nothing but what `pip` installs."""

BUILT = ("versitygw", "azurite", "fake_gcs", "hdfs")
"""Those of servers that are built."""

BACKENDS = [
    *(pytest.param(name, id=name) for name in QUICK),
    *(pytest.param(name, id=name, marks=pytest.mark.interop) for name in BUILT),
]
_numbers = itertools.count()


@dataclass(frozen=True)
class Place:
    """Where an empty folder is, and the options that reach it; other processes can have it."""

    uri: str
    options: dict[str, str]

    def open(self) -> Storage:
        return open_storage(self.uri, self.options)


def place_on(name: str, request: pytest.FixtureRequest) -> Place:
    """An empty folder on a kind of storage, on a server that the session shares."""
    return _PLACES[name](request, f"n{os.getpid()}-{next(_numbers)}")


def storage_on(name: str, request: pytest.FixtureRequest) -> Storage:
    """The storage of an empty folder."""
    return MemoryStorage() if name == "memory" else place_on(name, request).open()


def _local(request: pytest.FixtureRequest, name: str) -> Place:
    folder: Path = request.getfixturevalue("tmp_path")
    return Place(str(folder / name), {})


def _moto(request: pytest.FixtureRequest, _: str) -> Place:
    server: StoreServer = request.getfixturevalue("store_server")
    return Place(f"s3://{server.new_bucket()}/lake/table", server.options)


def _versitygw(request: pytest.FixtureRequest, name: str) -> Place:
    server: S3Server = request.getfixturevalue("versitygw")
    server.make_bucket(name)
    return Place(f"s3://{name}/lake/table", server.options)


def _azurite(request: pytest.FixtureRequest, name: str) -> Place:
    server: AzureServer = request.getfixturevalue("azurite")
    server.make_container(name)
    return Place(f"abfs://{name}/lake/table", server.options)


def _fake_gcs(request: pytest.FixtureRequest, name: str) -> Place:
    server: GcsServer = request.getfixturevalue("fake_gcs")
    server.make_bucket(name)
    return Place(f"gs://{name}/lake/table", server.options)


def _hdfs(request: pytest.FixtureRequest, name: str) -> Place:
    server: HdfsServer = request.getfixturevalue("mini_dfs")
    return Place(f"{server.uri}/lake/{name}", {})


_PLACES: dict[str, Callable[[pytest.FixtureRequest, str], Place]] = {
    "local": _local,
    "moto": _moto,
    "versitygw": _versitygw,
    "azurite": _azurite,
    "fake_gcs": _fake_gcs,
    "hdfs": _hdfs,
}
