"""How long a job waits for others that write its table."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi.config import option
from pyhudi.config.option import declare, setting

_WAIT_S: float = 900

WAIT_SECONDS = declare(
    "pyhudi.write.wait.seconds", option.parse_fraction, default=_WAIT_S, since="pyhudi"
)
"""seconds that a write or compaction waits in all for other writers of the table, which go first in
the order in which they came; then it fails, and can be tried again; 0 fails at once"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitConfig:
    """How long to wait for other writers.

    Units: seconds.
    """

    seconds: float = setting(WAIT_SECONDS)
