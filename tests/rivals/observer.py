"""Notes when instants were completed, while the run goes on, since archives do not tell."""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tests.rivals.notes import Notes
from tests.rivals.plan import ORDER, Plan

COMPLETED = re.compile(r"(\d+)\.(commit|deltacommit|replacecommit)")
_POLL_S = 0.03


class Observer:
    """A thread that looks at the timeline as the machine's disk has it."""

    def __init__(self, plan: Plan) -> None:
        self._folder, self._notes = Path(plan.seen) / ".hoodie", Notes(plan.notes("observer"))
        self._known: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observer", daemon=True)

    def __enter__(self) -> Observer:
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._look()

    def _run(self) -> None:
        while not self._ended.wait(_POLL_S):
            self._look()

    def _look(self) -> None:
        found = {
            path.name: path for path in self._folder.iterdir() if COMPLETED.fullmatch(path.name)
        }
        for name in sorted(found.keys() - self._known):
            # It may be taken back, or archived, in this very moment.
            with suppress(FileNotFoundError):
                self._note(found[name])
                self._known.add(name)
        for name in sorted(self._known - found.keys()):
            self._known.discard(name)
            self._notes.add("gone", is_safe=False, name=name)

    def _note(self, path: Path) -> None:
        # Real Hudi 0.15 shows a file before it has written all of it.
        for _ in range(50):
            completed_ns = path.stat().st_mtime_ns
            try:
                said = json.loads(path.read_bytes())
            except ValueError:
                threading.Event().wait(0.01)
            else:
                break
        else:
            said = {}
        self._notes.add(
            "completed",
            is_safe=False,
            name=path.name,
            completed=completed_ns / 1e9,
            order=(said.get("extraMetadata") or {}).get(ORDER),
            operation=said.get("operationType"),
        )
