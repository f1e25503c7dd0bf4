"""Flags of job scripts: a request to a command line and back.

A request is a dataclass each of whose fields says in its type what its flag is:
``Annotated[str, Flag(help="...")]``. A field of pairs is a flag that may be repeated as
``key=value``, one that is False by default a flag without a value, any other one with a text.

A command line is there for everyone on the machine to read, so pairs that are secret are left out
of it and travel beside it: as JSON in the environment variable ``PYHUDI_SECRETS``, or where the
driver runs elsewhere in the Spark property ``spark.pyhudi.secrets``, which Spark redacts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar, cast, get_args, get_type_hints

from pyhudi.config import properties
from pyhudi.config.access.secret import (
    is_secret,
    is_secret_name,
    passwords_in,
    redacted,
    secrets_of,
)
from pyhudi.config.option import Option, canonical_key
from pyhudi.errors import OptionError

R = TypeVar("R")
SECRETS_VARIABLE = "PYHUDI_SECRETS"
SECRETS_PROPERTY = "spark.pyhudi.secrets"
"""Where the secret pairs of a request are: ``{"storage_options": {"secret_key": ...}}``."""


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
    """The flags of a kind of request by the field that each fills, those of every job last."""
    hints = get_type_hints(request, include_extras=True)
    declared = {name: get_args(hints[name])[1] for name in _fields(request)}
    return {
        name: replace(flag, name=flag.name or f"--{name.replace('_', '-')}")
        for name, flag in declared.items()
    }


def _fields(request: Any) -> dict[str, Any]:
    """The fields by name: the first of all, those of this kind of request, those of every kind."""
    found = {entry.name: entry for entry in fields(request)}
    kind = request if isinstance(request, type) else type(request)
    shared = {entry.name for base in kind.__mro__[1:-1] for entry in fields(base)}
    first, *others = found
    return {name: found[name] for name in (first, *sorted(others, key=shared.__contains__))}


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


class FlagParser(argparse.ArgumentParser):
    """Argument errors as OptionError, so that a job ends with one message like all others."""

    def error(self, message: str) -> NoReturn:
        """Report what is wrong with a command line; argparse calls it."""
        raise OptionError(f"{message}; --help lists the flags")


def to_args(request: object) -> list[str]:
    """The command line of a request, without the pairs that ``to_secrets`` has.

    Raises:
        OptionError: a text has a password in a URI, which cannot travel beside it.
    """
    args: list[str] = []
    for name, flag in flags_of(type(request)).items():
        value = getattr(request, name)
        if isinstance(value, bool):
            args += [flag.name] if value else []
        elif isinstance(value, Mapping):
            for key, text in value.items():
                if not is_secret(key, text):
                    args += _flag_and_value(flag.name, f"{key}={text}")
        elif value is not None:
            if passwords_in(value):
                raise OptionError(
                    f"{name} has a password in it ({redacted(value)}), which logs and command "
                    "lines would show; give the table's in storage_options, best in the Extra of a "
                    "connection of type pyhudi, and the source's in source_options"
                )
            args += _flag_and_value(flag.name, value)
    return args


def to_secrets(request: object) -> str | None:
    """The pairs of a request that are secret, as JSON; None when there are none."""
    flags = flags_of(type(request))
    pairs = {name: getattr(request, name) for name in flags}
    found = {name: secrets_of(given) for name, given in pairs.items() if isinstance(given, Mapping)}
    hidden = {name: given for name, given in found.items() if given}
    return json.dumps(hidden) if hidden else None


def with_secrets(request: R, text: str | None) -> R:
    """The request with the pairs that travelled beside its command line.

    Raises:
        OptionError: the text is not what ``to_secrets`` makes.
    """
    hidden = _parse_secrets(text) if text else {}
    known = {name for name in _fields(request) if isinstance(getattr(request, name), Mapping)}
    if not hidden.keys() <= known:
        raise OptionError(
            f"{SECRETS_VARIABLE} has {', '.join(sorted(hidden.keys() - known))}; this job takes "
            f"{', '.join(sorted(known))}"
        )
    merged = {name: {**getattr(request, name), **pairs} for name, pairs in hidden.items()}
    made: R = replace(cast("Any", request), **merged)
    return made


def _parse_secrets(text: str) -> dict[str, dict[str, str]]:
    try:
        found = json.loads(text)
        return {
            str(name): {str(key): str(value) for key, value in pairs.items()}
            for name, pairs in found.items()
        }
    except (AttributeError, ValueError):
        # The cause would quote the text.
        raise OptionError(
            f'{SECRETS_VARIABLE} must be JSON like {{"storage_options": {{"secret_key": "..."}}}}'
        ) from None


def _flag_and_value(name: str, value: str) -> list[str]:
    # Two words read better, but argparse takes a word with a dash in front for the next flag.
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def from_args(argv: Sequence[str], request: type, description: str) -> dict[str, Any]:
    """The fields of a request by the command line; ``--help`` prints the flags and exits.

    Raises:
        OptionError: an unknown flag, a missing one, or a pair that is not ``key=value``.
    """
    parser = FlagParser(description=description, allow_abbrev=False)
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
    refuse_unknown_flags(argv, [flag.name for flag in flags.values()])
    parsed = vars(parser.parse_args(list(argv)))
    parsed |= {name: key_values(flags[name].name, parsed[name]) for name in pairs}
    return {name: value for name, value in parsed.items() if value is not None}


def refuse_unknown_flags(argv: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a misspelt flag before argparse misses another one for it.

    Raises:
        OptionError: says which flag is none, and which may have been meant.
    """
    for word in argv:
        name = word.partition("=")[0]
        # With a space in it argparse takes a word for a value.
        is_flag = name.startswith("--") and len(name) > 2 and " " not in name
        if is_flag and name not in (*known, "--help"):
            meant = get_close_matches(name, known, n=1, cutoff=0.7)
            advice = f"did you mean {meant[0]}?" if meant else "--help lists the flags"
            raise OptionError(f"there is no flag {name}; {advice}")


def key_values(flag: str, texts: Sequence[str]) -> dict[str, str]:
    """The pairs of a flag that may be repeated as ``key=value``.

    Raises:
        OptionError: a text is no pair, or a key has two values.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            shown = "..." if is_secret_name(text) else repr(redacted(text))
            raise OptionError(f"{flag} takes key=value, not {shown}")
        _put(pairs, key.strip(), value, flag)
    return pairs


def _canonical(level: Mapping[str, str], where: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for key, value in level.items():
        _put(named, canonical_key(key), value, where)
    return named


def _put(pairs: dict[str, str], key: str, value: str, where: str) -> None:
    if pairs.setdefault(key, value) != value:
        shown = f", {pairs[key]!r} and {value!r}"
        if is_secret(key, value) or is_secret(key, pairs[key]):
            shown = ""
        raise OptionError(f"{where} gives {key} two values{shown}; keep one of them")


def _read_properties(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return properties.parse(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read the options file {path}: {error}") from error
