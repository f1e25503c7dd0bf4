"""A catch-up, a backfill of what is missing and one of all runs, in that order."""

from datetime import datetime, timezone
from pathlib import Path

from tests.airflow_live.server import LiveAirflow
from tests.airflow_live.tables import check_by_hudi, commits_of, rows_of
from tests.interop.hudi import RealHudi

DAG = "live_days"
DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")
FIRST, LAST = (datetime(2026, 1, day, tzinfo=timezone.utc) for day in (1, 3))
PATIENCE_S = 1800
SECOND = datetime(2026, 1, 2, tzinfo=timezone.utc)


def own_rows(editions: dict[str, str]) -> list[tuple[str, str]]:
    """The rows that a day has alone, by the edition of each day."""
    return [(f"{day}-{n}", f"{day} {editions[day]}") for day in DAYS for n in range(4)]


def test_each_run_commits_once_and_no_order_of_days_lets_old_data_beat_newer(
    airflow: LiveAirflow, hudi: RealHudi | None
) -> None:
    upserted, inserted = airflow.lake / "upserted", airflow.lake / "inserted"
    rest, editions = airflow.rest, dict.fromkeys(DAYS, "first")
    edition = airflow.lake / "edition"
    edition.write_text("first")
    rest.wait_for_dag(DAG)
    rest.unpause(DAG)
    runs = rest.wait_for_runs(DAG, 3, PATIENCE_S)
    assert [run["state"] for run in runs] == ["success"] * 3, airflow.failures(DAG)
    check(upserted, inserted, editions, executions=3)

    # The scheduled run of the second day is forgotten, and a run of another name fills its place.
    edition.write_text("second")
    editions[DAYS[1]] = "second"
    forgotten = runs[1]["dag_run_id"]
    rest.send("DELETE", f"/dags/{DAG}/dagRuns/{forgotten}")
    rest.backfill(DAG, FIRST, LAST, max_active_runs=2)
    runs = rest.wait_until_idle(DAG, PATIENCE_S)
    assert [run["state"] for run in runs] == ["success"] * 3, airflow.failures(DAG)
    assert runs[1]["dag_run_id"] != forgotten
    check(upserted, inserted, editions, executions=4)

    # All runs of the first two days again, the later one first.
    edition.write_text("third")
    editions |= dict.fromkeys(DAYS[:2], "third")
    rest.backfill(
        DAG, FIRST, SECOND, reprocess_behavior="completed", run_backwards=True, max_active_runs=2
    )
    runs = rest.wait_until_idle(DAG, PATIENCE_S)
    assert {run["state"] for run in runs} == {"success"}, airflow.failures(DAG)
    check(upserted, inserted, editions, executions=6)
    if hudi is not None:
        check_by_hudi(hudi, upserted, ("id", "value"))
        # Every day inserts some keys that others have.
        check_by_hudi(hudi, inserted, ("id", "value"), allow_duplicates=True)


def check(upserted: Path, inserted: Path, editions: dict[str, str], *, executions: int) -> None:
    every = [(f"every-{n}", f"{DAYS[2]} {editions[DAYS[2]]}") for n in range(2)]
    assert rows_of(upserted, "id", "value") == sorted([*own_rows(editions), *every])
    everyday = [(f"every-{n}", f"{day} {editions[day]}") for n in range(2) for day in DAYS]
    assert rows_of(inserted, "id", "value") == sorted([*own_rows(editions), *everyday])
    for table in (upserted, inserted):
        keys = [extra["pyhudi.idempotency.key"] for extra in commits_of(table)]
        assert len(keys) == len(set(keys)) == executions
