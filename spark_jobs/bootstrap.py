"""Make a Hudi table of a dataset of Parquet or ORC files; ``--help`` lists the flags.

Runs with ``spark-submit`` or plain ``python``, from a checkout and from the installed wheel.
"""

from __future__ import annotations

import sys

from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.spark.job import run_job
from pyhudi.spark.services.bootstrap import run_bootstrap

if __name__ == "__main__":
    sys.exit(run_job(sys.argv[1:], BootstrapRequest, run_bootstrap))
