"""Real Hudi and this engine with the same methods: whatever a step of a history asks for."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import pytest
from pyspark.sql import SparkSession

import pyhudi.spark
from pyhudi.storage.arrowfs import ArrowStorage
from tests.interop import ours
from tests.interop.differential_steps import Step
from tests.interop.hudi import HudiError, RealHudi
from tests.interop.rows import Row
from tests.support.faulty import Killed, dead_pid, heartbeat_of

Options = Mapping[str, str]


class Engine(Protocol):
    """Who writes and serves a table."""

    def write(self, table: Path, step: Step, options: Options) -> None:
        """Write rows."""

    def bootstrap(self, table: Path, source: Path, options: Options) -> None:
        """Make the table of the dataset in a folder."""

    def die(self, table: Path, step: Step, options: Options) -> None:
        """Write rows, and die before the commit."""

    def serve(self, name: str, table: Path, options: Options) -> None:
        """Clean, archive or log compact."""

    def undo(self, name: str, table: Path, instant: str) -> None:
        """Make or delete a savepoint, restore it, or roll an instant back."""


class HudiAtWork:
    """Real Hudi of one version."""

    def __init__(self, hudi: RealHudi) -> None:
        self.hudi = hudi

    def write(self, table: Path, step: Step, options: Options) -> None:
        """Write rows, and make the table if need be."""
        mode = "append" if table.exists() else "overwrite"
        self.hudi.write(table, step.rows, step.operation, options=dict(options), mode=mode)

    def bootstrap(self, table: Path, source: Path, options: Options) -> None:
        """Make the table of the dataset in a folder."""
        self.hudi.bootstrap(table, source, dict(options))

    def die(self, table: Path, step: Step, options: Options) -> None:
        """Write rows, and fail where what looks at them before the commit should begin.

        It reads the base files that were written first, which fails as well where there is none.
        """
        missing = {"hoodie.precommit.validators": "no.such.Validator"}
        with pytest.raises(HudiError, match=r"no\.such\.Validator|UNABLE_TO_INFER_SCHEMA"):
            self.write(table, step, {**options, **missing})

    def serve(self, name: str, table: Path, options: Options) -> None:
        """Clean, archive or log compact what is due."""
        if name != "log_compact":
            self.hudi.ask(name, table=str(table), options=options)
            return
        blocks = int(options["hoodie.log.compaction.blocks.threshold"])
        planned = self.hudi.ask("plan_log_compaction", table=str(table), blocks=blocks)
        if planned is not None:
            self.hudi.ask("run_log_compaction", table=str(table), instant=planned)

    def undo(self, name: str, table: Path, instant: str) -> None:
        """Make or delete a savepoint, restore it, or roll an instant back."""
        self.hudi.ask(name, table=str(table), instant=instant)

    def read(self, table: Path, **query: str | None) -> list[Row]:
        """Rows with their meta columns; all, or what changed after ``begin`` and up to ``end``."""
        return self.hudi.read(table, **query)

    def failures(self, table: Path) -> list[str]:
        """What is wrong in the files and commits of a table."""
        return self.hudi.failures(table, exercise=False, allow_duplicates=True)


class OursAtWork:
    """This engine, on Spark."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def write(self, table: Path, step: Step, options: Options) -> None:
        """Write rows, and make the table if need be."""
        ours.write(self.spark, table, step.rows, step.operation, options)

    def bootstrap(self, table: Path, source: Path, options: Options) -> None:
        """Make the table of the dataset in a folder."""
        assert pyhudi.spark.bootstrap(self.spark, source, table, options=options).instant

    def die(self, table: Path, step: Step, options: Options) -> None:
        """Write rows; nothing that a dead process would do reaches the table from the commit on."""
        with _dying(str(table)), pytest.raises(Killed):
            self.write(table, step, options)
        for heartbeat in (table / ".hoodie" / ".heartbeat").iterdir():
            heartbeat.write_bytes(heartbeat_of(dead_pid()))

    def serve(self, name: str, table: Path, options: Options) -> None:
        """Clean, archive or log compact what is due."""
        if name == "log_compact":
            kind = "log_compaction"
            pyhudi.spark.compact(self.spark, table, kind=kind, options=options)
            return
        getattr(pyhudi.spark, name)(self.spark, table, options=options)

    def undo(self, name: str, table: Path, instant: str) -> None:
        """Make or delete a savepoint, restore it, or roll an instant back."""
        if name == "delete_savepoint":
            done: Any = pyhudi.spark.savepoint(self.spark, table, instant, mode="delete")
        else:
            done = getattr(pyhudi.spark, name)(self.spark, table, instant)
        assert done.status in ("committed", "nothing_to_do"), done


@contextmanager
def _dying(table: str) -> Iterator[None]:
    """Let whoever works on a table in this process be gone when it would complete an instant."""
    create, place = ArrowStorage.create, ArrowStorage._place
    gone: list[str] = []

    def last_create(storage: ArrowStorage, path: str, data: bytes) -> None:
        if table in storage.uri and path.endswith("commit"):
            gone.append(path)
        create(storage, path, data)

    def no_place(storage: ArrowStorage, path: str) -> str:
        if gone and table in storage.uri:
            raise Killed
        return place(storage, path)

    with (
        patch.object(ArrowStorage, "create", last_create),
        patch.object(ArrowStorage, "_place", no_place),
    ):
        yield
