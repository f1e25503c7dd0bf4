"""HDFS in one process of Java: a name node and a data node."""

import contextlib
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers import home
from tests.support.servers.process import DidNotStartError, end_of, running

SOURCE = Path(__file__).with_name("MiniDfs.java")
LONGEST_START_S = 120.0


@dataclass(frozen=True)
class HdfsServer:
    """A cluster, by the URI of its root without a slash at the end."""

    uri: str

    @property
    def settings(self) -> str:
        """What ``core-site.xml`` says where it is the file system of paths without a scheme."""
        return (
            "<configuration><property><name>fs.defaultFS</name>"
            f"<value>{self.uri}</value></property></configuration>"
        )


@contextlib.contextmanager
def mini_dfs(**settings: str) -> Iterator[HdfsServer]:
    """A MiniDFSCluster; ``settings`` are Hadoop's, with ``_`` for dots. It takes 15 s to start."""
    java, jars = home.on_path("java"), home.built(home.HADOOP).parent
    if shutil.which("javac") is None:
        home.absent("javac is not on PATH: install a JDK 17, not a JRE alone")
    given = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    with tempfile.TemporaryDirectory(prefix="pyhudi-dfs-") as folder:
        command = [java, "-Xmx400m", "-cp", f"{jars}/*", str(SOURCE), folder, *given]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with running(command, **pipes) as (process, said):
            yield HdfsServer(_uri_of(process, said))


def _uri_of(process: "subprocess.Popen[bytes]", said: Path) -> str:
    until = time.monotonic() + LONGEST_START_S
    assert process.stdout is not None
    while (left := until - time.monotonic()) > 0:
        if not select.select([process.stdout], [], [], left)[0]:
            break
        line = process.stdout.readline().decode()
        if line.startswith("READY "):
            return line.split()[1].rstrip("/")
        if not line:
            raise DidNotStartError(f"the MiniDFSCluster ended: {end_of(said)}")
    raise DidNotStartError(f"no MiniDFSCluster after {LONGEST_START_S:.0f} s: {end_of(said)}")
