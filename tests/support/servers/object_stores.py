"""Servers that speak like S3, Azure Blob and Google Cloud Storage."""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.request import Request, urlopen

from pyarrow import fs

from tests.support.servers import home
from tests.support.servers.gcs_xml import XmlInterface
from tests.support.servers.process import listening
from tests.support.servers.proxy import Proxy

REGION = "us-east-1"
S3_KEYS = ("test-access-key", "test-secret-key")
AZURE_ACCOUNT, AZURE_KEY = "testaccount", "dGVzdC1hY2NvdW50LWtleQ=="


@dataclass(frozen=True)
class S3Server:
    """An S3 server at ``127.0.0.1:port``.

    ``folder`` has its buckets as folders, where it keeps them so.
    """

    port: int
    folder: Path | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> str:
        return f"http://{self.address}"

    def behind(self, port: int) -> "S3Server":
        """The same server, reached through what listens on another port."""
        return replace(self, port=port)

    @property
    def options(self) -> dict[str, str]:
        """The storage options of a table on it."""
        access, secret = S3_KEYS
        return {
            "access_key": access,
            "secret_key": secret,
            "region": REGION,
            "endpoint_override": self.address,
            "scheme": "http",
        }

    @property
    def environ(self) -> dict[str, str]:
        """What finds it for a client that asks the environment."""
        access, secret = S3_KEYS
        return {
            "AWS_ACCESS_KEY_ID": access,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def filesystem(self) -> fs.S3FileSystem:
        """It, as pyarrow sees it, without any code of the engine."""
        return fs.S3FileSystem(allow_bucket_creation=True, **self.options)

    def make_bucket(self, name: str) -> None:
        self.filesystem().create_dir(name)


@dataclass(frozen=True)
class AzureServer:
    """A server of Azure's blobs at ``127.0.0.1:port``."""

    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> str:
        return f"http://{self.address}/{AZURE_ACCOUNT}"

    @property
    def options(self) -> dict[str, str]:
        """The storage options of a table on it."""
        return {
            "account_name": AZURE_ACCOUNT,
            "account_key": AZURE_KEY,
            "blob_storage_authority": self.address,
            "dfs_storage_authority": self.address,
            "enable_tls": "false",
        }

    def filesystem(self) -> fs.AzureFileSystem:
        """It, as pyarrow sees it, without any code of the engine."""
        return fs.AzureFileSystem(
            account_name=AZURE_ACCOUNT,
            account_key=AZURE_KEY,
            blob_storage_authority=self.address,
            dfs_storage_authority=self.address,
            blob_storage_scheme="http",
            dfs_storage_scheme="http",
        )

    def make_container(self, name: str) -> None:
        self.filesystem().create_dir(name)


@dataclass(frozen=True)
class GcsServer:
    """A server of Google Cloud Storage at ``127.0.0.1:port``."""

    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> str:
        return f"http://{self.address}"

    @property
    def options(self) -> dict[str, str]:
        """The storage options of a table on it."""
        return {
            "anonymous": "true",
            "endpoint_override": self.address,
            "scheme": "http",
            "project_id": "test",
        }

    @property
    def environ(self) -> dict[str, str]:
        """What makes obstore write without asking Google who it is; it does so for reads alone."""
        account = {
            "private_key": "",
            "private_key_id": "",
            "client_email": "",
            "disable_oauth": True,
        }
        return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account)}

    def filesystem(self) -> fs.GcsFileSystem:
        """It, as pyarrow sees it, without any code of the engine."""
        return fs.GcsFileSystem(
            anonymous=True, endpoint_override=self.address, scheme="http", project_id="test"
        )

    def make_bucket(self, name: str) -> None:
        body = f'{{"name": "{name}"}}'.encode()
        headers = {"Content-Type": "application/json"}
        url = f"{self.endpoint}/storage/v1/b?project=test"
        with urlopen(Request(url, body, headers), timeout=10):
            pass


@contextlib.contextmanager
def versitygw(folder: Path) -> Iterator[S3Server]:
    """versitygw over a folder: its conditional puts hold between processes, and it verifies keys.

    The folder has to be on a file system with extended attributes, where it keeps entity tags.
    """
    program = home.built(home.VERSITYGW)
    access, secret = S3_KEYS
    rooms = folder / "buckets"
    rooms.mkdir(parents=True, exist_ok=True)
    keys = {"ROOT_ACCESS_KEY": access, "ROOT_SECRET_KEY": secret}
    with listening(
        lambda port: [str(program), "--port", f"127.0.0.1:{port}", "posix", str(rooms)], keys
    ) as port:
        yield S3Server(port, rooms)


@contextlib.contextmanager
def azurite() -> Iterator[AzureServer]:
    """Azurite's blobs, in memory."""
    node, program = home.on_path("node"), home.built(home.AZURITE)
    # Its own account is in every example; one of ours shows that ours is used.
    accounts = {"AZURITE_ACCOUNTS": f"{AZURE_ACCOUNT}:{AZURE_KEY}"}
    flags = ["--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    with listening(
        lambda port: [
            node, os.fspath(program), *flags, "--blobHost", "127.0.0.1", "--blobPort", str(port)
        ],
        accounts,
    ) as port:  # fmt: skip
        yield AzureServer(port)


@contextlib.contextmanager
def fake_gcs() -> Iterator[GcsServer]:
    """fake-gcs-server, in memory, behind what gives it the puts of the XML interface."""
    program = home.built(home.FAKE_GCS)
    flags = ["-scheme", "http", "-host", "127.0.0.1", "-backend", "memory", "-log-level", "error"]
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(listening(lambda port: [str(program), *flags, *_names(port)]))
        proxy = stack.enter_context(Proxy(port, translation=XmlInterface(f"127.0.0.1:{port}")))
        yield GcsServer(proxy.port)


def _names(port: int) -> list[str]:
    """By which names fake-gcs-server knows itself."""
    address = f"127.0.0.1:{port}"
    return ["-port", str(port), "-public-host", address, "-external-url", f"http://{address}"]
