"""Real Hudi's lock providers in a JVM of their own, without Spark: it starts in a second."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import pytest

from tests.interop import hudi_home

JAVA = Path(__file__).with_name("java")
WITH_STORAGE_LOCKS = ("1.1.1", "1.2.0")
"""The bundles whose StorageBasedLockProvider grants leases that last."""


class HudiLockError(Exception):
    """A provider raised; the text has what."""


class HudiLocks:
    """The providers of one bundle, each by a name; a context manager."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._scratch = Path(tempfile.mkdtemp(prefix=f"hudi-locks-{version}-"))

    def __enter__(self) -> HudiLocks:
        jars = next((hudi_home.home() / "venv" / "lib").glob("python*")) / "site-packages/pyspark"
        found = f"{hudi_home.bundle_jar(self.version)}{os.pathsep}{jars / 'jars'}/*"
        compiler = shutil.which("javac")
        if compiler is None:
            if os.environ.get("CI") == "true":
                pytest.fail("javac is not on PATH: install a JDK 17, not a JRE alone")
            pytest.skip("javac is not on PATH: install a JDK 17, not a JRE alone")
        sources = [JAVA / "LockServer.java"]
        if self.version in WITH_STORAGE_LOCKS:
            sources.append(JAVA / "S3StorageLockClient.java")
        command = [compiler, "-d", self._scratch, "-cp", found, *sources]
        subprocess.run([str(word) for word in command], check=True)
        with (self._scratch / "log").open("w") as log:
            self._process = subprocess.Popen(
                [hudi_home.java() or "java", "-cp", f"{self._scratch}:{found}", "LockServer"],
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def make(self, name: str, kind: str, **options: object) -> None:
        """Make a provider of a class; its options have their dots as two underscores."""
        pairs = [f"{key.replace('__', '.')}={value}" for key, value in options.items()]
        self._ask("make", name, kind, *pairs)

    def lock(self, name: str, milliseconds: int = 1000) -> bool:
        """Whether it got the lock."""
        return self._ask("lock", name, str(milliseconds)) == "true"

    def unlock(self, name: str) -> None:
        self._ask("unlock", name)

    def close(self, name: str) -> None:
        """Let the provider go, as LockManager does after an unlock and after all tries failed."""
        self._ask("close", name)

    def owner(self, name: str) -> str:
        """What the provider has read of who holds the lock."""
        return self._ask("owner", name)

    def _ask(self, *words: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        kind, _, answer = line.rstrip("\n").partition("\t")
        if kind != "done":
            raise HudiLockError(f"{words}: {line}{(self._scratch / 'log').read_text()[-3000:]}")
        return answer
