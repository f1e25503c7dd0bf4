"""Which settings are secret, and texts without them. Pure.

A setting is secret by its name, or because its value is a URI that has a password in it. Every
place that shows, stores or hands on settings asks here, so that none has a rule of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

HIDDEN = "***"

# Wider than Spark's spark.redaction.regex: a plain setting taken for a secret costs nothing, and
# a secret taken for a plain one is out.
_SECRET_NAME = re.compile(
    r"secret|passw|passphrase|pwd|token|signature|authorization|bearer|credentials?[._-]?json"
    r"|(?:access|account|api|encryption|private|service|shared|storage)[._-]?key"
    r"|connection[._-]?string|(?:^|[._-])(?:auth|dsn|pass|sas|sig)(?:$|[._-])",
    re.IGNORECASE,
)
# What such a setting is made by or lies in, which is no secret itself.
_ABOUT_A_SECRET = re.compile(
    r"(?:class|enabled|expiration|file|interval|kind|location|path|provider|store|supplier|type"
    r"|ur[il]|validation)$",
    re.IGNORECASE,
)
_NO_SECRET = frozenset({"", "true", "false", "none", "null"})
# A number before a slash is a port.
_IN_AUTHORITY = re.compile(r"://[^\s/@:]*:(?!\d+(?:[/,?]|$))([^\s@]+)@")
_IN_QUERY = re.compile(r"[?&;]([\w.-]+)=([^\s&;'\"]+)")


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _ABOUT_A_SECRET.search(name)


def is_secret(name: str, value: object) -> bool:
    """Whether a setting must not be seen, by its name or by a password in its value."""
    text = str(value)
    named = is_secret_name(name) and text.lower() not in _NO_SECRET
    return named or bool(passwords_in(text))


def passwords_in(text: str) -> list[str]:
    """The passwords that stand in the URIs of a text: before the host, or as parameters."""
    return [*_IN_AUTHORITY.findall(text), *_parameters(text)]


def _parameters(text: str) -> Iterator[str]:
    return (value for name, value in _IN_QUERY.findall(text) if is_secret(name, value))


def redacted(text: str) -> str:
    """The text with ``***`` for every password in its URIs."""
    for password in passwords_in(text):
        text = text.replace(password, HIDDEN)
    return text


def secrets_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings that must not be seen."""
    return {name: value for name, value in settings.items() if is_secret(name, value)}
