"""Print the Debian packages that this machine lacks for a live Airflow; ``setup.sh`` asks."""

from __future__ import annotations

from collections.abc import Iterator

from tests.airflow_live.browser import browser_program
from tests.airflow_live.postgres import server_programs


def missing_packages() -> Iterator[str]:
    """What is neither on PATH nor, of PostgreSQL, installed by pip."""
    if browser_program() is None:
        yield "chromium"
    if server_programs() is None:
        yield "postgresql"


if __name__ == "__main__":
    print(" ".join(missing_packages()))
