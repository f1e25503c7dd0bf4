"""What the answers of stores mean, as obstore 0.11 tells them, and what is told of them."""

import socket
import threading

import pytest

from pyhudi.errors import MissingFileError, OptionError, StorageError, UnclearAnswerError
from pyhudi.storage.objects import clients
from pyhudi.storage.objects.answers import absent, failure, said
from pyhudi.storage.objects.patience import Patience
from pyhudi.storage.schemes import open_storage
from pyhudi.table.properties_file import load_config
from tests.support.object_store import StoreServer

BODY = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message>'
    "<AWSAccessKeyId>AKIAHUSH</AWSAccessKeyId><StringToSign>AWS4-HMAC-SHA256&#xA;2026</StringToSign>"
    "</Error>\n\nDebug source:\nGeneric {{ secret: hunter2 }}"
)
GET = "Error performing GET http://s:1/b/k?sig=hunter2 in 1.18ms - Server returned non-2xx "
LISTED = f"Generic S3 error: Error performing list request: {GET}status code: "


def answer(status: str, code: str, message: str) -> str:
    return f"{LISTED}{status}: {BODY.format(code=code, message=message)}"


def test_a_refusal_is_one_line_that_says_what_to_look_at_and_nothing_that_was_signed() -> None:
    found = failure("b", answer("403 Forbidden", "SignatureDoesNotMatch", "Check your key."))
    assert str(found) == (
        "GET http://s:1/b/k?***: status code: 403 Forbidden: SignatureDoesNotMatch: Check your "
        "key; check the credentials, and what they allow on this bucket"
    )
    assert not isinstance(found, UnclearAnswerError)


@pytest.mark.parametrize("code", ["XAdminUserNotFound", "InvalidAccessKeyId"])
def test_an_account_that_is_not_there_is_no_file_that_is_not_there(code: str) -> None:
    text = answer("404 Not Found", code, "No user")
    for found in (absent("k", "s3://b", text), failure("s3://b", text)):
        assert not isinstance(found, MissingFileError)
        assert f"{code}: No user; check the credentials" in str(found)


@pytest.mark.parametrize("code", ["NoSuchBucket", "ContainerNotFound"])
def test_a_bucket_that_is_not_there_is_named(code: str) -> None:
    text = answer("404 Not Found", code, "Gone")
    for found in (absent("k", "s3://b at s", text), failure("s3://b at s", text)):
        assert not isinstance(found, MissingFileError)
        assert str(found) == "there is no bucket s3://b at s; check its name, or make it"


@pytest.mark.parametrize("text", ["", answer("404 Not Found", "NoSuchKey", "Gone")])
def test_a_file_that_is_not_there_is_just_that(text: str) -> None:
    assert isinstance(absent("k", "s3://b", text), MissingFileError)


@pytest.mark.parametrize(
    "status", ["408 Request Timeout", "429 Too Many Requests", "503 Slow Down"]
)
def test_who_shall_come_again_does(status: str) -> None:
    assert isinstance(failure("b", answer(status, "SlowDown", "Later")), UnclearAnswerError)


def test_another_region_is_an_error_that_stays_and_says_what_to_set() -> None:
    text = (
        "Generic S3 error: Error performing GET https://s/b/k in 8ms - Received redirect without "
        "LOCATION, this normally indicates an incorrectly configured region"
    )
    found = failure("s3://b", text)
    assert str(found) == "s3://b lies in another region; set the storage option region"
    assert not isinstance(found, UnclearAnswerError)


def test_a_message_keeps_neither_queries_nor_insides() -> None:
    assert "hunter2" not in said(answer("500 Internal Server Error", "InternalError", "Oh"))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not tried for long."""
    patience = Patience(first_s=0.001, longest_s=0.002, total_s=0.01)
    monkeypatch.setattr("pyhudi.storage.objects.patience.PATIENCE", patience)


def at(port: int, scheme: str = "http", host: str = "127.0.0.1") -> dict[str, str]:
    server = {"endpoint_override": f"{host}:{port}", "scheme": scheme, "region": "us-east-1"}
    return {**server, "access_key": "k", "secret_key": "hunter2hunter2"}


@pytest.mark.parametrize(
    ("host", "why"), [("127.0.0.1", "nothing listens there"), ("no.invalid", "no such name")]
)
def test_a_server_that_cannot_be_reached_says_why(impatient: None, host: str, why: str) -> None:
    with pytest.raises(UnclearAnswerError, match=f"{why}.*; check the network") as caught:
        open_storage("s3://bucket/t", at(1, host=host)).read("a")
    assert "hunter2" not in str(caught.value)


def test_a_server_that_speaks_no_tls_is_not_asked_again(store: StoreServer) -> None:
    with store.counting() as seen, pytest.raises(StorageError, match="does not speak TLS") as told:
        open_storage("s3://bucket/t", at(store.port, "https")).read("a")
    assert not isinstance(told.value, UnclearAnswerError)
    assert not seen


def test_a_table_in_a_bucket_that_is_not_there_is_no_table_that_could_be_made(
    store: StoreServer,
) -> None:
    with pytest.raises(StorageError, match="there is no bucket s3://nowhere at http://127"):
        load_config(open_storage("s3://nowhere/t", store.options))


def test_where_no_answer_comes_a_table_is_asked_for_once(impatient: None) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    asked: list[bytes] = []

    def hang_up() -> None:
        while True:
            try:
                taken, _ = listener.accept()
            except OSError:
                return
            asked.append(taken.recv(1 << 16))
            taken.close()

    threading.Thread(target=hang_up, daemon=True).start()
    with pytest.raises(UnclearAnswerError, match=r"cannot read .*hoodie\.properties"):
        load_config(open_storage("s3://bucket/t", at(listener.getsockname()[1])))
    listener.close()
    assert {each.split()[1] for each in asked} == {b"/bucket/t/.hoodie/hoodie.properties"}


def test_a_container_without_an_account_is_an_error_that_says_where_to_name_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(OptionError, match="lake has no account: give abfss://container@account"):
        open_storage("abfss://lake/flights")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "theirs")
    assert open_storage("abfss://lake/flights").uri == "abfss://lake/flights"


def test_a_region_that_nobody_tells_is_an_error_that_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: str) -> str:
        raise OSError("Could not resolve host")

    monkeypatch.setattr(clients.fs, "resolve_s3_region", fail)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StorageError, match="set the storage option region, or endpoint_override"):
        open_storage("s3://region-of-nobody/t")
