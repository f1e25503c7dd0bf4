"""The job scripts and the engine, found in a checkout or in the installed wheel."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from importlib.util import find_spec
from pathlib import Path

from airflow_provider_pyhudi.exceptions import PyhudiSetupError

# A fixed time in every entry, so that the same code makes the same zip.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def job_script(name: str) -> str:
    """The path of a job script, given its name without ``.py``.

    Raises:
        PyhudiSetupError: it lies neither in the wheel nor in the checkout.
    """
    package = Path(__file__).parent
    for folder in (package / "spark_jobs", package.parent / "spark_jobs"):
        script = folder / f"{name}.py"
        if script.is_file():
            return str(script)
    raise PyhudiSetupError(
        f"the job script {name}.py is not beside {package}; spark-submit needs it as a file, so "
        "install airflow-provider-pyhudi as files and not as a zip"
    )


def engine_zip(folder: str) -> str:
    """Write the package ``pyhudi`` as a zip for ``--py-files`` and answer with its path.

    Guarantees: the name follows from the content, so a job keeps the code it was submitted with.
    Not: pyarrow, numpy and fastavro, which have compiled parts and must be on the cluster.
    """
    spec = find_spec("pyhudi")
    if spec is None or not spec.submodule_search_locations:
        raise PyhudiSetupError("the package pyhudi is not installed beside this provider")
    root = Path(next(iter(spec.submodule_search_locations)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.suffix in (".py", ".avsc", ".tsv"):
                entry = zipfile.ZipInfo(f"pyhudi/{path.relative_to(root).as_posix()}", _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    content = buffer.getvalue()
    target = os.path.join(folder, f"pyhudi-{hashlib.sha256(content).hexdigest()[:16]}.zip")
    Path(target).write_bytes(content)
    return target
