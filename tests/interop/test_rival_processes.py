"""Processes of ours and one of real Hudi that write one table at once, under the lock file."""

from pathlib import Path

import pytest

from tests.interop import hudi_home
from tests.rivals.run import local_plan, run_here


@pytest.mark.usefixtures("hudi_home_ready")
@pytest.mark.parametrize(
    ("release", "table_type"),
    list(zip(hudi_home.RIVALS, ("MERGE_ON_READ", "COPY_ON_WRITE", "MERGE_ON_READ"), strict=True)),
)
def test_writers_beside_real_hudi_lose_nothing_and_double_nothing(
    release: str, table_type: str, tmp_path: Path
) -> None:
    """Ours are killed, and stopped for longer than their heartbeats last."""
    ran = run_here(
        local_plan(
            tmp_path,
            table_type=table_type,
            writers=3,
            hudi=release,
            seconds=50.0,
            seed=15,
            kill_every_s=8.0,
            stop_every_s=12.0,
            stops_s=(8.0,),
        )
    )
    assert ran.anomalies == []
    by = [(each.order or "").partition(".")[0] for each in ran.checked.story.completed]
    assert by.count("hudi") > 1
    assert len({*by}) > 3
