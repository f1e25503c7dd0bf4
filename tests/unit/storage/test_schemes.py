"""From a URI and its options to a storage."""

import base64
import json
import os
import pickle
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from pyhudi.errors import OptionError
from pyhudi.storage.schemes import open_beside, open_storage

KEYS = {"access_key": "AKEY", "secret_key": "se/c+r@t", "region": "eu-west-1"}


def settings_of(uri: str, options: dict[str, str]) -> dict[str, object]:
    storage = open_storage(uri, options)
    settings: dict[str, object] = storage.filesystem.__reduce__()[1][0]
    return settings


@pytest.mark.parametrize("uri", ["s3://bucket/t", "s3a://bucket/t"])
def test_the_keys_of_an_account_reach_its_storage(uri: str) -> None:
    settings = settings_of(uri, KEYS)
    assert {name: settings[name] for name in KEYS} == KEYS


def test_an_azure_container_stays_in_its_uri_beside_the_key() -> None:
    uri = "abfs://container@account.dfs.core.windows.net/t"
    storage = open_storage(uri, {"account_key": "a2V5"})
    found = storage.place
    assert (found.connection.bucket, found.root, storage.uri) == ("container", "t", uri)
    assert found.connection.option("account_name") == "account"


def test_a_storage_does_not_show_the_password_of_its_uri() -> None:
    uri = "s3://AKEY:hunter2@bucket/t?region=eu-west-1"
    assert "hunter2" not in open_storage(uri).uri
    assert settings_of(uri, {})["secret_key"] == "hunter2"


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        pytest.param("s3://AKEY:hunter2@bucket:9x/t", {}, id="in the URI"),
        pytest.param("s3://bucket:9x/t", KEYS | {"secret_key": "hunter2"}, id="as an option"),
        pytest.param("s3://b/t?secret_key=hunter2", {}, id="as a parameter"),
        pytest.param("nosuch://AKEY:hunter2@bucket/t", {}, id="of an unknown scheme"),
    ],
)
def test_an_error_shows_no_password(uri: str, options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=r"cannot open|storage_options of") as caught:
        open_storage(uri, options)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("path", ["/tmp", "file:/tmp"])
def test_a_misspelt_option_is_refused_even_where_none_is_needed(path: str) -> None:
    with pytest.raises(OptionError, match="did you mean secret_key"):
        open_storage(path, {"secret_kye": "x"})


KEY_OF_GOOGLE = {
    "type": "service_account",
    "project_id": "p",
    "private_key_id": "k1",
    "client_email": "a@p.iam.gserviceaccount.com",
    "client_id": "1",
    "token_uri": "https://127.0.0.1:9/token",
}


class Bucket(BaseHTTPRequestHandler):
    """An empty bucket of Google's, that notes by what it is asked."""

    asked_with: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self.asked_with.append(self.headers.get("Authorization", ""))
        is_list = self.path.startswith("/bucket?")
        body = b"<ListBucketResult></ListBucketResult>" if is_list else b""
        self.send_response(200 if is_list else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD  # noqa: N815 - a name of the standard library

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_the_key_of_a_service_account_signs_for_google_and_stays_in_memory(monkeypatch) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    key = json.dumps(KEY_OF_GOOGLE | {"private_key": private.decode()})
    with ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = {
            "service_account_key": key,
            "endpoint_override": f"127.0.0.1:{server.server_port}",
            "scheme": "http",
        }
        storage = open_storage("gs://bucket/t", options)
        assert not storage.exists("x")
        assert storage.filesystem.get_file_info("bucket/t/x").type.name == "NotFound"
        server.shutdown()
    assert b"PRIVATE" not in pickle.dumps(storage)
    assert "GOOGLE_APPLICATION_CREDENTIALS" not in os.environ
    assert len(Bucket.asked_with) > 1
    for asked in Bucket.asked_with:
        middle = asked.removeprefix("Bearer ").split(".")[1]
        signed = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        assert signed["iss"] == KEY_OF_GOOGLE["client_email"]


@pytest.mark.parametrize("token", ["session_token", "sas_token"])
def test_a_token_reaches_its_storage(token: str) -> None:
    uri, keys = (
        ("s3://bucket/t", KEYS)
        if token == "session_token"
        else ("abfs://c@a.dfs.core.windows.net/t", {})
    )
    assert settings_of(uri, {**keys, token: "sv=1&sig=hunter2"})[token] == "sv=1&sig=hunter2"


def test_what_a_table_was_bootstrapped_from_has_options_of_its_own() -> None:
    own = {"access_key": "THEIRS", "secret_key": "other", "region": "eu-north-1"}
    options = {**KEYS, **{f"bootstrap.{name}": text for name, text in own.items()}}
    table = pickle.loads(pickle.dumps(open_storage("s3://bucket/t", options)))
    found = open_beside(table, "s3a://lake/a%3Ab/part=c?d")
    assert dict(found.place.connection.options) == own
    assert found.place.root == "a%3Ab/part=c?d"
    assert dict(table.place.connection.options) == KEYS
    assert b"other" not in pickle.dumps(table)


def test_without_any_a_source_has_those_of_the_table_in_the_same_kind_of_store() -> None:
    table = open_storage("s3://bucket/t", KEYS)
    assert dict(open_beside(table, "s3a://lake/a").place.connection.options) == KEYS
    assert not open_beside(table, "gs://lake/a").place.connection.given.are_some


def test_a_source_on_this_machine_is_named_as_hadoop_does(tmp_path: Path) -> None:
    (tmp_path / "p=a%3Ab#c").mkdir()
    (tmp_path / "p=a%3Ab#c" / "f").write_bytes(b"1")
    table = open_storage("s3://bucket/t", KEYS)
    for scheme in ("file:", "file://", ""):
        found = open_beside(table, f"{scheme}{tmp_path}/p=a%3Ab#c")
        assert [each.path for each in found.list("")] == ["f"]


def test_an_option_that_no_source_has_is_named() -> None:
    with pytest.raises(OptionError, match="acces_key is no option of a storage"):
        open_storage("/tmp/t", {"bootstrap.acces_key": "a"})
