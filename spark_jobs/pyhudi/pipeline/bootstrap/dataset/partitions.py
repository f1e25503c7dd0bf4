"""Folders of a source become partitions of a table: their paths, column values and modes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import Final, Protocol

import pyarrow as pa

from pyhudi.config.options.bootstrap import (
    DECODED,
    IDENTITY,
    TRANSLATOR,
    BootstrapConfig,
    BootstrapMode,
)
from pyhudi.config.options.table import (
    HIVE_STYLE,
    PARTITION_PATH_FIELD,
    URL_ENCODE,
    TableSettings,
)
from pyhudi.errors import OptionError, RequestError, SourceError
from pyhudi.keys.generators import KeyGenerator, paths_hold_values
from pyhudi.keys.partition_path import partition_values, unescape
from pyhudi.pipeline.bootstrap.dataset.source import SourceData

_ESCAPED: Final = re.compile("%[0-9a-fA-F]{2}")


class Translator(Protocol):
    """What a class must offer to name partitions; it is made without arguments.

    ``translate`` gets the path of a folder relative to the source, and answers the partition path
    in the table; no two may have the same.
    """

    def translate(self, path: str) -> str:
        """The partition path of a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenPartition:
    """A folder of the source and the partition that it becomes.

    ``source_path`` is relative to the source, ``path`` to the table, and ``values`` has those of
    the partition columns that its files lack.
    """

    source_path: str
    path: str
    mode: BootstrapMode
    files: tuple[SourceData, ...]
    values: Mapping[str, pa.Scalar]

    @property
    def size_bytes(self) -> int:
        """Bytes of its files."""
        return sum(each.file.size_bytes for each in self.files)

    @property
    def rows(self) -> int:
        """Rows of its files."""
        return sum(each.rows for each in self.files)


def inferred_settings(
    settings: TableSettings, config: BootstrapConfig, folders: Iterable[str]
) -> dict[str, str]:
    """What the names of the folders say of a table, as texts of options; nothing that is given.

    Folders that are all ``column=value`` name partition columns and are in Hive's style; values
    with escapes, unless a translator decodes them, are escaped in the table's paths too.
    """
    found: dict[str, str] = {}
    levels = [folder.split("/") for folder in folders if folder]
    names = {tuple(level.partition("=")[0] for level in each) for each in levels}
    is_hive = bool(levels) and all("=" in level for each in levels for level in each)
    if not is_hive or len(names) != 1 or config.translator not in (IDENTITY, DECODED):
        return found
    if settings.partition_fields is None:
        found[PARTITION_PATH_FIELD.key] = ",".join(names.pop())
    if settings.hive_style is None:
        found[HIVE_STYLE.key] = "true"
    has_escapes = any(_ESCAPED.search(level) for each in levels for level in each)
    if settings.url_encode is None and has_escapes and config.translator == IDENTITY:
        found[URL_ENCODE.key] = "true"
    return found


def taken_partitions(
    files: Sequence[SourceData], config: BootstrapConfig, keys: KeyGenerator, schema: pa.Schema
) -> tuple[TakenPartition, ...]:
    """The partitions that the files become, ordered by their paths in the source.

    ``schema`` has the columns of the table; ``keys`` says how its paths are made.

    Raises:
        SourceError: a folder is no partition of the table that is asked for.
        OptionError: there is no such translator.
        RequestError: it gave no path, or one twice.
    """
    translate = load_translator(config.translator)
    taken: dict[str, TakenPartition] = {}
    for folder, own in groupby(sorted(files, key=_place), key=lambda each: each.file.folder):
        path = _translated(config.translator, translate, folder)
        if path in taken:
            raise RequestError(
                f"the translator {config.translator} gives the folders "
                f"{taken[path].source_path!r} and {folder!r} one partition path, {path!r}"
            )
        taken[path] = TakenPartition(
            source_path=folder,
            path=path,
            mode=config.mode_of(folder),
            files=tuple(own),
            values=values_of(path, keys, schema),
        )
    return tuple(taken.values())


def _place(data: SourceData) -> tuple[str, str]:
    return data.file.folder, data.file.path


def values_of(path: str, keys: KeyGenerator, schema: pa.Schema) -> dict[str, pa.Scalar]:
    """The values of the partition columns in a path.

    Shapes: scalars of the types in ``schema``; none for a generator whose paths hold no values, nor
        for fields of structs.

    Raises:
        SourceError: the table would not give rows with these values this path.
    """
    fields = keys.path_fields
    if not fields and path:
        raise SourceError(
            f"the source has the folder {path!r}, and the table no partition columns; name them "
            f"with --partition-path ({PARTITION_PATH_FIELD.key})"
        )
    if not paths_hold_values(keys.key_generator_class):
        return {}
    types = [_type_of(schema, name) for name in fields]
    values = partition_values(
        path, fields, types, hive_style=keys.hive_style, url_encoded=keys.url_encode
    )
    shown = ", ".join(f"{name} ({kind})" for name, kind in zip(fields, types, strict=True))
    style = "column=value" if keys.hive_style else "plain values"
    if values is None:
        raise SourceError(
            f"the folder {path!r} of the source is no partition by {shown} with {style} as names; "
            f"see {PARTITION_PATH_FIELD.key} and {HIVE_STYLE.key}, or translate the folders with "
            f"{TRANSLATOR.key}"
        )
    row = pa.table({name: pa.repeat(values[name], 1) for name in fields}) if fields else None
    made = path if row is None else keys.partition_paths(row)[0].as_py()
    if made != path:
        raise SourceError(
            f"the folder {path!r} of the source is a partition whose rows the table would put "
            f"into {made!r}: later writes would not find them there. See {URL_ENCODE.key}, or "
            f"translate the folders with {TRANSLATOR.key}"
        )
    return {name: value for name, value in values.items() if "." not in name}


def _type_of(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of a column, or of a field of structs by its dotted name."""
    top, *inner = [name] if name in schema.names else name.split(".")
    kind = schema.field(top).type
    for part in inner:
        kind = kind.field(part).type
    return kind


def load_translator(name: str) -> Translator:
    """The translator of this name: Hudi's, or one in Python, ``package.module:Class``.

    Raises:
        OptionError: there is no such class, or it has no ``translate``.
    """
    if name == IDENTITY:
        return _Identity()
    if name == DECODED:
        return _Decoded()
    module_name, _, class_name = name.replace(":", ".").rpartition(".")
    try:
        found = getattr(import_module(module_name), class_name, None)
    except (ImportError, ValueError) as error:
        raise OptionError(f"the translator {name} cannot be imported: {error}") from error
    if not isinstance(found, type) or not callable(getattr(found, "translate", None)):
        raise OptionError(f"the translator {name} is no class with a method translate")
    translator: Translator = found()
    return translator


def _translated(name: str, translator: Translator, folder: str) -> str:
    path: object = translator.translate(folder)
    levels = path.split("/") if isinstance(path, str) and path else []
    is_path = all(level and not level.startswith(".") for level in levels)
    if not isinstance(path, str) or not is_path:
        raise RequestError(
            f"the translator {name} gives the folder {folder!r} the partition path {path!r}; it "
            "must give folder names with single slashes between them, none hidden"
        )
    return path


class _Identity:
    """Source: IdentityBootstrapPartitionPathTranslator, Hudi 0.15."""

    def translate(self, path: str) -> str:
        return path


class _Decoded:
    """Source: DecodedBootstrapPartitionPathTranslator, Hudi 0.15."""

    def translate(self, path: str) -> str:
        return unescape(path)
