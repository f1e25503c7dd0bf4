"""Pure functions of the engine that histories call with the same values over and over, remembered.

What they give depends on what they are given alone, so a play shows the same with them or without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from pyhudi.actions import commit
from pyhudi.actions.commit import WriteStat
from pyhudi.config.write import WriteConfig
from pyhudi.table import properties_file
from pyhudi.timeline import layout


class _Stats:
    """Statistics by the JSON objects that say them, which are kept as long as their text is."""

    def __init__(self, parse: Callable[[bytes], Mapping[str, Any]]) -> None:
        self._parse, self._from_json = parse, WriteStat.from_json
        self._texts: dict[bytes, Mapping[str, Any]] = {}
        # With the object itself, so that no other comes to have its id.
        self._stats: dict[int, tuple[Mapping[str, Any], WriteStat]] = {}

    def parse(self, data: bytes) -> Mapping[str, Any]:
        found = self._texts.get(data)
        if found is None:
            found = self._texts[data] = self._parse(data)
        return found

    def stat(self, found: Mapping[str, Any]) -> WriteStat:
        known = self._stats.get(id(found))
        if known is None:
            known = self._stats[id(found)] = found, self._from_json(found)
        return known[1]


_from_options = WriteConfig.from_options


@lru_cache(maxsize=1_000)
def _config_of(options: tuple[tuple[str, str], ...]) -> WriteConfig:
    return _from_options(dict(options))


def _remember_config(options: Mapping[str, str]) -> WriteConfig:
    return _config_of(tuple(options.items()))


_remember_name = lru_cache(maxsize=200_000)(layout.parse_file_name)
_remember_properties = lru_cache(maxsize=1_000)(properties_file._parsed)


@contextmanager
def remembered() -> Iterator[None]:
    """A span in which they are remembered; what commits say is, until its end."""
    parse, from_json = commit._parse, WriteStat.__dict__["from_json"]
    names, properties = layout.parse_file_name, properties_file._parsed
    stats = _Stats(parse)
    commit._parse = stats.parse
    WriteStat.from_json = staticmethod(stats.stat)  # type: ignore[assignment,method-assign]
    layout.parse_file_name = _remember_name
    properties_file._parsed = _remember_properties
    from_options = WriteConfig.__dict__["from_options"]
    WriteConfig.from_options = staticmethod(_remember_config)  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        commit._parse = parse
        WriteStat.from_json = from_json  # type: ignore[method-assign]
        layout.parse_file_name = names
        properties_file._parsed = properties
        WriteConfig.from_options = from_options  # type: ignore[method-assign]
