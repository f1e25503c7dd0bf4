"""Move old instants of a table from its timeline to its archive; ``--help`` lists the flags.

Runs with ``spark-submit`` or plain ``python``, from a checkout and from the installed wheel.
"""

from __future__ import annotations

import sys

from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.spark.job import run_job
from pyhudi.spark.services.archive import run_archive

if __name__ == "__main__":
    sys.exit(run_job(sys.argv[1:], ArchiveRequest, run_archive))
