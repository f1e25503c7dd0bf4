"""``make airflow``: it says where Airflow is and how to come in, and ends when it is told to."""

import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.airflow_live.processes import living_in
from tests.airflow_live.rest import Rest
from tests.airflow_live.server import ADMIN, VIEWER, LiveAirflow
from tests.support.source_tree import ROOT

TOLD = re.compile(r"(http://127\.0\.0\.1:\d+)\n\n" + rf" +{ADMIN} / (\S+) .*\n +{VIEWER} / (\S+) ")
END_S = 90


def test_it_says_how_to_come_in_and_ends_cleanly(airflow: LiveAirflow) -> None:
    """Beside another Airflow, whose ports and folders it leaves alone."""
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "tests.airflow_live"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if "Ctrl+C stops everything" in line:
                break
        found = TOLD.search(said)
        assert found, said
        url, *passwords = found.groups()
        assert url != airflow.url
        for user, password in zip((ADMIN, VIEWER), passwords, strict=True):
            rest = Rest(url, user, password)
            assert rest.is_healthy()
            assert rest.get("/dags/flights")["is_paused"]
        folder = Path(re.search(r"Logs are below (\S+)\. ", said)[1])
        assert living_in(folder.parent)
        process.send_signal(signal.SIGINT)
        rest_of_it = process.stdout.read()
        assert process.wait(END_S) == 0, rest_of_it
    assert "Airflow has ended and nothing of it is left." in rest_of_it
    assert not living_in(folder.parent)
    assert not folder.parent.exists()
    assert airflow.rest.is_healthy()
