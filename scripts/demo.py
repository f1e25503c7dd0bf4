"""Run the DAG of ``dags/flights.py`` for the twelve months of 2013: what ``make demo`` does.

Each month is a DAG run with the month as its data interval, in this process and on SQLite, so no
scheduler and no port is needed. Everything lies below ``.demo``.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / ".demo"
TABLE = DEMO / "lake" / "flights"
MONTHS = range(1, 13)
BEGUN = re.compile(r"\[DAG TEST\] starting task_id=(\w+)")
ENDED = "[DAG TEST] end task"
NOT_THE_TASKS = ("[DAG TEST]", "[airflow.api_fastapi.")
LOGGED = re.compile(
    r"(?P<timestamp>\d{4}-\S+Z) \[(?P<level>\w+) *\] "
    r"(?P<event>.*?)(?: +\[(?P<logger>[a-z][\w.]*)\](?: \w+=.*)?)?"
)
"""A line of Airflow's log as it stands in a terminal."""


def environment() -> dict[str, str]:
    """Settings that keep Airflow, Spark and Java inside ``.demo``, whatever HOME is."""
    temporary = str(DEMO / "tmp")
    return {
        "AIRFLOW_HOME": str(DEMO / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        # Every visitor is an administrator, so nobody else on the network may be one.
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
        "FLIGHTS_LAKE": str(DEMO / "lake"),
        "HOME": str(DEMO / "home"),
        "TMPDIR": temporary,
        "SPARK_LOCAL_DIRS": temporary,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Java keeps its counters below /tmp whatever TMPDIR says.
        "JDK_JAVA_OPTIONS": f"-XX:-UsePerfData -Djava.io.tmpdir={temporary}",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }


def prepare() -> None:
    """Make the folders, set the environment and bring Airflow's database up to date."""
    settings = environment()
    os.environ.update(settings)
    for folder in ("airflow", "home", "lake", "logs", "tmp"):
        (DEMO / folder).mkdir(parents=True, exist_ok=True)
    shell = "\n".join(f"export {name}='{value}'" for name, value in settings.items())
    (DEMO / "env").write_text(f"{shell}\n", encoding="utf-8")
    mark = DEMO / "airflow" / "migrated"
    version = metadata.version("apache-airflow-core")
    if mark.exists() and mark.read_text(encoding="utf-8") == version:
        return
    say("Preparing Airflow's database (once) ...")
    with open(DEMO / "logs" / "migrate.log", "w", encoding="utf-8") as log:
        airflow = [str(Path(sys.executable).parent / "airflow"), "db", "migrate"]
        if subprocess.run(airflow, stdout=log, stderr=log, check=False).returncode:
            sys.exit(f"airflow db migrate failed; see {log.name}")
    mark.write_text(version, encoding="utf-8")


def run_months() -> tuple[str, list[str]]:
    """Run the DAG for each month, one line each: the last report, and the instants by month."""
    report, instants = "", []
    dag = load_dag()
    for month in MONTHS:
        started = time.perf_counter()
        log = DEMO / "logs" / f"2013-{month:02}.log"
        say(f"2013-{month:02}  ", end="")
        with quiet(log):
            run = run_month(dag, month)
            results = returned(run)
            begin_with_first_task(run)
        keep_logs(run, log)
        seconds = time.perf_counter() - started
        if str(run.state) != "success":
            say("failed")
            fail(log)
        say(line(results["upsert"], seconds))
        report = results["report"]
        instants.append(results["upsert"]["instant"])
    return report, instants


def load_dag() -> Any:
    """The DAG, parsed as Airflow's own processor parses it."""
    with quiet(DEMO / "logs" / "parse.log"):
        from airflow.dag_processing.dagbag import DagBag

        bag = DagBag(dag_folder=str(ROOT / "dags" / "flights.py"))
    if bag.import_errors:
        sys.exit("\n".join(bag.import_errors.values()))
    dag = bag.dags["flights"]
    # The date of a run made by hand is the end of its interval, which for December is past the end.
    for part in (dag, *dag.tasks):
        part.end_date = None
    return dag


def run_month(dag: Any, month: int) -> Any:
    """One DAG run whose data interval is the month."""
    # A run made by hand gets the interval that ended at its date: the first of the next month.
    end = datetime(2013 + month // 12, month % 12 + 1, 1, tzinfo=timezone.utc)
    return dag.test(run_after=end, logical_date=end)


def begin_with_first_task(run: Any) -> None:
    """Note that a run began with its first task; Airflow lets a test begin at its logical date."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    with create_session() as session:
        stored = session.get(DagRun, run.id)
        starts = [task.start_date for task in stored.task_instances if task.start_date]
        stored.start_date = stored.queued_at = min(starts, default=stored.end_date)


def keep_logs(run: Any, log: Path) -> None:
    """Put what each task of a run logged where Airflow's pages look for it."""
    tries: dict[str, list[str]] = {}
    for task, lines in task_logs(log.read_text(encoding="utf-8", errors="replace")):
        tries.setdefault(task, []).append("".join(f"{line}\n" for line in lines))
    folder = DEMO / "airflow" / "logs" / f"dag_id={run.dag_id}" / f"run_id={run.run_id}"
    for task in run.get_task_instances():
        texts = tries.get(task.task_id, [])
        for number, text in enumerate(texts, task.try_number - len(texts) + 1):
            path = folder / f"task_id={task.task_id}" / f"attempt={number}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def task_logs(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each try of a task in the log of a run, as lines of JSON like those of Airflow's workers."""
    task, lines = "", list[str]()
    for line in text.splitlines():
        if begun := BEGUN.search(line):
            task, lines = begun[1], []
        elif task and ENDED in line:
            yield task, lines
            task = ""
        elif task and not any(word in line for word in NOT_THE_TASKS):
            parts = LOGGED.fullmatch(line)
            lines.append(json.dumps(parts.groupdict("") if parts else {"event": line}))


def returned(run: Any) -> dict[str, Any]:
    """What each task of a run returned."""
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        rows = session.scalars(
            XComModel.get_many(run_id=run.run_id, dag_ids=[run.dag_id], key="return_value")
        ).all()
        return {row.task_id: XComModel.deserialize_value(row) for row in rows}


def line(result: dict[str, Any], seconds: float) -> str:
    """One month in one line."""
    records = result["records"]
    counts = f"{records.get('inserted', 0):>7,} inserted {records.get('updated', 0):>4,} updated"
    return (
        f"{result['operation']:<11}  {counts}  {result['status']:<17}  "
        f"instant {result['instant']}  {seconds:5.1f} s"
    )


def fail(log: Path) -> None:
    """Show the end of a log and leave."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    reasons = [text for text in lines if "PYHUDI_FAILED" in text or "Error: " in text]
    say("\n".join(reasons[-3:] or lines[-20:]))
    say(f"The whole log: {log}")
    sys.exit(1)


@contextlib.contextmanager
def quiet(log: Path) -> Iterator[None]:
    """Send everything that Airflow, Spark and Java print to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with open(log, "w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
            os.close(kept[0])
            os.close(kept[1])


def say(text: str, *, end: str = "\n") -> None:
    """Print at once, so that progress is seen when standard output is a pipe."""
    print(text, end=end, flush=True)


def main() -> None:
    """The demo from beginning to end."""
    started = time.perf_counter()
    prepare()
    say(
        "Airflow runs the DAG dags/flights.py, one run a month, each with a Spark job of its own "
        "unless the month is in the table already."
    )
    report, instants = run_months()
    say(f"\n{report}\n")
    table = TABLE.relative_to(ROOT)
    say(f"The table is in {table} ({time.perf_counter() - started:.0f} s in all). Try next:")
    say("  1. The table as it was after March:")
    say(
        f'     .venv/bin/python -c "import pyhudi; '
        f"print(pyhudi.read_table('{table}', as_of='{instants[2]}').num_rows)\""
    )
    say("  2. The runs in Airflow's pages, at http://127.0.0.1:8080, for this machine alone:")
    say("     . .demo/env && .venv/bin/airflow standalone")
    say("  3. A DAG of your own: copy dags/flights.py and change source, keys and path.")


if __name__ == "__main__":
    main()
