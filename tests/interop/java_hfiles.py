"""The readers of HFiles that real Hudi has, in a JVM of their own without Spark."""

import hashlib
import os
import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop import hudi_home
from tests.support.hfiles import Entry

JAVA = Path(__file__).with_name("java")
INFO, META = "INDEX_INFO", "bloomFilter"


@dataclass(frozen=True)
class Found:
    """What a reader tells of an HFile.

    ``entry_count`` is what the file says, ``digest`` that of the entries that were read one after
    another; of their keys ``found`` were found with their values when they were sought, and
    ``found_absent`` of as many that are not there.
    """

    entry_count: int
    digest: str
    found: int
    found_absent: int
    info: bytes
    meta: bytes

    @classmethod
    def wanted(cls, entries: Sequence[Entry], info: bytes, meta: bytes) -> "Found":
        """What is to be told of an HFile with these entries."""
        digest = hashlib.sha256()
        for text in (text for entry in entries for text in entry):
            digest.update(struct.pack(">i", len(text)) + text)
        count = len(entries)
        return cls(count, digest.hexdigest(), count, 0, info, meta)


class JavaHFiles:
    """One reader of one bundle, compiled in ``folder``: HBase's or Hudi's own."""

    def __init__(self, version: str, reader: str, folder: Path) -> None:
        compiler = shutil.which("javac")
        if compiler is None:
            message = "javac is not on PATH: install a JDK 17, not a JRE alone"
            if os.environ.get("CI") == "true":
                pytest.fail(message)
            pytest.skip(message)
        spark = next((hudi_home.home() / "venv" / "lib").glob("python*")) / "site-packages/pyspark"
        jars = f"{hudi_home.bundle_jar(version)}{os.pathsep}{spark / 'jars'}/*"
        sources = [JAVA / "HFileLines.java", JAVA / f"{reader}.java"]
        command = [compiler, "-d", folder, "-cp", jars, *sources]
        subprocess.run([str(word) for word in command], check=True)
        classes = f"{folder}{os.pathsep}{jars}"
        self._command = [hudi_home.java() or "java", "-cp", classes, reader, INFO, META]

    def read(self, paths: Iterable[Path]) -> list[Found]:
        """What the reader finds in some HFiles."""
        lines = "".join(f"{path}\n" for path in paths)
        done = subprocess.run(self._command, input=lines, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return [self._found(line.split("\t")) for line in done.stdout.splitlines()]

    @staticmethod
    def _found(words: Sequence[str]) -> Found:
        count, digest, found, absent, info, meta = words
        said = bytes.fromhex(info), bytes.fromhex(meta)
        return Found(int(count), digest, int(found), int(absent), *said)
