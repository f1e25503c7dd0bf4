"""Roll back the latest write of a table, or one that did not complete; ``--help`` lists the flags.

Runs with ``spark-submit`` or plain ``python``, from a checkout and from the installed wheel.
"""

from __future__ import annotations

import sys

from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.spark.job import run_job
from pyhudi.spark.services.undo import run_rollback

if __name__ == "__main__":
    sys.exit(run_job(sys.argv[1:], RollbackRequest, run_rollback))
