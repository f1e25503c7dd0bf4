"""Trigger, Backfill in Airflow's own pages, and the page of tables that shows which run wrote what.

Two months unless PYHUDI_MONTHS says how many: twelve of them are the year, ``make backfill``.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import pyhudi
from pyhudi.table.table import Table
from tests.airflow_live.browser import Browser, Window
from tests.airflow_live.processes import wait_until
from tests.airflow_live.server import LiveAirflow
from tests.airflow_live.tables import commits_by_hudi, rows_and_keys_by_hudi
from tests.interop.hudi import RealHudi

MONTHS = int(os.environ.get("PYHUDI_MONTHS", "2"))
FLIGHTS = (27_004, 24_951, 28_834, 28_330, 28_796, 28_243)
FLIGHTS += (29_425, 29_327, 27_574, 28_889, 27_268, 28_135)
"""How many flights left New York in each month of 2013."""
DAG = "flights"
SECONDS = 500 * MONTHS


@pytest.fixture
def window(browser: Browser, airflow: LiveAirflow) -> Iterator[Window]:
    airflow.rest.wait_for_dag(DAG)
    body = {"connection_id": "flights_lake", "conn_type": "pyhudi", "host": str(airflow.lake)}
    airflow.lake.mkdir(exist_ok=True)
    airflow.rest.send("POST", "/connections", body)
    with browser.window(token=airflow.rest.token) as found:
        yield found


def test_missing_runs_and_then_all_runs_leave_the_right_rows_and_say_who_wrote_them(
    window: Window, airflow: LiveAirflow, hudi: RealHudi | None
) -> None:
    run_backfill(window, "Missing Runs")
    runs = ended(airflow, MONTHS)
    path = airflow.lake / DAG
    assert sorted(run["state"] for run in runs) == ["success"] * MONTHS
    assert rows(path) == sum(FLIGHTS[:MONTHS])
    assert commits_by_run(path) == {run["dag_run_id"]: 1 for run in runs}

    airflow.rest.wait_for_end_of_backfills(DAG)
    run_backfill(window, "All Runs")
    again = ended(airflow, MONTHS, clears=1)
    assert {run["dag_run_id"] for run in again} == {run["dag_run_id"] for run in runs}
    # Each run was executed twice and wrote twice, and no row is there twice.
    assert commits_by_run(path) == {run["dag_run_id"]: 2 for run in runs}
    assert rows(path) == sum(FLIGHTS[:MONTHS])

    shows_which_run_wrote_what(window, [run["dag_run_id"] for run in runs])
    if hudi is not None:
        assert rows_and_keys_by_hudi(hudi, path) == (sum(FLIGHTS[:MONTHS]),) * 2
        assert commits_by_hudi(hudi, path) == 2 * MONTHS


def shows_which_run_wrote_what(window: Window, runs: list[str]) -> None:
    """From the table to the run that wrote an instant, and from the run back to its instants."""
    page = window.page
    window.go("/pyhudi/table?conn=flights_lake&name=flights")
    window.keep("flights")
    for run in runs:
        assert page.locator("table.instants").get_by_text(run).count() == 2, run
    page.locator("table.instants a.run").first.click()
    page.wait_for_url(f"**/dags/{DAG}/runs/**/tasks/upsert**")
    shown = next(run for run in runs if run in page.url.replace("%3A", ":").replace("%2B", "+"))
    window.go(f"/dags/{DAG}/runs/{shown}")
    page.get_by_role("link", name="Hudi tables").click()
    frame = page.frame_locator("iframe")
    frame.get_by_text("2 instants").wait_for()
    window.keep("flights-run")


def run_backfill(window: Window, which: str) -> None:
    """Trigger, Backfill, from January on, in the browser."""
    page = window.page
    window.go(f"/dags/{DAG}")
    page.get_by_role("button", name="Trigger").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Backfill", exact=True).first.click()
    for date in ("2013/01/01", f"2013/{MONTHS:02}/01"):
        # The one that was filled in no longer says this.
        dialog.get_by_text("Select date and time").first.click()
        page.get_by_placeholder("YYYY/MM/DD").fill(date)
        page.get_by_placeholder("HH:mm").fill("00:00")
        page.keyboard.press("Escape")
    dialog.get_by_text(which, exact=True).click()
    window.keep(f"backfill-{which.partition(' ')[0].lower()}")
    dialog.get_by_role("button", name="Run Backfill").click()
    dialog.wait_for(state="hidden")
    # Airflow's page asks for news all the time, which costs what the runs need.
    page.goto("about:blank")


def ended(airflow: LiveAirflow, count: int, clears: int = 0) -> list[dict[str, object]]:
    """The runs of the DAG when all of them have ended, and were cleared so often."""

    def runs() -> list[dict[str, object]]:
        found = airflow.rest.wait_for_runs(DAG, count, SECONDS)
        return [run for run in found if clears_of(airflow, str(run["dag_run_id"])) >= clears]

    wait_until(lambda: len(runs()) == count, seconds=SECONDS, what=f"{count} runs of {DAG}")
    return runs()


def clears_of(airflow: LiveAirflow, run_id: str) -> int:
    """How often the task that writes was cleared."""
    return int(airflow.rest.task(DAG, run_id, "upsert")["try_number"]) - 1


def rows(path: Path) -> int:
    return int(pyhudi.read_table(path, columns=["flight"]).num_rows)


def commits_by_run(path: Path) -> dict[str, int]:
    table: Table = pyhudi.open_table(path)
    commits = table.timeline.write_instants().completed()
    extra = [table.active.read_commit(each).extra_metadata for each in commits]
    return dict(Counter(str(each["airflow.run_id"]) for each in extra))
