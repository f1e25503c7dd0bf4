"""Both clients of a bucket get what the options say, and find the rest for themselves."""

from types import SimpleNamespace

import pytest

from pyhudi.errors import SetupError
from pyhudi.storage.objects import clients
from pyhudi.storage.objects.clients import arrow_client, obstore_client
from pyhudi.storage.objects.place import place_of

CHAIN = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """No credentials anywhere."""
    for name in CHAIN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    clients._forget()


def both(uri: str, **options: str):
    connection = place_of(uri, options).connection
    return arrow_client(connection), obstore_client(connection)


def settings_of(client) -> dict[str, object]:
    found: dict[str, object] = client.__reduce__()[1][0]
    return found


def test_keys_a_token_a_server_and_a_region_reach_both() -> None:
    arrow, other = both(
        "s3://b/t",
        access_key="AKEY",
        secret_key="secret",
        session_token="token",
        region="eu-west-3",
        endpoint_override="store.local:9000",
        scheme="http",
    )
    found = settings_of(arrow)
    assert (found["access_key"], found["secret_key"]) == ("AKEY", "secret")
    assert (found["session_token"], found["region"]) == ("token", "eu-west-3")
    assert (found["endpoint_override"], found["scheme"]) == ("store.local:9000", "http")
    assert found["allow_delayed_open"] is True
    config = other.config
    assert (config["access_key_id"], config["secret_access_key"]) == ("AKEY", "secret")
    assert (config["session_token"], config["region"]) == ("token", "eu-west-3")
    assert config["endpoint"] == "http://store.local:9000"
    assert "secret" not in repr(other)
    assert other.retry_config["max_retries"] == 0


def test_who_is_anonymous_signs_nothing() -> None:
    arrow, other = both("s3://b/t", anonymous="true", region="us-east-1")
    assert settings_of(arrow)["anonymous"] is True
    assert str(other.config["skip_signature"]).lower() == "true"
    assert str(both("gs://b/t", anonymous="true")[1].config["skip_signature"]).lower() == "true"


def test_a_region_of_the_environment_is_that_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    arrow, other = both("s3://b/t", access_key="a", secret_key="b")
    assert arrow.region == other.config["region"] == "ap-south-1"


def test_the_keys_of_a_profile_are_read_by_boto3(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[lake]\naws_access_key_id = PKEY\naws_secret_access_key = psecret\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "lake")
    _, other = both("s3://b/t", region="us-east-1")
    provided = other.credential_provider()
    assert (provided["access_key_id"], provided["secret_access_key"]) == ("PKEY", "psecret")


def test_a_profile_without_boto3_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "lake")
    monkeypatch.setattr(clients.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r"profile.*pip install 'airflow-provider-pyhudi\[s3\]'"):
        both("s3://b/t", region="us-east-1")


def test_an_account_and_its_key_or_token_reach_both() -> None:
    uri = "abfss://cont@acc.dfs.core.windows.net/t"
    arrow, other = both(uri, account_key="a2V5")
    assert settings_of(arrow)["account_name"] == "acc"
    assert (other.config["account_name"], other.config["account_key"]) == ("acc", "a2V5")
    arrow, other = both(uri, sas_token="sv=1&sig=abc")
    assert settings_of(arrow)["sas_token"] == "sv=1&sig=abc"
    assert "sas_key" in other.config


def test_a_server_for_azure_is_that_of_both() -> None:
    arrow, other = both(
        "abfs://cont/t",
        account_name="devstoreaccount1",
        account_key="a2V5",
        blob_storage_authority="127.0.0.1:10000",
        dfs_storage_authority="127.0.0.1:10000",
        enable_tls="false",
    )
    found = settings_of(arrow)
    assert found["blob_storage_authority"] == "127.0.0.1:10000"
    assert found["blob_storage_scheme"] == "http"
    assert other.config["endpoint"] == "http://127.0.0.1:10000/devstoreaccount1"


def test_a_server_for_google_is_that_of_both() -> None:
    options = {"endpoint_override": "127.0.0.1:4443", "scheme": "http", "anonymous": "true"}
    arrow, other = both("gs://b/t", **options)
    assert settings_of(arrow)["endpoint_override"] == "127.0.0.1:4443"
    assert other.config["base_url"] == "http://127.0.0.1:4443"


@pytest.mark.parametrize(("given", "limit"), [({}, "30"), ({"retry_limit_seconds": "7"}, "7")])
def test_arrow_s_client_of_google_gives_up_soon_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], limit: str
) -> None:
    asked: list[str] = []
    opening = SimpleNamespace(from_uri=lambda uri: (asked.append(uri), ""))
    monkeypatch.setattr(clients, "fs", SimpleNamespace(FileSystem=opening))
    clients.arrow_client(place_of(f"gs://patient-{limit}/t", given).connection)
    assert asked == [f"gs://patient-{limit}?retry_limit_seconds={limit}"]
