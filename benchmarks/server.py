"""An S3 server on this machine, for tables on an object store beside those on its disk.

It is versitygw, which `make servers` builds; it keeps its buckets as folders, on the disk where the
other tables lie, and takes its processor time from the same cores as the engines.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import memory
from engines import ROOT, home
from steps import Workload

BUCKET = "bench"
COMMAND = "versitygw"


@dataclass(frozen=True)
class Server:
    """The running server: where its buckets lie, how it is reached, its process."""

    folder: Path
    options: dict[str, str]
    process: int

    def holding(self, work: Workload) -> Workload:
        """The same work, with its table on the server."""
        name = Path(work.table).name
        return replace(
            work,
            table=f"s3://{BUCKET}/{name}",
            files=str(self.folder / BUCKET / name),
            spill=f"{work.table}-s3",
            server=self.process,
            storage_options=self.options,
        )


@contextmanager
def standing() -> Iterator[Server]:
    """The server with an empty bucket, for as long as the block runs."""
    sys.path.append(str(ROOT))
    try:
        from tests.support.servers import home as servers  # noqa: PLC0415 - of the repository
        from tests.support.servers import object_stores  # noqa: PLC0415
    except ImportError as error:
        raise SystemExit(f"{error}: a server needs the extra test, pip install '.[test]'") from None
    if not (servers.home() / servers.VERSITYGW).exists():
        raise SystemExit("versitygw is not built: run `make servers`")
    folder = home() / "out" / "server"
    shutil.rmtree(folder, ignore_errors=True)
    with object_stores.versitygw(folder) as found:
        found.make_bucket(BUCKET)
        commands = memory.commands_below()
        process = next(pid for pid, command in commands.items() if command == COMMAND)
        try:
            yield Server(folder / "buckets", found.options, process)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
