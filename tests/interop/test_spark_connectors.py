"""Spark reads sources from S3 by its own S3A, told by us where and with which keys."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.flags import SECRETS_VARIABLE
from tests.support.object_store import StoreServer
from tests.support.searching import Search

pytestmark = [pytest.mark.interop, pytest.mark.spark]

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "spark_jobs" / "upsert.py")
SUBMIT = str(Path(sys.executable).parent / "spark-submit")
JARS = Path(os.environ.get("PYHUDI_S3A_JARS", "~/.cache/pyhudi-s3a/jars")).expanduser()
KEYS = {"access_key": "AKEYHUNTER2", "secret_key": "hunter2hunter2"}
TOKEN = {"session_token": "tokenhunter2"}


@pytest.fixture(scope="module")
def jars() -> str:
    found = sorted(str(path) for path in JARS.glob("*.jar"))
    if not any("hadoop-aws-" in path for path in found):
        message = f"no jars of S3A in {JARS}: run tests/interop/s3a.sh"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return ",".join(found)


@pytest.fixture
def source(store: StoreServer, tmp_path: Path) -> str:
    pq.write_table(pa.table({"id": ["a", "b", "c"]}), tmp_path / "rows.parquet")
    storage = store.new_storage("landing")
    storage.put("day=1/rows.parquet", (tmp_path / "rows.parquet").read_bytes())
    storage.put("day=2/rows.parquet", (tmp_path / "rows.parquet").read_bytes())
    store.authorizations.clear()
    return storage.uri


def upsert(
    store: StoreServer, source: str, folder: Path, secrets: dict[str, str], *words: str, **more: str
) -> tuple[int, str, Search]:
    """Exit code, output, and what was found of the secrets meanwhile."""
    temporary = folder / "temporary"
    temporary.mkdir()
    search = Search(secrets=tuple(secrets.values()), folders=(temporary,))
    store.answer = search.at_request
    plain = {name: store.options[name] for name in ("endpoint_override", "scheme", "region")} | more
    done = subprocess.run(
        [
            *(SUBMIT, "--conf", f"spark.driver.extraJavaOptions=-Djava.io.tmpdir={temporary}"),
            *("--conf", "spark.broadcast.compress=false", *words, SCRIPT),
            *("--base-path", str(folder / "t"), "--table-name=t", "--record-key=id"),
            *("--source", source, "--sql", "SELECT DISTINCT id FROM source"),
            *(word for pair in plain.items() for word in ("--storage-option", "=".join(pair))),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        | {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_DIRS": str(temporary),
            "TMPDIR": str(temporary),
            SECRETS_VARIABLE: json.dumps({"storage_options": secrets}),
        },
    )
    shown = done.stdout + done.stderr
    search.read("what it says", shown)
    search.look()
    return done.returncode, shown, search


@pytest.mark.parametrize("secrets", [KEYS, KEYS | TOKEN], ids=["keys", "keys and a token"])
def test_a_source_on_s3_is_read_with_the_keys_of_the_storage(
    store: StoreServer, source: str, jars: str, tmp_path: Path, secrets: dict[str, str]
) -> None:
    code, shown, search = upsert(store, source, tmp_path, secrets, "--jars", jars)
    assert code == 0, shown[-3000:]
    rows = pyhudi.read_table(tmp_path / "t")
    assert sorted(rows["id"].to_pylist()) == ["a", "b", "c"]
    assert any("Credential=AKEYHUNTER2/" in each for each in store.authorizations)
    assert not search.found


def test_keys_of_a_file_reach_spark_s_connector(
    store: StoreServer, source: str, jars: str, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    found = {"Version": 1, "AccessKeyId": "AKEYHUNTER2", "SecretAccessKey": "hunter2hunter2"}
    file.write_text(json.dumps(found), encoding="utf-8")
    code, shown, search = upsert(
        store, source, tmp_path, {}, "--jars", jars, credentials_file=str(file)
    )
    assert code == 0, shown[-3000:]
    assert any("Credential=AKEYHUNTER2/" in each for each in store.authorizations)
    search.secrets = tuple(KEYS.values())
    search.look()
    search.read("what it says", shown)
    assert not search.found
    assert not list((tmp_path / "temporary").glob("*.profile"))


@pytest.mark.parametrize(
    ("uri", "package"),
    [
        pytest.param("s3://bucket/rows", "org.apache.hadoop:hadoop-aws:", id="S3"),
        pytest.param("gs://bucket/rows", "org.apache.hadoop:hadoop-gcp:", id="Google"),
        pytest.param("abfss://c@a.dfs.x/r", "org.apache.hadoop:hadoop-azure:", id="Azure"),
    ],
)
def test_a_connector_that_is_not_there_is_named(
    store: StoreServer, tmp_path: Path, uri: str, package: str
) -> None:
    code, shown, _ = upsert(store, uri, tmp_path, {})
    assert code == 6, shown[-3000:]
    (line,) = [line for line in shown.splitlines() if line.startswith("PYHUDI_FAILED")]
    assert "SetupError: the source is" in line
    assert package in line
    assert "give it to --packages of spark-submit" in line
