"""The keys of a storage on their way to Spark's tasks: in memory, and nowhere else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyhudi.spark.tasks import keys as keys_module
from tests.support.golden import expected_rows, golden_table
from tests.support.object_store import StoreServer
from tests.support.searching import Search

pytestmark = pytest.mark.spark

TABLE = "v6_mor_basic"
KEYS = {
    "access_key": "AKEYHUNTER2",
    "secret_key": "hunter2hunter2",
    "session_token": "tokenhunter2",
}
# Everything that Spark can write lies open, and functions of any size go through files.
LAID_OPEN = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.broadcast.compress": "false",
    "spark.broadcast.UDFCompressionThreshold": "1",
    "spark.shuffle.compress": "false",
    "spark.python.worker.reuse": "false",
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
}
READ = """
import json, os, sys, urllib.request
from pyspark.sql import SparkSession
from pyhudi.spark import read
spark = SparkSession.builder.getOrCreate()
frame = read(spark, sys.argv[1], storage_options=json.loads(os.environ.pop("OPTIONS")))
print("ROWS", frame.count())
frame.explain("extended")
context = spark.sparkContext
for page in ("environment/", "jobs/", "stages/", "SQL/",
             f"api/v1/applications/{context.applicationId}/environment",
             f"api/v1/applications/{context.applicationId}/jobs",
             f"api/v1/applications/{context.applicationId}/stages?details=true"):
    print("PAGE", page, urllib.request.urlopen(f"{context.uiWebUrl}/{page}").read().decode())
"""


@pytest.fixture
def table(store: StoreServer) -> str:
    """The table on the server."""
    storage = store.new_storage("t")
    folder = golden_table(TABLE)
    for path in folder.rglob("*"):
        if path.is_file():
            storage.put(path.relative_to(folder).as_posix(), path.read_bytes())
    return storage.uri.replace("s3://", "s3a://")


def run(store: StoreServer, table: str, folder: Path, **settings: str) -> tuple[str, Search]:
    """What a session that reads the table says, with all that is searched meanwhile."""
    events, local = folder / "events", folder / "local"
    events.mkdir()
    local.mkdir()
    search = Search(secrets=tuple(KEYS.values()), folders=(events, local))
    store.answer = search.at_request
    given = {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.eventLog.dir": events.as_uri(),
        "spark.local.dir": str(local),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={local}",
        **LAID_OPEN,
        **settings,
    }
    script = folder / "read.py"
    script.write_text(READ, encoding="utf-8")
    words = [word for name, value in given.items() for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [str(Path(sys.executable).parent / "spark-submit"), *words, str(script), table],
        capture_output=True,
        text=True,
        env=os.environ
        | {
            "PYSPARK_PYTHON": sys.executable,
            "OPTIONS": json.dumps(store.options | KEYS),
            "TMPDIR": str(local),
            "PYTHONPATH": str(Path(keys_module.__file__).parents[3]),
        },
        check=False,
        timeout=300,
    )
    shown = done.stdout + done.stderr
    search.read("what it says", shown)
    search.look()
    return shown, search


def test_tasks_have_the_keys_and_no_file_page_log_or_command_line(
    store: StoreServer, table: str, tmp_path: Path
) -> None:
    shown, search = run(store, table, tmp_path)
    assert f"ROWS {len(expected_rows(TABLE))}" in shown, shown[-3000:]
    assert any("Credential=AKEYHUNTER2/" in each for each in store.authorizations)
    assert any("SparkSubmit" in line for line in search.command_lines)
    functions = [name for name in search.files if "/pyspark-" in name or "broadcast" in name]
    assert functions, "no function went through a file"
    assert any("/events/" in name for name in search.files)
    assert "PAGE environment/" in shown
    events = "".join(
        path.read_text(encoding="utf-8")
        for path in (tmp_path / "events").rglob("*")
        if path.is_file()
    )
    assert keys_module.KEYS_PROPERTY in events, "the property is not among the events any more"
    assert not search.found


def test_spark_that_would_show_them_is_refused(
    store: StoreServer, table: str, tmp_path: Path
) -> None:
    shown, search = run(store, table, tmp_path, **{"spark.redaction.regex": "(?i)password"})
    assert "ROWS" not in shown
    assert "spark.redaction.regex is '(?i)password'" in shown
    assert not search.found
