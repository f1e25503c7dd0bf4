"""Java properties: text to dict and back. Pure.

Source: java.util.Properties, which Hudi reads and writes hoodie.properties and
.hoodie_partition_metadata with.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping

_BLANKS = " \t\f"
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SPECIAL = {char: f"\\{letter}" for letter, char in _ESCAPED.items()}
_SPECIAL |= {char: f"\\{char}" for char in "\\=:#!"}


def parse(text: str) -> dict[str, str]:
    """The properties of a text; of a key that comes twice the later one counts.

    A malformed escape is kept without its backslash, where Java would refuse the file.
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        found[_unescape(key)] = _unescape(value)
    return found


def dump(properties: Mapping[str, str], comment_lines: Iterable[str] = ()) -> str:
    """The text of properties in their given order, comments first.

    Guarantees: ASCII only; ``parse`` gives back the same properties.
    Source: java.util.Properties.store (what is escaped and how).
    """
    comments = [f"#{_comment(line)}" for line in comment_lines]
    pairs = [f"{_escape_key(key)}={_escape_value(value)}" for key, value in properties.items()]
    return "".join(f"{line}\n" for line in (*comments, *pairs))


def table_checksum(database: str, table: str) -> int:
    """What ``hoodie.table.checksum`` must say: it covers the two names and nothing else.

    Source: HoodieTableConfig.generateChecksum, Hudi 0.15 and 1.1.
    """
    return zlib.crc32(f"{database}.{table}".encode())


def _logical_lines(text: str) -> Iterator[str]:
    continued: str | None = None
    for natural in re.split(r"\r\n|\r|\n", text):
        line = natural.lstrip(_BLANKS)
        if continued is None and (not line or line[0] in "#!"):
            continue
        whole = line if continued is None else continued + line
        if _ends_escaped(line):
            continued = whole[:-1]
        else:
            yield whole
            continued = None
    if continued:
        yield continued


def _ends_escaped(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    position = 0
    while position < len(line) and line[position] not in f"=:{_BLANKS}":
        position += 2 if line[position] == "\\" else 1
    key, rest = line[:position], line[position:].lstrip(_BLANKS)
    if rest and rest[0] in "=:":
        rest = rest[1:].lstrip(_BLANKS)
    return key, rest


def _unescape(text: str) -> str:
    units = _ESCAPE.sub(lambda found: _plain(found.group(1)), text)
    # Java escapes UTF-16 units, so a character beyond the first plane comes as a surrogate pair.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(escaped: str) -> str:
    if len(escaped) == 5:
        return chr(int(escaped[1:], 16))
    return _ESCAPED.get(escaped, escaped)


def _escape_key(text: str) -> str:
    return "".join(map(_escape, text)).replace(" ", "\\ ")


def _escape_value(text: str) -> str:
    escaped = "".join(map(_escape, text))
    return f"\\{escaped}" if text.startswith(" ") else escaped


def _escape(char: str) -> str:
    return _SPECIAL.get(char) or _ascii(char)


def _comment(line: str) -> str:
    return "".join(map(_ascii, line.replace("\r", " ").replace("\n", " ")))


def _ascii(char: str) -> str:
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n] << 8 | units[n + 1]:04X}" for n in range(0, len(units), 2))
