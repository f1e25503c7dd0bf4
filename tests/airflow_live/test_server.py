"""The Airflow of these tests is a whole one, and goes without a trace."""

import pytest

from tests.airflow_live.processes import living_in
from tests.airflow_live.rest import RestError
from tests.airflow_live.server import LiveAirflow


def test_it_is_well_and_reads_the_example_dags(airflow: LiveAirflow) -> None:
    assert airflow.rest.is_healthy()
    airflow.rest.wait_for_dag("flights")


def test_whoever_may_only_look_starts_nothing(airflow: LiveAirflow) -> None:
    airflow.rest.wait_for_dag("flights")
    # Other tests may have let it run.
    before = airflow.viewer.get("/dags/flights")["is_paused"]
    with pytest.raises(RestError, match="403"):
        airflow.viewer.send("PATCH", "/dags/flights", {"is_paused": not before})
    with pytest.raises(RestError, match="403"):
        airflow.viewer.trigger("flights")
    assert airflow.rest.get("/dags/flights")["is_paused"] == before


def test_nobody_listens_to_the_network(airflow: LiveAirflow) -> None:
    listeners = {
        found.laddr.ip
        for process in living_in(airflow.home)
        for found in process.net_connections(kind="inet")
        if found.status == "LISTEN"
    }
    assert {address.removeprefix("::ffff:") for address in listeners} == {"127.0.0.1"}
