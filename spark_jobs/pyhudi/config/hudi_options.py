"""Hudi's options that are not declared here: what each means, and what is done about it.

They are listed in the files of the folder ``hudi``, a chapter after its title and the reason why
its options may be ignored. A line has, separated by tabs, the key with its older names, Hudi's
default, the meaning, and, where the chapter's reason is not the one, the treatments:

- ``because ...``: ignored for this reason
- ``quiet VALUE``: ignored, and not even named in a warning at this value
- ``only A, B``: refused by a write but for these values, in small letters
- ``never``: refused by a write at any value
- ``read only A, B``, ``read never``: the same of a read

A key that ends in ``*`` stands for all that begin so.

Source: the ConfigProperty fields of Hudi's config classes, Hudi 0.15.0 and 1.1.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

CHAPTERS = (
    "writing",
    "indexes",
    "storage",
    "table",
    "services",
    "metadata",
    "concurrency",
    "outside",
    "reading",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HudiOption:
    """One option of Hudi that is not followed.

    ``keys`` are its name and older ones; ``allowed`` are the values, in small letters, that writes
    accept of a refused one, and None for one that they ignore, for ``reason`` or else for that of
    its chapter; ``allowed_in_reads`` is the same for reads; ``quiet`` is the value that is not
    warned about.
    """

    keys: tuple[str, ...]
    default: str
    meaning: str
    chapter: str
    chapter_reason: str
    reason: str = ""
    allowed: tuple[str, ...] | None = None
    allowed_in_reads: tuple[str, ...] | None = None
    quiet: str | None = None


@cache
def hudi_options() -> tuple[HudiOption, ...]:
    """All of them, chapter by chapter."""
    return tuple(option for name in CHAPTERS for option in _chapters_of(_text(name)))


def find_option(key: str) -> HudiOption | None:
    """The option with this key, older name or beginning; None when Hudi has none we know of."""
    exact = _by_key().get(key)
    if exact is not None:
        return exact
    parts = key.split(".")
    families = (".".join((*parts[:length], "*")) for length in range(len(parts) - 1, 1, -1))
    return next((_by_key()[name] for name in families if name in _by_key()), None)


@cache
def _by_key() -> Mapping[str, HudiOption]:
    return {key: option for option in hudi_options() for key in option.keys}


def _text(name: str) -> str:
    folder = resources.files("pyhudi.config") / "hudi"
    return (folder / f"{name}.tsv").read_text(encoding="utf-8")


def _chapters_of(text: str) -> Iterator[HudiOption]:
    title = reason = ""
    for line in text.splitlines():
        if line.startswith("# "):
            title, _, reason = line[2:].partition(" | ")
        elif line:
            yield _option_of(line, title, reason)


def _option_of(line: str, chapter: str, reason: str) -> HudiOption:
    keys, default, meaning, *treatments = line.split("\t")
    return HudiOption(
        keys=tuple(keys.split(",")),
        default=default,
        meaning=meaning,
        chapter=chapter,
        chapter_reason=reason,
        reason=_after("because ", treatments) or "",
        allowed=_allowed("", treatments),
        allowed_in_reads=_allowed("read ", treatments),
        quiet=_after("quiet ", treatments),
    )


def _after(word: str, treatments: Iterable[str]) -> str | None:
    return next((text[len(word) :] for text in treatments if text.startswith(word)), None)


def _allowed(side: str, treatments: Sequence[str]) -> tuple[str, ...] | None:
    if f"{side}never" in treatments:
        return ()
    values = _after(f"{side}only ", treatments)
    return None if values is None else tuple(values.split(", "))
