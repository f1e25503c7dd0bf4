"""From a URI and its options to a storage."""

import traceback

import pytest

from pyhudi.errors import OptionError
from pyhudi.storage.schemes import open_storage

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
    assert (storage.root, storage.uri) == ("container/t", uri)


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
    with pytest.raises(OptionError, match="cannot open") as caught:
        open_storage(uri, options)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("path", ["/tmp", "file:/tmp"])
def test_a_misspelt_option_is_refused_even_where_none_is_needed(path: str) -> None:
    with pytest.raises(OptionError, match="did you mean secret_key"):
        open_storage(path, {"secret_kye": "x"})
