"""Which connectors Spark needs for a source, and what to install."""

import pytest

from pyhudi.config.access.connectors import as_s3a, missing_jars

CLIENT = "hadoop-client-api-3.5.0.jar"


@pytest.mark.parametrize(
    ("source", "jars", "package"),
    [
        ("s3a://b/x", [CLIENT], "org.apache.hadoop:hadoop-aws:3.5.0"),
        ("/local, s3://b/x", [CLIENT], "org.apache.hadoop:hadoop-aws:3.5.0"),
        ("gs://b/x", [CLIENT], "org.apache.hadoop:hadoop-gcp:3.5.0"),
        (
            "gs://b/x",
            ["hadoop-client-api-3.3.4.jar"],
            "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26",
        ),
        ("abfss://c@a.x/x", [CLIENT], "org.apache.hadoop:hadoop-azure:3.5.0"),
    ],
)
def test_a_connector_that_is_missing_is_named(source: str, jars: list[str], package: str) -> None:
    told = missing_jars(source, jars) or ""
    assert f"here, {package}; give it to --packages of spark-submit" in told


@pytest.mark.parametrize(
    ("source", "jars"),
    [
        pytest.param("s3://b/x", [CLIENT, "hadoop-aws-3.5.0.jar"], id="it is there"),
        pytest.param("gs://b/x", [CLIENT, "gcs-connector-3.1.jar"], id="Google's own is there"),
        pytest.param("s3://b/x", [], id="a Spark of another kind"),
        pytest.param("/landing/x, hdfs://n/x, t", [CLIENT], id="none is needed"),
    ],
)
def test_nothing_is_missing(source: str, jars: list[str]) -> None:
    assert missing_jars(source, jars) is None


def test_s3_has_the_name_that_hadoop_has_for_it() -> None:
    uris = ["s3://b/x", "s3n://b/x", "s3a://b/x", "gs://b/x", "/x"]
    assert [as_s3a(uri) for uri in uris] == [
        "s3a://b/x",
        "s3a://b/x",
        "s3a://b/x",
        "gs://b/x",
        "/x",
    ]
