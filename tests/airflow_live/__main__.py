"""Airflow to click through, on the demo's table: what ``make airflow`` does.

Everything but the table is in a temporary folder and gone when Ctrl+C ends it.
"""

from __future__ import annotations

import signal
import socket
import sys
import threading

from tests.airflow_live.server import ADMIN, ROOT, VIEWER, LiveAirflow, running, why_not

LAKE = ROOT / ".demo" / "lake"
TABLE = LAKE / "flights"
CONNECTION = "pyhudi_default"
PORT = 8080


def main() -> None:
    """Start it, say where it is, and wait to be told to stop."""
    missing = why_not()
    if missing:
        sys.exit(missing)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    LAKE.mkdir(parents=True, exist_ok=True)
    airflow = LiveAirflow(
        dags=[ROOT / "dags"], settings={"FLIGHTS_LAKE": str(LAKE)}, port=_port(), parallelism=4
    )
    say("Starting PostgreSQL and Airflow; this takes half a minute ...")
    with running(airflow):
        _connect(airflow)
        say(_where(airflow))
        stopped.wait()
        say("Stopping ...")
    say("Airflow has ended and nothing of it is left.")


def _port() -> int | None:
    """The port that people know Airflow by, where nobody else has it."""
    with socket.socket() as tried:
        return PORT if tried.connect_ex(("127.0.0.1", PORT)) else None


def _connect(airflow: LiveAirflow) -> None:
    body = {"connection_id": CONNECTION, "conn_type": "pyhudi", "host": str(LAKE), "extra": "{}"}
    airflow.rest.send("POST", "/connections", body)
    airflow.rest.wait_for_dag("flights")


def _where(airflow: LiveAirflow) -> str:
    table = f"Its table is {TABLE.relative_to(ROOT)}"
    is_there = (TABLE / ".hoodie").is_dir()
    state = "as make demo left it" if is_there else "which the first run makes"
    return (
        f"\n  {airflow.url}\n\n"
        f"  {ADMIN} / {airflow.passwords[ADMIN]}  who may do everything\n"
        f"  {VIEWER} / {airflow.passwords[VIEWER]}  who may look\n\n"
        f"{table}, {state}; the connection {CONNECTION} knows its folder. Try:\n"
        "  DAGs, flights, Trigger, Backfill: from 2013-01-01 to 2013-12-01, then Run.\n"
        f"Logs are below {airflow.logs}. Ctrl+C stops everything."
    )


def say(text: str) -> None:
    """Print at once, a pipe included."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
