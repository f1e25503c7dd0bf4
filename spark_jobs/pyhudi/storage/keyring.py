"""The secrets of storages, which are in no pickled bytes.

What a task needs is pickled, and large pickles lie on disk: Spark writes functions of over 1 MB to
its local folder, on the driver and wherever they are read. So a storage is pickled with a reference
to its secrets. A process keeps the secrets that storages were opened with on its keyring; to the
process of a task they are handed in memory, beside the function.
"""

from __future__ import annotations

import json
import os
import secrets as randomness
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyhudi.config.access.secret import secrets_of
from pyhudi.config.access.storage_options import CREDENTIALS_FILE
from pyhudi.errors import OptionError, StorageError

# What the file has beside its version and the time at which its keys end.
_IN_FILE: Final = {
    "AccessKeyId": "access_key",
    "SecretAccessKey": "secret_key",
    "SessionToken": "session_token",
}


class Keyring:
    """The secrets that one process knows: those it keeps itself, and those it was handed."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, str]] = {}
        self._handed: dict[str, dict[str, str]] = {}
        self._files: set[str] = set()

    def keep(self, secrets: Mapping[str, str]) -> str:
        """A reference to these secrets, the same one whenever they are kept again."""
        wanted = dict(secrets)
        for reference, kept in self._kept.items():
            if kept == wanted:
                return reference
        reference = randomness.token_hex(8)
        self._kept[reference] = wanted
        return reference

    def keep_file(self, path: str) -> None:
        """Have the keys in a file handed on too, as they are at that time."""
        self._files.add(path)

    def find(self, reference: str) -> Mapping[str, str]:
        """The secrets behind a reference.

        Raises:
            StorageError: this process has none of them.
        """
        found = self._kept.get(reference) or self._handed.get(reference)
        if found is None:
            raise StorageError(
                "the keys of the table's storage have not reached this process. They go with the "
                "Spark jobs of the thread that opened the table: use it in that thread, or start "
                "others as pyspark.InheritableThread"
            )
        return found

    def of_file(self, path: str) -> Mapping[str, str]:
        """The keys in a file of credentials; where the file is not, those that were handed on.

        Raises:
            OptionError: it cannot be read, or is not of that form.
        """
        if path in self._handed and not os.path.exists(path):
            return self._handed[path]
        return _read_credentials(path)

    def text(self) -> str | None:
        """All that a task has to be handed, as ``receive`` takes it; None for nothing."""
        held = {**self._kept}
        for path in sorted(self._files):
            # Whoever needs a file that is gone is told so there.
            with suppress(OptionError):
                held[path] = dict(self.of_file(path))
        return json.dumps(held) if held else None

    def receive(self, text: str | None) -> None:
        """Take what was handed to a task, in place of what an earlier one was handed."""
        self._handed = json.loads(text) if text else {}


KEYRING: Final = Keyring()
"""That of this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenOptions:
    """The options of a storage, which show no secret and are pickled without them."""

    shown: tuple[tuple[str, str], ...]
    reference: str | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> HiddenOptions:
        """These options, the secret ones on the keyring."""
        secrets = secrets_of(options)
        file = options.get(CREDENTIALS_FILE)
        if file is not None:
            KEYRING.keep_file(file)
        shown = tuple(sorted((name, text) for name, text in options.items() if name not in secrets))
        return cls(shown=shown, reference=KEYRING.keep(secrets) if secrets else None)

    @property
    def are_some(self) -> bool:
        """Whether there is any option at all."""
        return bool(self.shown or self.reference)

    def revealed(self) -> dict[str, str]:
        """The options as they are now, with their secrets; in place of a file what it has.

        Raises:
            StorageError: this process has not got the secrets.
            OptionError: the file of credentials cannot be read.
        """
        options = dict(self.shown)
        file = options.pop(CREDENTIALS_FILE, None)
        if self.reference is not None:
            options |= KEYRING.find(self.reference)
        return options if file is None else {**options, **KEYRING.of_file(file)}


NO_OPTIONS: Final = HiddenOptions(shown=(), reference=None)


def _read_credentials(path: str) -> dict[str, str]:
    """Source: the output of a ``credential_process``, as AWS's SDKs read it."""
    try:
        found: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        keys = {ours: str(found[theirs]) for theirs, ours in _IN_FILE.items() if found.get(theirs)}
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read {CREDENTIALS_FILE} {path}: {error.args[-1]}") from error
    except (AttributeError, ValueError):
        keys = {}
    if not {"access_key", "secret_key"} <= keys.keys():
        # The cause would quote the text.
        raise OptionError(
            f"{CREDENTIALS_FILE} {path} must be JSON as a credential_process of AWS prints it: "
            '{"AccessKeyId": "...", "SecretAccessKey": "...", "SessionToken": "..."}'
        ) from None
    return keys
