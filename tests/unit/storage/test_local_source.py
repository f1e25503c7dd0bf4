"""Sources on this machine, looked for without Spark."""

from pathlib import Path

import pytest

from pyhudi.errors import MissingSourceError
from pyhudi.storage.local_source import check_source, local_files, names_hadoop


def test_files_are_found_by_folder_glob_and_list_and_hidden_ones_are_not(tmp_path: Path) -> None:
    for name in ("b/2.parquet", "b/_SUCCESS", "b/.hidden", "b/_tmp/3.parquet", "a.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    both = [f"{tmp_path}/a.parquet", f"{tmp_path}/b/2.parquet"]
    assert local_files(str(tmp_path)) == both
    assert local_files(f"file://{tmp_path}/*") == both
    assert local_files(f"{tmp_path}/b, {tmp_path}/a.parquet") == both[::-1]
    assert local_files("s3://bucket/path") is None
    assert local_files("catalog_table") is None
    assert local_files(f"{tmp_path}/[^b]*") is None
    with pytest.raises(MissingSourceError, match="nowhere does not exist"):
        local_files(f"{tmp_path}/nowhere")


@pytest.mark.parametrize(
    "source", ["{0}/nowhere", "{0}/rows, {0}/nowhere", "{0}/*.csv", "{0}/empty"]
)
@pytest.mark.parametrize("source_format", ["parquet", "csv"])
def test_a_source_that_is_seen_to_be_missing_is_refused(
    tmp_path: Path, source: str, source_format: str
) -> None:
    (tmp_path / "rows").touch()
    (tmp_path / "empty" / "_temporary").mkdir(parents=True)
    with pytest.raises(MissingSourceError, match=str(tmp_path)):
        check_source(source.format(tmp_path), source_format, is_local=True)


@pytest.mark.parametrize(
    ("source", "source_format"),
    [
        pytest.param("{0}/rows", "parquet", id="it is there"),
        pytest.param("s3://bucket/nowhere", "parquet", id="another scheme"),
        pytest.param("orders_2013", "parquet", id="a table of the catalog"),
        pytest.param("{0}/{{a,b}}", "csv", id="alternatives of Hadoop's globs"),
        pytest.param("{0}/[^a]*", "parquet", id="a set of Hadoop's globs"),
        pytest.param("lake/orders", "mongodb", id="a format with paths of its own"),
        pytest.param("{0}/_day=1", "parquet", id="a folder of a partition"),
    ],
)
def test_a_source_that_only_spark_can_judge_passes(
    tmp_path: Path, source: str, source_format: str
) -> None:
    (tmp_path / "rows").touch()
    (tmp_path / "_day=1").mkdir()
    (tmp_path / "_day=1" / "rows").touch()
    check_source(source.format(tmp_path), source_format, is_local=True)


def test_where_plain_paths_lie_elsewhere_only_those_of_files_are_looked_for(tmp_path: Path) -> None:
    check_source(f"{tmp_path}/nowhere", "parquet", is_local=False)
    with pytest.raises(MissingSourceError):
        check_source(f"file://{tmp_path}/nowhere", "parquet", is_local=False)


def test_a_configuration_of_hadoop_says_where_plain_paths_are() -> None:
    assert names_hadoop({"HADOOP_CONF_DIR": "/etc/hadoop"})
    assert not names_hadoop({"HADOOP_CONF_DIR": ""})
