"""Processes that write one table on versitygw at once, with a proxy that makes faults before it."""

from pathlib import Path

import pytest

from tests.rivals.run import run_on_store
from tests.support.servers.object_stores import S3Server

pytestmark = pytest.mark.interop


def test_writers_on_an_object_store_lose_nothing_and_double_nothing(
    versitygw: S3Server, tmp_path: Path
) -> None:
    """They are killed, and stopped for longer than a lease; a share of requests meets a fault."""
    ran = run_on_store(
        tmp_path,
        versitygw,
        table_type="MERGE_ON_READ",
        writers=4,
        seconds=40.0,
        seed=15,
        kill_every_s=8.0,
        stop_every_s=12.0,
        stops_s=(12.0,),
        fault_chance=0.002,
    )
    assert ran.anomalies == []
    assert ran.befallen.kills
    assert ran.befallen.stops
    assert ran.befallen.faults
    assert ran.checked.reads_compared
    assert ran.checked.leases_compared
