"""Storages that are opened with secrets, in this process and in another one."""

import json
import pickle
from pathlib import Path

import pytest

from pyhudi.errors import OptionError, StorageError
from pyhudi.storage import keyring as keyring_module
from pyhudi.storage.arrowfs import ArrowStorage
from pyhudi.storage.keyring import Keyring
from pyhudi.storage.objects import clients
from pyhudi.storage.schemes import open_storage

KEYS = {
    "access_key": "AKEYHUNTER2",
    "secret_key": "hunter2hunter2",
    "session_token": "tokenhunter2",
}
SECRETS = [b"AKEYHUNTER2", b"hunter2hunter2", b"tokenhunter2"]


@pytest.fixture(autouse=True)
def _of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test keeps is not handed to Spark by another."""
    monkeypatch.setattr(keyring_module, "KEYRING", Keyring())


def keys_of(storage: object) -> dict[str, str]:
    settings = storage.filesystem.__reduce__()[1][0]  # type: ignore[attr-defined]
    return {name: settings[name] for name in KEYS}


class Elsewhere:
    """Another process: its keyring, and no storage open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keyring = Keyring()
        monkeypatch.setattr(keyring_module, "KEYRING", self.keyring)
        clients._forget()


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        pytest.param("s3://bucket/t", KEYS | {"region": "x"}, id="S3"),
        pytest.param("s3://AKEYHUNTER2:hunter2hunter2@bucket/t?region=x", {}, id="S3 by its URI"),
        pytest.param(
            "abfs://c@a.dfs.core.windows.net/t", {"account_key": "hunter2hunter2"}, id="Azure"
        ),
        pytest.param(
            "abfs://c@a.dfs.core.windows.net/t",
            {"sas_token": "sv=1&sig=hunter2hunter2"},
            id="a SAS of Azure",
        ),
    ],
)
def test_no_secret_is_in_what_a_storage_is_pickled_to(uri: str, options: dict[str, str]) -> None:
    storage = open_storage(uri, options)
    found = pickle.dumps(storage)
    for secret in SECRETS:
        assert secret not in found
        assert secret.decode() not in repr(storage)
    assert pickle.loads(found).uri == storage.uri


def test_another_process_opens_it_with_the_keys_that_it_was_handed(monkeypatch) -> None:
    sent = pickle.dumps(open_storage("s3://bucket/t", KEYS | {"region": "x"}))
    handed = keyring_module.KEYRING.text()
    other = Elsewhere(monkeypatch)
    other.keyring.receive(handed)
    assert keys_of(pickle.loads(sent)) == KEYS


def test_a_process_without_the_keys_says_so(monkeypatch) -> None:
    sent = pickle.dumps(open_storage("s3://bucket/t", KEYS | {"region": "x"}))
    Elsewhere(monkeypatch)
    arrived = pickle.loads(sent)
    with pytest.raises(StorageError, match="have not reached this process"):
        arrived.exists("x")


def test_a_storage_without_secrets_is_the_storage_itself(tmp_path: Path) -> None:
    before = keyring_module.KEYRING.text()
    assert isinstance(open_storage(str(tmp_path)), ArrowStorage)
    assert keys_of(open_storage("s3://bucket/t", {"region": "x"})) == dict.fromkeys(KEYS)
    assert keyring_module.KEYRING.text() == before


def write_credentials(path: Path, name: str) -> None:
    found = {"Version": 1, "AccessKeyId": f"A{name}", "SecretAccessKey": f"S{name}"}
    path.write_text(json.dumps(found | {"SessionToken": f"T{name}"}), encoding="utf-8")


def test_keys_that_change_in_their_file_are_the_ones_that_are_used(tmp_path, monkeypatch) -> None:
    file = tmp_path / "keys.json"
    write_credentials(file, "1")
    options = {"credentials_file": str(file), "region": "x"}
    storage = open_storage("s3://bucket/t", options)
    assert keys_of(storage)["session_token"] == "T1"
    filesystem = storage.filesystem
    assert storage.filesystem is filesystem, "the same keys are not opened again"
    write_credentials(file, "2")
    assert keys_of(storage) == {"access_key": "A2", "secret_key": "S2", "session_token": "T2"}
    sent, handed = pickle.dumps(storage), keyring_module.KEYRING.text()
    assert b"S2" not in sent

    other = Elsewhere(monkeypatch)
    other.keyring.receive(handed)
    write_credentials(file, "3")
    assert keys_of(pickle.loads(sent))["access_key"] == "A3", "the file is on this machine too"
    file.unlink()
    assert keys_of(pickle.loads(sent))["access_key"] == "A2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("hunter2", "must be JSON", id="no JSON"),
        pytest.param('["hunter2"]', "must be JSON", id="a list"),
        pytest.param('{"AccessKeyId": "hunter2"}', "must be JSON", id="half a pair"),
        pytest.param("{}", "must be JSON", id="no keys"),
        pytest.param(None, "No such file", id="no file"),
    ],
)
def test_a_file_of_keys_that_has_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "keys.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match=said) as caught:
        open_storage("s3://bucket/t", {"credentials_file": str(file)})
    assert "hunter2" not in str(caught.value)
