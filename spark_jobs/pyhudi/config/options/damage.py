"""What becomes of files that are not what the table's commits say they are."""

from __future__ import annotations

from typing import Final

from pyhudi.config import option
from pyhudi.config.option import declare

SKIP_DAMAGED = declare("pyhudi.read.skip.damaged", option.parse_bool, default=False, since="pyhudi")
"""read on where a file or log block that was committed is gone or damaged, as Hudi does: rows of
it are missing then, or older ones come back; writes and compactions that read on make it last"""

ADVICE: Final = (
    f"Restore the file from a backup, or take what is left, as Hudi does: {SKIP_DAMAGED.key}=true"
)
"""What errors say can be done."""
