"""One option: its key, what its text means, and what holds when it is absent.

A field of a config value is declared as ``setting(OPTION)``, and ``read_settings`` fills the value
from the texts of options. The text below a declaration says what the option means: the page of
options has it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from enum import Enum
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from pyhudi.errors import OptionError, UnsupportedError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
E = TypeVar("E", bound=Enum)

_DECLARED: dict[str, Option[Any]] = {}
_CANONICAL: dict[str, str] = {}
_READER = "reader"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Generic[T]):
    """An option under its Hudi key.

    ``parse`` turns the text into a value, or raises a ValueError that says what is allowed, or an
    UnsupportedError that says what the option must not be.
    ``aliases`` are older or alternative keys; ``since`` is the first Hudi release with the key,
    ``0.14`` for older ones too, or ``pyhudi`` for one of ours.
    """

    key: str
    parse: Callable[[str], T]
    default: T
    aliases: tuple[str, ...] = ()
    since: str = "0.14"

    def read(self, options: Mapping[str, str]) -> T:
        """The option's value among these; the key itself goes before its aliases.

        Raises:
            OptionError: the text is none of the allowed ones.
            UnsupportedError: it is one that Hudi allows and that cannot be done here.
        """
        for key in (self.key, *self.aliases):
            if key in options:
                return self._parsed(key, options[key])
        return self.default

    def is_given(self, options: Mapping[str, str]) -> bool:
        """Whether these have it, under any of its keys."""
        return not {self.key, *self.aliases}.isdisjoint(options)

    def _parsed(self, key: str, text: str) -> T:
        try:
            return self.parse(text.strip())
        except UnsupportedError as error:
            raise UnsupportedError(f"{self.key} is {error}") from error
        except ValueError as error:
            raise OptionError(f"option {key} is {text!r}; allowed: {error}") from error


def declare(
    key: str,
    parse: Callable[[str], T],
    *,
    default: T,
    aliases: tuple[str, ...] = (),
    since: str = "0.14",
) -> Option[T]:
    """Make an option, known from now on by its key."""
    option = Option(key=key, parse=parse, default=default, aliases=aliases, since=since)
    _DECLARED[key] = option
    _CANONICAL.update(dict.fromkeys((key, *aliases), key))
    return option


class Setting(Protocol[T_co]):
    """What a field of a config value can be filled by: an option, or a property of a table."""

    @property
    def default(self) -> T_co:
        """The value when the texts have none."""
        ...

    def read(self, options: Mapping[str, str], /) -> T_co:
        """The value among these texts."""
        ...


def setting(source: Setting[T]) -> T:
    """A field of a config value that ``source`` fills, and whose default is that of ``source``."""
    filled: T = field(default=source.default, metadata={_READER: source.read})
    return filled


def part(kind: type[T]) -> T:
    """A field that is itself a config value; one with ``from_options`` of its own is read by it."""
    reader = getattr(kind, "from_options", None) or partial(read_settings, kind)
    filled: T = field(default_factory=kind, metadata={_READER: reader})
    return filled


def read_settings(kind: type[T], options: Mapping[str, str], /, **derived: Any) -> T:
    """The config value that options ask for, where ``derived`` fields are given and not read.

    Raises:
        OptionError: a value that is not allowed.
        UnsupportedError: a value that Hudi allows and that cannot be done here.
    """
    config: Any = kind
    found = {
        entry.name: entry.metadata[_READER](options)
        for entry in fields(config)
        if _READER in entry.metadata and entry.name not in derived
    }
    return kind(**found, **derived)


def declared() -> Mapping[str, Option[Any]]:
    """Every declared option by its key."""
    return _DECLARED


def canonical_key(key: str) -> str:
    """The key that an alias stands for; any other key as it is."""
    return _CANONICAL.get(key, key)


def option_texts(options: Mapping[str, object] | None, *, name: str = "options") -> dict[str, str]:
    """The options with all values as texts; those that are None are left out.

    Booleans are written in small letters, times as ISO 8601, and the texts of a list or tuple with
    commas between them. ``name`` is what errors call the options.

    Raises:
        OptionError: no mapping, or a key or value that has no text.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise OptionError(f"{name} must be a mapping of keys to values, not {_kind(options)}")
    found = {}
    for key, value in options.items():
        if not isinstance(key, str):
            raise OptionError(f"{name} has the key {key!r}, which must be a text")
        if value is not None:
            found[key] = _text(value, f"{name}[{key!r}]")
    return found


def _text(value: object, where: str) -> str:
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case os.PathLike():
            return str(os.fspath(value))
        case date():
            return value.isoformat()
        case list() | tuple() if all(isinstance(each, str) for each in value):
            return ",".join(value)
    raise OptionError(f"{where} must be a text, number, boolean or time, not {_kind(value)}")


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


def parse_text(text: str) -> str:
    """Any text that is not empty."""
    if not text:
        raise ValueError("a text that is not empty")
    return text


def parse_optional_text(text: str) -> str | None:
    """A text; the empty one means none."""
    return text or None


def parse_bool(text: str) -> bool:
    """True or false, in any case."""
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ValueError("true or false")
    return lowered == "true"


def parse_int(text: str) -> int:
    """A whole number that is not negative."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise ValueError("a whole number, 0 or greater")
    return value


def parse_size(text: str) -> int:
    """A number of bytes."""
    try:
        return parse_int(text)
    except ValueError:
        raise ValueError("a number of bytes without a unit, 0 or greater") from None


def parse_positive(text: str) -> int:
    """A whole number greater than 0."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value <= 0:
        raise ValueError("a whole number greater than 0")
    return value


def parse_fraction(text: str) -> float:
    """A number that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError("a number, 0 or greater")
    return value


def parse_fields(text: str) -> tuple[str, ...]:
    """Names separated by commas; none at all for an empty text."""
    names = tuple(name.strip() for name in text.split(",")) if text else ()
    if "" in names:
        raise ValueError("column names separated by single commas")
    if len(set(names)) < len(names):
        raise ValueError("column names separated by commas, each once")
    return names


def parse_optional_fields(text: str) -> tuple[str, ...] | None:
    """As ``parse_fields``; an empty text means none."""
    return parse_fields(text) or None


def parse_enum(kind: type[E], *, not_done: Collection[str] = ()) -> Callable[[str], E]:
    """One of an enum's values, in any case; ``not_done`` are others that Hudi has."""
    by_text = {str(member.value).lower(): member for member in kind}

    values = ", ".join(str(member.value) for member in kind)

    def parse(text: str) -> E:
        if text.lower() in not_done:
            raise UnsupportedError(f"{text!r}, which is not supported; supported are {values}")
        if text.lower() not in by_text:
            raise ValueError(values)
        return by_text[text.lower()]

    return parse
