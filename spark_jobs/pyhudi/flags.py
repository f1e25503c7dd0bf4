"""Flags of job scripts: a request to a command line and back.

A request is a dataclass each of whose fields says in its type what its flag is:
``Annotated[str, Flag(help="...")]``. A field of pairs is a flag that may be repeated as
``key=value``, one that is False by default a flag without a value, any other one with a text.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, NoReturn, get_args, get_type_hints

from pyhudi.config import properties
from pyhudi.config.option import Option, canonical_key
from pyhudi.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """How one field of a request is given on a command line.

    ``option`` is the Hudi option a flag is a shorthand for; ``name`` follows from the field's
    unless it is said.
    """

    help: str
    option: Option[Any] | None = None
    name: str = ""


def flags_of(request: type) -> Mapping[str, Flag]:
    """The flags of a kind of request by the field that each fills, in the order of the fields."""
    hints = get_type_hints(request, include_extras=True)
    declared = {name: get_args(hints[name])[1] for name in _fields(request)}
    return {
        name: replace(flag, name=flag.name or f"--{name.replace('_', '-')}")
        for name, flag in declared.items()
    }


def _fields(request: Any) -> dict[str, Any]:
    return {entry.name: entry for entry in fields(request)}


def merged_options(request: Any) -> dict[str, str]:
    """All options of a request under Hudi's own keys, aliases replaced by the key they mean.

    ``hoodie_conf`` wins over the file ``props``, and a shorthand wins over both.

    Raises:
        OptionError: the file cannot be read, or one level gives one option two values.
    """
    merged: dict[str, str] = {}
    if request.props:
        merged |= _canonical(_read_properties(request.props), f"the file {request.props}")
    merged |= _canonical(request.hoodie_conf, "--hoodie-conf")
    flags = flags_of(type(request)).items()
    given = ((flag.option, getattr(request, name)) for name, flag in flags)
    return merged | {option.key: value for option, value in given if option and value is not None}


class _Parser(argparse.ArgumentParser):
    """Argument errors as OptionError, so that a job ends with one message like all others."""

    def error(self, message: str) -> NoReturn:
        raise OptionError(f"{message}; --help lists the flags")


def to_args(request: object) -> list[str]:
    """The command line of a request."""
    args: list[str] = []
    for name, flag in flags_of(type(request)).items():
        value = getattr(request, name)
        if isinstance(value, bool):
            args += [flag.name] if value else []
        elif isinstance(value, Mapping):
            for key, text in value.items():
                args += _flag_and_value(flag.name, f"{key}={text}")
        elif value is not None:
            args += _flag_and_value(flag.name, value)
    return args


def _flag_and_value(name: str, value: str) -> list[str]:
    # Two words read better, but argparse takes a word with a dash in front for the next flag.
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def from_args(argv: Sequence[str], request: type, description: str) -> dict[str, Any]:
    """The fields of a request by the command line; ``--help`` prints the flags and exits.

    Raises:
        OptionError: an unknown flag, a missing one, or a pair that is not ``key=value``.
    """
    parser = _Parser(description=description, allow_abbrev=False)
    flags, declared = flags_of(request), _fields(request)
    pairs = {name for name, entry in declared.items() if entry.default_factory is dict}
    for name, flag in flags.items():
        settings: dict[str, Any] = {"dest": name, "help": flag.help}
        if declared[name].default is False:
            settings["action"] = "store_true"
        elif name in pairs:
            settings |= {"action": "append", "metavar": "KEY=VALUE", "default": []}
        else:
            settings["required"] = declared[name].default is MISSING
        parser.add_argument(flag.name, **settings)
    _refuse_unknown_flags(argv, [flag.name for flag in flags.values()])
    parsed = vars(parser.parse_args(list(argv)))
    parsed |= {name: _pairs(flags[name].name, parsed[name]) for name in pairs}
    return {name: value for name, value in parsed.items() if value is not None}


def _refuse_unknown_flags(argv: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a misspelt flag before argparse misses another one for it."""
    for word in argv:
        name = word.partition("=")[0]
        # With a space in it argparse takes a word for a value.
        is_flag = name.startswith("--") and len(name) > 2 and " " not in name
        if is_flag and name not in (*known, "--help"):
            meant = get_close_matches(name, known, n=1, cutoff=0.7)
            advice = f"did you mean {meant[0]}?" if meant else "--help lists the flags"
            raise OptionError(f"there is no flag {name}; {advice}")


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
