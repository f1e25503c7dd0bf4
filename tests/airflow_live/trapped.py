"""The job script ``upsert.py`` with traps at its storage calls; an operator takes it instead."""

import os
import runpy
import sys
from pathlib import Path

from tests.support import traps

if __name__ == "__main__":
    folder = Path(os.environ[traps.FOLDER])
    folder.mkdir(parents=True, exist_ok=True)
    traps.install()
    traps.is_driver(folder)
    script = Path(__file__).resolve().parents[2] / "spark_jobs" / "upsert.py"
    sys.argv[0] = str(script)
    runpy.run_path(str(script), run_name="__main__")
