"""What a job says before Spark starts."""

from pathlib import Path

import pytest

from pyhudi.errors import SetupError
from pyhudi.surroundings import check_java, check_pyspark


def java_home(folder: Path, version: str) -> dict[str, str]:
    binary = folder / "bin" / "java"
    binary.parent.mkdir()
    binary.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", encoding="utf-8")
    binary.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


@pytest.mark.parametrize("version", ["17.0.15", "21.0.2", "25"])
def test_a_java_that_spark_runs_on_is_accepted(tmp_path: Path, version: str) -> None:
    check_java(java_home(tmp_path, version))


@pytest.mark.parametrize(("version", "found"), [("1.8.0_402", "Java 8"), ("11.0.2", "Java 11")])
def test_an_old_java_is_named(tmp_path: Path, version: str, found: str) -> None:
    with pytest.raises(SetupError, match=f"{found}; Spark needs Java 17 or 21"):
        check_java(java_home(tmp_path, version))


def test_a_wrong_java_home_is_named() -> None:
    with pytest.raises(SetupError, match="JAVA_HOME is /nowhere"):
        check_java({"JAVA_HOME": "/nowhere"})


def test_a_machine_without_java_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(SetupError, match="apt-get install"):
        check_java({})


def test_two_versions_of_one_folder_are_refused() -> None:
    with pytest.raises(SetupError, match=r"pyspark 4\.3\.0 and pyspark-client 4\.2\.0"):
        check_pyspark("4.3.0", "4.2.0")


@pytest.mark.parametrize("version", ["3.5.8", "4.2.0", None])
def test_the_spark_versions_the_engine_runs_on_are_accepted(version: str | None) -> None:
    check_pyspark(version, None)


@pytest.mark.parametrize("version", ["3.4.1", "5.0.0"])
def test_other_spark_versions_are_refused(version: str) -> None:
    with pytest.raises(SetupError, match=r"Spark 3\.5 and newer, below 5"):
        check_pyspark(version, version)
