"""The console command as scripts see it: what it prints, and what it ends with."""

import json
import logging
from typing import Any

import pytest

from pyhudi.cli.main import main


class Shell:
    """Runs ``pyhudi`` in this process."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *words: object) -> str:
        """The text of a command that succeeds."""
        code, out, err = self.outcome(*words)
        assert code == 0, f"{code}: {err}{out}"
        return out

    def json(self, *words: object) -> dict[str, Any]:
        """The answer of a command that succeeds, as machines get it."""
        found: dict[str, Any] = json.loads(self(*words, "--json"))
        return found

    def outcome(self, *words: object) -> tuple[int, str, str]:
        """The code that a command ends with, and what it prints to both outputs."""
        ours = [logging.getLogger(name) for name in ("pyhudi", "pyhudi.transaction.turn")]
        before = [each.level for each in ours]
        try:
            code = main([str(word) for word in words])
        finally:
            for logger, level in zip(ours, before, strict=True):
                logger.setLevel(level)
        return code, *self._capture.readouterr()
