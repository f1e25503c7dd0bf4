"""Flags of job scripts: a request to a command line and back."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, NoReturn, Protocol

from pyhudi.config import properties
from pyhudi.config.option import Option, canonical_key
from pyhudi.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """How one field of a request is spelt on a command line.

    ``option`` is the Hudi option a flag is a shorthand for; ``kind`` says whether the flag takes a
    text, may be repeated as ``key=value``, or takes nothing.
    """

    field: str
    name: str
    help: str
    kind: Literal["text", "pairs", "switch"] = "text"
    option: Option[Any] | None = None


class Request(Protocol):
    """A request with options beside its shorthands."""

    @property
    def hoodie_conf(self) -> Mapping[str, str]:
        """Options under Hudi's keys."""
        ...

    @property
    def props(self) -> str | None:
        """A file of options."""
        ...


def merged_options(request: Request, flags: Sequence[Flag]) -> dict[str, str]:
    """All options of a request under Hudi's own keys, aliases replaced by the key they mean.

    ``hoodie_conf`` wins over the file ``props``, and a shorthand wins over both.

    Raises:
        OptionError: the file cannot be read, or one level gives one option two values.
    """
    merged: dict[str, str] = {}
    if request.props:
        merged |= _canonical(_read_properties(request.props), f"the file {request.props}")
    merged |= _canonical(request.hoodie_conf, "--hoodie-conf")
    given = ((flag.option, getattr(request, flag.field)) for flag in flags)
    return merged | {option.key: value for option, value in given if option and value is not None}


class _Parser(argparse.ArgumentParser):
    """Argument errors as OptionError, so that a job ends with one message like all others."""

    def error(self, message: str) -> NoReturn:
        raise OptionError(f"{message}; --help lists the flags")


def to_args(request: object, flags: Sequence[Flag]) -> list[str]:
    """The command line of a request."""
    args: list[str] = []
    for flag in flags:
        value = getattr(request, flag.field)
        if flag.kind == "switch":
            args += [flag.name] if value else []
        elif flag.kind == "pairs":
            for key, text in value.items():
                args += _flag_and_value(flag.name, f"{key}={text}")
        elif value is not None:
            args += _flag_and_value(flag.name, value)
    return args


def _flag_and_value(name: str, value: str) -> list[str]:
    # Two words read better, but argparse takes a word with a dash in front for the next flag.
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def from_args(
    argv: Sequence[str], flags: Sequence[Flag], request: type, description: str
) -> dict[str, Any]:
    """The fields of a request by the command line; ``--help`` prints the flags and exits.

    Raises:
        OptionError: an unknown flag, a missing one, or a pair that is not ``key=value``.
    """
    required = {
        entry.name
        for entry in fields(request)
        if entry.default is MISSING and entry.default_factory is MISSING
    }
    parser = _Parser(description=description, allow_abbrev=False)
    for flag in flags:
        settings: dict[str, Any] = {"dest": flag.field, "help": flag.help}
        if flag.kind == "switch":
            settings["action"] = "store_true"
        elif flag.kind == "pairs":
            settings |= {"action": "append", "metavar": "KEY=VALUE", "default": []}
        else:
            settings["required"] = flag.field in required
        parser.add_argument(flag.name, **settings)
    parsed = vars(parser.parse_args(list(argv)))
    for flag in flags:
        if flag.kind == "pairs":
            parsed[flag.field] = _pairs(flag.name, parsed[flag.field])
    return {name: value for name, value in parsed.items() if value is not None}


def _pairs(flag: str, texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise OptionError(f"{flag} takes key=value, not {text!r}")
        _put(pairs, key.strip(), value, flag)
    return pairs


def _canonical(level: Mapping[str, str], where: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for key, value in level.items():
        _put(named, canonical_key(key), value, where)
    return named


def _put(pairs: dict[str, str], key: str, value: str, where: str) -> None:
    if pairs.setdefault(key, value) != value:
        raise OptionError(
            f"{where} gives {key} two values, {pairs[key]!r} and {value!r}; keep one of them"
        )


def _read_properties(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return properties.parse(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read the options file {path}: {error}") from error
