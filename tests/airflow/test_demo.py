"""The settings that ``make demo`` leaves for a look at Airflow's pages."""

import os
import runpy
from pathlib import Path

import pytest
from airflow.configuration import conf

DEMO = Path(__file__).resolve().parents[2] / "scripts" / "demo.py"


def test_where_every_visitor_is_an_administrator_only_this_machine_is_listened_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = runpy.run_path(str(DEMO))["environment"]()
    for name, value in settings.items():
        if name.startswith("AIRFLOW__"):
            monkeypatch.setitem(os.environ, name, value)
    assert conf.getboolean("core", "simple_auth_manager_all_admins")
    assert conf.get("api", "host") == "127.0.0.1"
