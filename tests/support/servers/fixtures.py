"""The servers as fixtures: started when a test first asks, once in each worker of pytest."""

from collections.abc import Iterator

import pytest

from tests.support.servers import hdfs, object_stores
from tests.support.servers.proxy import Proxy


@pytest.fixture(scope="session")
def versitygw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object_stores.S3Server]:
    with object_stores.versitygw(tmp_path_factory.mktemp("versitygw")) as server:
        yield server


@pytest.fixture(scope="session")
def azurite() -> Iterator[object_stores.AzureServer]:
    with object_stores.azurite() as server:
        yield server


@pytest.fixture(scope="session")
def fake_gcs() -> Iterator[object_stores.GcsServer]:
    with object_stores.fake_gcs() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environ.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture(scope="session")
def mini_dfs() -> Iterator[hdfs.HdfsServer]:
    with hdfs.mini_dfs() as server:
        yield server


@pytest.fixture
def proxy(versitygw: object_stores.S3Server) -> Iterator[Proxy]:
    """A fault proxy before versitygw."""
    with Proxy(versitygw.port) as standing:
        yield standing
