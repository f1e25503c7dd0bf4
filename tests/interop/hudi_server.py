"""Real Hudi as a process that answers: one JSON request a line on stdin, one JSON answer a line.

Run with the oracle's Python from the root of the clone:
    python -m tests.interop.hudi_server 1.1.1
A request is {"do": NAME, "with": {...}}; an answer {"result": ...} or {"error": ..., "trace": ...}.
Spark starts once, so a hundred questions cost one start. `tests/interop/hudi.py` is the client.
"""

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

from tests.interop import hudi_tables as tables
from tests.interop import hudi_writes as writes
from tests.interop.hudi_session import hudi_session
from tests.interop.hudi_tables import Hudi
from tests.interop.hudi_validation import validate

Command = Callable[..., Any]


def read(hudi: Hudi, table: str, output: str, **query: Any) -> int:
    """Save the rows of a query as Parquet in `output`."""
    return tables.save(tables.frame(hudi, table, **query), output)


def write(
    hudi: Hudi,
    table: str,
    source: str,
    operation: str,
    options: dict[str, str] | None = None,
    mode: str = "append",
) -> str:
    """Write the rows of a Parquet file or folder; answer the newest instant."""
    rows = hudi.spark.read.parquet(source)
    writes.write(hudi, table, rows, operation, options=options, mode=mode)
    return max(e["requested"] for e in tables.timeline(hudi, table) if e["action"] != "clean")


def validate_table(
    hudi: Hudi, table: str, *, exercise: bool = True, allow_duplicates: bool = False
) -> list[dict[str, Any]]:
    """Run every check on a table."""
    with tempfile.TemporaryDirectory(prefix="pyhudi-validate-") as scratch:
        return validate(hudi, table, scratch, exercise=exercise, allow_duplicates=allow_duplicates)


def set_hadoop(hudi: Hudi, name: str, value: str | None) -> None:
    """Set or remove one Hadoop setting, for what Hudi takes from there alone."""
    conf = hudi.spark._jsc.hadoopConfiguration()
    conf.unset(name) if value is None else conf.set(name, value)


def set_spark(hudi: Hudi, name: str, value: str | None) -> None:
    """Set or reset one setting of the Spark session."""
    conf = hudi.spark.conf
    conf.unset(name) if value is None else conf.set(name, value)


COMMANDS: dict[str, Command] = {
    "read": read,
    "write": write,
    "validate": validate_table,
    "bootstrap": writes.bootstrap,
    "clean": writes.clean,
    "archive": writes.archive,
    "archived": tables.archived,
    "plan_clean": writes.plan_clean,
    "change_version": writes.change_version,
    "savepoint": writes.savepoint,
    "delete_savepoint": writes.delete_savepoint,
    "rollback": writes.rollback,
    "restore": writes.restore,
    "plan_compaction": writes.plan_compaction,
    "run_compaction": writes.run_compaction,
    "plan_log_compaction": writes.plan_log_compaction,
    "run_log_compaction": writes.run_log_compaction,
    "timeline": tables.timeline,
    "slices": tables.slices,
    "schema": tables.schema,
    "properties": tables.properties,
    "set_hadoop": set_hadoop,
    "set_spark": set_spark,
}


def answer(hudi: Hudi, line: str) -> dict[str, Any]:
    """Carry out one request."""
    try:
        request = json.loads(line)
        return {"result": COMMANDS[request["do"]](hudi, **request["with"])}
    except Exception as error:  # noqa: BLE001 - the client decides what a failure means
        return {"error": tables.causes(error), "trace": traceback.format_exc()}


def main() -> None:
    """Serve until standard input ends."""
    version = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    with hudi_session(version) as spark:
        hudi = Hudi(spark, version)
        print(json.dumps({"result": f"hudi {version}"}), file=answers, flush=True)
        for line in sys.stdin:
            print(json.dumps(answer(hudi, line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
