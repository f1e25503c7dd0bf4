"""Delete the files of a table that no retained instant needs; ``--help`` lists the flags.

Runs with ``spark-submit`` or plain ``python``, from a checkout and from the installed wheel.
"""

from __future__ import annotations

import sys

from pyhudi.jobs.clean import CleanRequest
from pyhudi.spark.early import LateFunction
from pyhudi.spark.job import run_job

if __name__ == "__main__":
    function = LateFunction("pyhudi.spark.services.clean", "run_clean")
    sys.exit(run_job(sys.argv[1:], CleanRequest, function))
