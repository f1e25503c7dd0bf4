"""The instants of a bootstrap: one for skeletons, one for rows, which count together.

::

    both requested ── both inflight ── skeletons, rows ── index ──▶ 1 complete ──▶ 2 complete
                                                                          (the commit point)

Readers see nothing before the last of them is completed, and whoever finds one pending undoes both
(``timeline/bootstrap.py``, ``services/rollback.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack

from pyhudi.actions.commit import CommitMetadata
from pyhudi.config.options.bootstrap import BootstrapMode
from pyhudi.timeline.bootstrap import BOOTSTRAP_INSTANTS, FULL_BOOTSTRAP
from pyhudi.timeline.instant import METADATA_BOOTSTRAP, Action, Instant
from pyhudi.transaction.exclusion import Alone, Writer
from pyhudi.transaction.instant_run import InstantRun

_INSTANTS = {
    BootstrapMode.METADATA_ONLY: METADATA_BOOTSTRAP,
    BootstrapMode.FULL_RECORD: FULL_BOOTSTRAP,
}


class BootstrapInstants:
    """The instants of one bootstrap as a context: entering begins those of its modes.

    Leaving without ``complete`` undoes what was begun, both where there are two.

    Guarantees: no reader sees the files of one without those of the other.
    """

    def __init__(self, writer: Writer, action: Action, modes: Iterable[BootstrapMode]) -> None:
        chosen = frozenset(modes)
        self._runs = {
            mode: InstantRun(writer, action, at=at, exclusion=Alone(own=BOOTSTRAP_INSTANTS))
            for mode, at in _INSTANTS.items()
            if mode in chosen
        }

    def __enter__(self) -> BootstrapInstants:
        with ExitStack() as held:
            for run in self._runs.values():
                held.enter_context(run)
            for run in self._runs.values():
                run.start(None)
            self._held = held.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # The second first: undoing it takes the first along, completed or not.
        self._held.__exit__(None, None, None)

    def of(self, mode: BootstrapMode) -> InstantRun:
        """The instant of a mode."""
        return self._runs[mode]

    def complete(
        self, written: Mapping[BootstrapMode, tuple[CommitMetadata, frozenset[str]]]
    ) -> Instant:
        """Commit: give for each mode what its instant says, and the paths of its files.

        Raises: as ``InstantRun.complete``.
        """
        completed = [run.complete(*written[mode]) for mode, run in self._runs.items()]
        return completed[-1]
