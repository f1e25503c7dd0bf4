"""Task contexts and timelines for tests of the provider, without a database or a scheduler."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.jobs.result import JobResult


@dataclass
class OutletEvent:
    """What a task says about an asset it wrote."""

    extra: dict[str, Any] = field(default_factory=dict)
    added: list[Any] = field(default_factory=list)

    def add(self, asset: Any, extra: dict[str, Any]) -> None:
        """The event of an asset that an alias turned out to be."""
        self.added.append((asset, extra))


def task_context(task: Any, *, try_number: int = 1, cleared: int = 0) -> dict[str, Any]:
    """The context of one try of a task; ``cleared`` tries lie before the task was last cleared."""
    start = datetime(2013, 2, 1, tzinfo=timezone.utc)
    end = datetime(2013, 3, 1, tzinfo=timezone.utc)
    ti = SimpleNamespace(
        dag_id="flights",
        task_id=task.task_id,
        run_id="scheduled__2013-03-01T00:00:00+00:00",
        map_index=-1,
        try_number=try_number,
        max_tries=cleared + (task.retries or 0),
        id="01a1fe2d-cbc0-7369-a7c7-a7ff84304d31",
        xcom_pull=lambda **_: {"instant": "20260102030405678"},
        get_first_reschedule_date=lambda _: None,
    )
    return {
        "ti": ti,
        "task": task,
        "dag_run": SimpleNamespace(
            run_type="scheduled", run_after=end, start_date=end, clear_number=0
        ),
        "logical_date": start,
        "data_interval_start": start,
        "data_interval_end": end,
        "outlet_events": defaultdict(OutletEvent),
    }


def timeline_folder(folder: Path, *names: str) -> str:
    """A table of version 6 that has these files on its timeline and no rows."""
    meta = folder / ".hoodie"
    meta.mkdir(parents=True)
    properties = {
        "hoodie.table.name": "flights",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": "6",
        "hoodie.timeline.layout.version": "1",
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.archivelog.folder": "archived",
    }
    lines = (f"{key}={value}\n" for key, value in properties.items())
    (meta / "hoodie.properties").write_text("".join(lines), encoding="utf-8")
    for name in names:
        (meta / name).write_text("{}", encoding="utf-8")
    return str(folder)


def stamped_commit(
    table: str,
    time: str,
    *partitions: str,
    operation: str = "UPSERT",
    action: str = "commit",
    **stamp: str,
) -> None:
    """Complete an instant that wrote a row to each partition, stamped as our operators stamp."""
    stats = {
        path: (WriteStat(file_id=f"{path}-{time}", partition_path=path, num_inserts=1),)
        for path in partitions
    }
    said = CommitMetadata(
        partition_to_write_stats=stats,
        extra_metadata={f"airflow.{name}": value for name, value in stamp.items()},
        operation_type=operation,
    )
    # Instants appear whole, as those of writers do.
    beside = Path(table, "beside")
    beside.write_bytes(said.to_bytes())
    beside.replace(Path(table, ".hoodie", f"{time}.{action}"))


class Submissions(list[list[str]]):
    """Commands that would have run; each ends with the given result."""

    def __init__(self, result: JobResult) -> None:
        super().__init__()
        self.result = result

    def submit(self, hook: Any, application: str = "", **_: Any) -> None:
        """Note the command, and leave the result where it asks for it."""
        command = hook._build_spark_submit_command(application)
        self.append(command)
        if "--result-path" in command:
            path = Path(command[command.index("--result-path") + 1])
            path.write_text(self.result.to_json(), encoding="utf-8")


def catch_submissions(monkeypatch: pytest.MonkeyPatch, result: JobResult) -> Submissions:
    """Run nothing from now on; note what would have run. No machine lacks Java, no source rows."""
    # Airflow makes its home when it is imported, which not every user of this module wants.
    from airflow_provider_pyhudi.operators import upsert
    from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook

    caught = Submissions(result)
    monkeypatch.setattr(PyhudiSparkSubmitHook, "check_machine", lambda _: None)
    monkeypatch.setattr(PyhudiSparkSubmitHook, "check_connectors", lambda *_: None)
    monkeypatch.setattr(upsert, "check_source", lambda *_, **__: None)
    monkeypatch.setattr(PyhudiSparkSubmitHook, "submit", lambda *a, **k: caught.submit(*a, **k))
    return caught
