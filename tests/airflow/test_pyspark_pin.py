"""Two wheels write the folder pyspark; they must be of one version."""

from __future__ import annotations

from importlib import metadata

import pytest

DISTRIBUTION = "airflow-provider-pyhudi"


def test_pyspark_is_the_version_of_the_client_that_the_spark_provider_brings() -> None:
    pyspark, client = metadata.version("pyspark"), metadata.version("pyspark-client")
    assert pyspark == client, (
        f"pyspark {pyspark} and pyspark-client {client} overwrite each other's files. Set both "
        f"pins in pyproject.toml to {client}, or hold apache-airflow-providers-apache-spark back."
    )


def test_our_own_requirements_pin_both_to_one_version() -> None:
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        pytest.skip(f"{DISTRIBUTION} is not installed here")
    pins = {
        name: version
        for name, _, version in (entry.partition("==") for entry in requirements)
        if name in ("pyspark", "pyspark-client")
    }
    assert set(pins) == {"pyspark", "pyspark-client"}
    assert len(set(pins.values())) == 1, f"the pins differ: {pins}"
