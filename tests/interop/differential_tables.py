"""The three tables of a random history: who writes and serves them, and how they compare."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyhudi
from pyhudi.errors import RequestError
from pyhudi.timeline.timeline import Timeline
from tests.interop import ours
from tests.interop.bootstrap_cases import digests
from tests.interop.differential_bootstraps import BOOTSTRAP, lay_down
from tests.interop.differential_engines import Engine, HudiAtWork, OursAtWork
from tests.interop.differential_services import ALONE
from tests.interop.differential_shapes import Shape
from tests.interop.differential_steps import ENGINES, Changes, Service, Step, Turn
from tests.interop.rows import Row, difference, without

VOLATILE = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name")
# Whoever writes or serves a table, by who the step says that it is.
Workers = Mapping[str, Engine]


def stable(rows: list[Row]) -> list[Row]:
    """The rows without what differs between two writes of the same."""
    return without(rows, VOLATILE)


class DrawnTable:
    """One table of a history, and where its writes are on the timeline."""

    def __init__(self, path: Path, shape: Shape, workers: Workers) -> None:
        self.path, self.shape, self.workers = path, shape, workers
        self.source = path.with_name(f"{path.name}-source")
        self._source_files: dict[str, str] = {}
        self.rows: list[list[Row]] = []
        self.written: dict[int, str] = {}
        self.saved: dict[int, str] = {}

    def take(self, number: int, turn: Turn) -> None:
        """Carry out one step."""
        if isinstance(turn, Step):
            self.written[number] = self._write(turn)
        else:
            self._serve(self.workers[turn.by], turn)

    def look(self) -> None:
        """Read the rows after a step."""
        self.rows.append(ours.read(self.path))

    def _write(self, step: Step) -> str:
        """Write rows; the first instant that comes of it."""
        before = max(self._completed(), default="") if self.path.exists() else ""
        if step.operation == BOOTSTRAP:
            lay_down(self.source, self.shape, step.rows)
            self._source_files = digests(self.source)
            self.workers[step.by].bootstrap(self.path, self.source, self._options(step))
        else:
            self.workers[step.by].write(self.path, step, self._options(step))
        return min(time for time in self._completed() if time > before)

    def _options(self, step: Step) -> dict[str, str]:
        is_told = self.shape.is_forgetful and self.path.exists()
        return {**({} if is_told else self.shape.creation), **self.shape.always, **step.options}

    def _completed(self) -> list[str]:
        """The completed instants of writes, those of compactions among them."""
        return [found.time for found in self._writes().completed()]

    def _writes(self) -> Timeline:
        return pyhudi.open_table(self.path).timeline.write_instants()

    def _serve(self, engine: Engine, service: Service) -> None:
        at = service.at
        match service.operation:
            case "rollback_pending":
                assert service.dying is not None
                died = self.workers[service.dying.by]
                died.die(self.path, service.dying, {**self._options(service.dying), **ALONE})
                (pending,) = self._writes().pending()
                engine.undo("rollback", self.path, pending.time)
            case "rollback":
                assert at is not None
                since = [time for time in self._completed() if time >= self.written[at]]
                for instant in sorted(since, reverse=True):
                    engine.undo("rollback", self.path, instant)
                del self.written[at]
            case "savepoint":
                assert at is not None
                self.saved[at] = self._last_instant(at)
                engine.undo("savepoint", self.path, self.saved[at])
            case "delete_savepoint":
                assert at is not None
                engine.undo("delete_savepoint", self.path, self.saved.pop(at))
            case "restore":
                assert at is not None
                engine.undo("restore", self.path, self.saved[at])
                self.written = {step: time for step, time in self.written.items() if step <= at}
            case name:
                engine.serve(name, self.path, service.options)

    @property
    def has_its_source(self) -> bool:
        """Whether the files that the table was bootstrapped from are as they were."""
        return digests(self.source) == self._source_files

    def _last_instant(self, step: int) -> str:
        """The latest instant before the write that came after that of a step."""
        end = min((time for at, time in self.written.items() if at > step), default=None)
        return max(time for time in self._completed() if end is None or time < end)

    def changed(self, changes: Changes, hudi: HudiAtWork | None) -> str:
        """How what changed between two steps is read otherwise than it is, or than ``hudi`` does.

        Of a table with logs Hudi and we merge the changes alone, so that late rows are among them.
        """
        begin = self.written[changes.begin]
        end = None if changes.end is None else self.written[changes.end]
        try:
            found = ours.read(self.path, query_type="incremental", begin=begin, end=end)
        except RequestError as refusal:
            return "" if self._is_trimmed() else f"{refusal}, of a table that has all"
        told = ""
        if not self.shape.keeps_late_rows:
            then = self.rows[-1 if changes.end is None else changes.end]
            wanted = [row for row in then if row["_hoodie_commit_time"] > begin]
            told = difference(stable(found), stable(wanted))
        if hudi is not None and not told and begin in self._completed():
            # See known_differences.NOT_DRAWN.
            by_hudi = hudi.read(self.path, begin=begin, end=end)
            told = difference(*(without(each, self.shape.partitions) for each in (by_hudi, found)))
        return told

    def _is_trimmed(self) -> bool:
        meta = self.path / ".hoodie"
        return any(meta.glob("*.clean")) or any((meta / "archived").glob(".commits*"))


class Tables:
    """What real Hudi writes, what we write, and what both write in turns."""

    def __init__(self, shape: Shape, hudi: HudiAtWork, we: OursAtWork, folder: Path) -> None:
        self.hudi = hudi
        self.theirs = DrawnTable(folder / "theirs", shape, dict.fromkeys(ENGINES, hudi))
        self.mine = DrawnTable(folder / "mine", shape, dict.fromkeys(ENGINES, we))
        self.shared = DrawnTable(folder / "shared", shape, {"hudi": hudi, "ours": we})
        self.wanted: list[list[Row]] = []
        """The rows after each step."""

    def take(self, turn: Turn) -> None:
        """Carry out one step on each table, real Hudi and we at the same time."""
        number = len(self.wanted)
        with ThreadPoolExecutor(1) as aside:
            theirs = aside.submit(self.theirs.take, number, turn)
            self.mine.take(number, turn)
            theirs.result()
        self.shared.take(number, turn)
        for table in (self.theirs, self.mine, self.shared):
            table.look()
        # What a write leaves real Hudi says, and what a service does, the steps before it.
        is_write = isinstance(turn, Step)
        self.wanted.append(stable(self.theirs.rows[-1]) if is_write else self.wanted[turn.leaves])

    def disagreement(self, changes: Changes | None, *, is_hudi_looking: bool) -> str:
        """Which table has other rows than it should after the last step, or is read otherwise."""
        found = {
            "Hudi's own, read by us": self.theirs.rows[-1],
            "ours, read by us": self.mine.rows[-1],
            "the shared table, read by us": self.shared.rows[-1],
        }
        if is_hudi_looking:
            found["Hudi's own, read by Hudi"] = self.hudi.read(self.theirs.path)
            found["ours, read by Hudi"] = self.hudi.read(self.mine.path)
            found["the shared table, read by Hudi"] = self.hudi.read(self.shared.path)
        told = {name: difference(stable(rows), self.wanted[-1]) for name, rows in found.items()}
        if changes is not None:
            told["changes of ours"] = self.mine.changed(changes, None)
            asked = self.hudi if is_hudi_looking else None
            told["changes of the shared table"] = self.shared.changed(changes, asked)
        return "\n".join(f"{name}: {text}" for name, text in told.items() if text)

    def faults(self) -> str:
        """What Hudi finds wrong in the files and commits of the tables that we wrote to."""
        tables = {"ours": self.mine.path, "the shared table": self.shared.path}
        told = {name: self.hudi.failures(table) for name, table in tables.items()}
        if not (self.mine.has_its_source and self.shared.has_its_source):
            told["the source"] = ["its files are not what they were"]
        return "\n".join(f"{name}: {text}" for name, text in told.items() if text)
