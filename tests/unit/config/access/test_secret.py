"""What counts as secret, and texts without it."""

import pytest

from pyhudi.config.access.secret import is_secret, is_secret_name, redacted


@pytest.mark.parametrize(
    "name",
    [
        *("secret_key", "access_key", "account_key", "client_secret", "sas_token", "password"),
        *("fs.s3a.secret.key", "fs.s3a.access.key", "fs.azure.sas.c.acc", "hive_sync.pass"),
        *("fs.azure.account.key.acc.dfs.core.windows.net", "accessKey", "connectionString"),
        "spark.pyhudi.secrets",
        *("access_token", "api_key", "authorization", "passphrase", "passwd", "private_key"),
    ],
)
def test_a_setting_of_this_name_is_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("region", "endpoint_override", "credential_kind", "kerb_ticket", "client_id"),
        "hoodie.datasource.write.recordkey.field",
        "spark.hadoop.fs.s3a.aws.credentials.provider",
        "spark.hadoop.hadoop.security.credential.provider.path",
        "spark.kubernetes.authenticate.oauthTokenFile",
        "hoodie.metrics.datadog.api.key.skip.validation",
    ],
)
def test_a_setting_of_this_name_is_shown(name: str) -> None:
    assert not is_secret(name, "x")


def test_a_switch_is_no_secret_whatever_its_name() -> None:
    assert not is_secret("fs.s3a.session.token", "true")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://AK:se/cret@bucket/t", "s3://AK:***@bucket/t"),
        ("jdbc:postgresql://u:hunter2@h/db?ssl=true", "jdbc:postgresql://u:***@h/db?ssl=true"),
        ("jdbc:x://h/db?user=a&password=hunter2", "jdbc:x://h/db?user=a&password=***"),
        ("abfs://container@account/t", "abfs://container@account/t"),
        ("hdfs://name:8020/a@b", "hdfs://name:8020/a@b"),
        ("/data/a:b@c", "/data/a:b@c"),
    ],
)
def test_a_password_in_a_uri_is_starred_and_nothing_else(text: str, shown: str) -> None:
    assert redacted(text) == shown
    assert is_secret("url", text) is (text != shown)
