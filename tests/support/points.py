"""How many of the points at which something can be stopped are tried.

PYHUDI_POINTS says it: ``few`` for `make unit`, ``all`` for `make reliability`, else a larger share.
"""

import os
from typing import Final

_ASKED = os.environ.get("PYHUDI_POINTS", "some")
IS_WHOLE: Final = _ASKED == "all"
IS_FEW: Final = _ASKED == "few"
STEP: Final = 3 if IS_FEW else 1
"""Of the points that are usually tried, every so many-th is."""
EXAMPLES: Final = int(
    os.environ.get("PYHUDI_EXAMPLES") or {"few": 10, "all": 1_000}.get(_ASKED, 250)
)
"""How many bytes are made up for each kind of file; PYHUDI_EXAMPLES says it too."""
IS_LONG: Final = "PYHUDI_EXAMPLES" in os.environ
"""Whether they are other ones each time."""
