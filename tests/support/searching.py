"""A search for secrets in all that runs on the machine and lies in some folders."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.object_store import Answer, Seen


@dataclass
class Search:
    """Texts that must be found nowhere, and the places where one was."""

    secrets: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    found: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    command_lines: set[str] = field(default_factory=set)
    last: float = 0.0

    def look(self) -> None:
        """In the command lines of all processes, and in all files of the folders."""
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                command_line = process.read_bytes()
                self.command_lines.add(command_line.replace(b"\0", b" ").decode(errors="replace"))
                self.read(process, command_line)
        for folder in self.folders:
            for place, _, names in os.walk(folder):
                for name in names:
                    with suppress(OSError):
                        self.files.add(os.path.join(place, name))
                        self.read(Path(place, name), Path(place, name).read_bytes())

    def read(self, where: object, content: bytes | str) -> None:
        """In what is given."""
        data = content.encode() if isinstance(content, str) else content
        for secret in self.secrets:
            if secret.encode() in data:
                self.found.add(f"{secret} in {where}")

    def at_request(self, _: Seen) -> Answer:
        """Look when a server is asked, ten times a second at most, and have it answer."""
        if time.monotonic() > self.last + 0.1:
            self.look()
            self.last = time.monotonic()
        return Answer.WHOLE
