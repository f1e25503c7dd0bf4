"""Create, delete or list the savepoints of a table; ``--help`` lists the flags.

Runs with ``spark-submit`` or plain ``python``, from a checkout and from the installed wheel.
"""

from __future__ import annotations

import sys

from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.spark.job import run_job
from pyhudi.spark.services.undo import run_savepoint

if __name__ == "__main__":
    sys.exit(run_job(sys.argv[1:], SavepointRequest, run_savepoint))
