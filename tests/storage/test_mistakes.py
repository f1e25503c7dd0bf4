"""A wrong bucket and a wrong key, on real servers: told for what they are, and not as no table."""

import pytest

from pyhudi.errors import MissingFileError, StorageError, UnclearAnswerError
from pyhudi.storage.schemes import open_storage
from pyhudi.table.properties_file import load_config
from tests.support.backends import place_on

WRONG = {
    "versitygw": {"secret_key": "hunter2hunter2"},
    "azurite": {"account_key": "aHVudGVyMmh1bnRlcjI="},
}
ON = [pytest.param(name, id=name, marks=pytest.mark.interop) for name in WRONG]


@pytest.mark.parametrize("name", [pytest.param("moto", id="moto"), *ON])
def test_a_bucket_that_is_not_there_is_said_to_be_missing(
    name: str, request: pytest.FixtureRequest
) -> None:
    place = place_on(name, request)
    scheme, _, rest = place.uri.partition("://")
    uri = f"{scheme}://nowhere-{rest}"
    with pytest.raises(
        StorageError, match=r"there is no bucket .*nowhere-.*check its name"
    ) as told:
        load_config(open_storage(uri, place.options))
    assert not isinstance(told.value, (MissingFileError, UnclearAnswerError))


@pytest.mark.parametrize("name", ON)
def test_a_key_that_is_refused_is_an_error_that_stays_and_shows_none(
    name: str, request: pytest.FixtureRequest
) -> None:
    place = place_on(name, request)
    with pytest.raises(StorageError, match="check the credentials") as told:
        load_config(open_storage(place.uri, {**place.options, **WRONG[name]}))
    assert not isinstance(told.value, (MissingFileError, UnclearAnswerError))
    line = str(told.value)
    assert "\n" not in line
    assert not any(secret in line for secret in ("hunter2", "aHVudGVy", "Signature="))
