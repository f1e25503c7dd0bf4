"""Stands in for spark-submit: carries out a job of ``upsert.py`` in this process, without Java.

``python -m tests.support.job_without_spark …`` takes the command line of spark-submit. The first of
all such processes fails before it writes, where ``PYHUDI_FAIL_ONCE`` names a file to note that in.
"""

import os
import sys
from pathlib import Path

from pyarrow import parquet as pq

from pyhudi.jobs.request import FAILURE_MARKER
from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from tests.support.local_rows import LocalRows


def main(command: list[str]) -> int:
    """Write the rows that the command asks for; its exit code."""
    failed_once = os.environ.get("PYHUDI_FAIL_ONCE")
    if failed_once and not Path(failed_once).exists():
        Path(failed_once).touch()
        print(f"{FAILURE_MARKER}PlatformError: the machine is gone")
        return 4
    script = next(at for at, each in enumerate(command) if each.endswith("/upsert.py"))
    request = UpsertRequest.from_args(command[script + 1 :])
    runner = InProcessRunner()
    assert request.source is not None
    done = write_rows(
        environment_on(runner, request.storage_options),
        LocalRows.of(runner, pq.read_table(request.source)),
        request.base_path,
        request.options(),
        commit_metadata=request.commit_metadata,
    )
    assert request.result_path is not None
    Path(request.result_path).write_text(done.to_json(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
