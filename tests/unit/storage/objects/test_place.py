"""Which folder of which bucket a URI names, and how it is reached."""

import pytest

from pyhudi.errors import OptionError
from pyhudi.storage.objects.place import Store, place_of


@pytest.mark.parametrize(
    ("uri", "store", "bucket", "root", "options"),
    [
        ("s3://bucket/lake/t", Store.S3, "bucket", "lake/t", {}),
        ("s3a://bucket/lake/t/", Store.S3, "bucket", "lake/t", {}),
        ("s3n://bucket", Store.S3, "bucket", "", {}),
        ("s3://b/a%20b/c=d/%25", Store.S3, "b", "a b/c=d/%", {}),
        (
            "s3://AKEY:se%2Fcret@b/t?region=eu-west-1",
            Store.S3,
            "b",
            "t",
            {"access_key": "AKEY", "secret_key": "se/cret", "region": "eu-west-1"},
        ),
        ("gs://my.bucket/t", Store.GCS, "my.bucket", "t", {}),
        (
            "abfss://cont@acc.dfs.core.windows.net/a/t",
            Store.AZURE,
            "cont",
            "a/t",
            {"account_name": "acc"},
        ),
        (
            "wasbs://cont@acc.blob.core.windows.net/t",
            Store.AZURE,
            "cont",
            "t",
            {"account_name": "acc"},
        ),
        (
            "abfs://acc.dfs.core.windows.net/cont/t",
            Store.AZURE,
            "cont",
            "t",
            {"account_name": "acc"},
        ),
        (
            "abfs://cont:a2V5@acc.dfs.core.windows.net/t",
            Store.AZURE,
            "cont",
            "t",
            {"account_key": "a2V5", "account_name": "acc"},
        ),
        (
            "abfss://cont@acc.dfs.core.usgovcloudapi.net/t",
            Store.AZURE,
            "cont",
            "t",
            {
                "account_name": "acc",
                "blob_storage_authority": ".blob.core.usgovcloudapi.net",
                "dfs_storage_authority": ".dfs.core.usgovcloudapi.net",
            },
        ),
        ("abfs://cont/t", Store.AZURE, "cont", "t", {}),
    ],
)
def test_a_uri_names_a_folder_of_a_bucket(
    uri: str, store: Store, bucket: str, root: str, options: dict[str, str]
) -> None:
    place = place_of(uri, {})
    connection = place.connection
    assert (connection.store, connection.bucket, place.root) == (store, bucket, root)
    assert dict(connection.options) == options


def test_options_win_over_parameters_of_the_uri() -> None:
    connection = place_of("s3://b/t?region=a", {"region": "b"}).connection
    assert connection.option("region") == "b"


def test_a_key_and_a_path_are_one_another() -> None:
    for uri in ("s3://b/lake/t", "s3://b"):
        place = place_of(uri, {})
        assert place.path(place.key("x/y")) == "x/y"
        assert place.path(place.key("")) == ""


@pytest.mark.parametrize(
    ("uri", "options", "said"),
    [
        ("s3:///t", {}, "give s3://bucket/folder"),
        ("s3://bucket:9000/t", {}, "names no bucket"),
        ("gs://", {}, "give gs://bucket/folder"),
        ("abfss://", {}, "give abfss://container@account"),
        ("s3://b/t", {"account_key": "x"}, "account_key is no option of s3"),
        ("s3://b/t", {"access_key": "x"}, "access_key and secret_key go together"),
    ],
)
def test_what_names_no_folder_is_refused(uri: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        place_of(uri, options)


def test_an_option_that_is_neither_true_nor_false_is_refused() -> None:
    connection = place_of("s3://b/t", {"anonymous": "maybe"}).connection
    with pytest.raises(OptionError, match="anonymous is 'maybe'"):
        connection.is_on("anonymous", default=False)
