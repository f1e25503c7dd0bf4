"""How a table is made of a dataset that is there: its source, and what becomes of each partition.

Source: HoodieBootstrapConfig and HoodieTableConfig, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pyhudi.config import option
from pyhudi.config.option import declare, read_settings, setting
from pyhudi.config.options.operations import ON_EXISTING, OnExisting
from pyhudi.errors import OptionError, UnsupportedError


class BootstrapMode(Enum):
    """What becomes of the files of a partition of the source.

    ``METADATA_ONLY`` leaves the rows where they are and writes their keys beside; ``FULL_RECORD``
    writes the rows into files of the table.
    """

    METADATA_ONLY = "METADATA_ONLY"
    FULL_RECORD = "FULL_RECORD"


class Selector(Enum):
    """What chooses the mode of each partition."""

    METADATA_ONLY = "metadata_only"
    FULL_RECORD = "full_record"
    REGEX = "regex"


class SaveMode(Enum):
    """What is done where a table is already, in Spark's words."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    IGNORE = "ignore"
    ERROR_IF_EXISTS = "errorifexists"


_SELECTORS: Final = "org.apache.hudi.client.bootstrap.selector."
_TRANSLATORS: Final = "org.apache.hudi.client.bootstrap.translator."
_SELECTOR_CLASSES: Final[Mapping[str, Selector]] = {
    f"{_SELECTORS}MetadataOnlyBootstrapModeSelector": Selector.METADATA_ONLY,
    f"{_SELECTORS}FullRecordBootstrapModeSelector": Selector.FULL_RECORD,
    f"{_SELECTORS}BootstrapRegexModeSelector": Selector.REGEX,
}
IDENTITY: Final = f"{_TRANSLATORS}IdentityBootstrapPartitionPathTranslator"
DECODED: Final = f"{_TRANSLATORS}DecodedBootstrapPartitionPathTranslator"
INDEX_CLASS: Final = "org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex"
"""The one index class there is that finds files of a source."""
_INDEX_CLASSES: Final = (INDEX_CLASS, "org.apache.hudi.common.bootstrap.index.HFileBootstrapIndex")


def _selector(text: str) -> Selector:
    by_name = {each.value: each for each in Selector}
    found = _SELECTOR_CLASSES.get(text) or by_name.get(text.lower())
    if found is None:
        raise ValueError(", ".join((*_SELECTOR_CLASSES, *by_name)))
    return found


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"a regular expression; this one has {error}") from error
    return text


def _only(*classes: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text and text not in classes:
            raise UnsupportedError(f"{text!r}, which is not supported; supported is {classes[0]}")
        return classes[0]

    return parse


def _index_is_used(text: str) -> bool:
    if not option.parse_bool(text):
        raise UnsupportedError("false, without which nobody finds the rows of the source")
    return True


_BOOTSTRAP = "hoodie.bootstrap."
BASE_PATH = declare(f"{_BOOTSTRAP}base.path", option.parse_optional_text, default=None)
"""folder or URI of the dataset that a table is made of"""
MODE_SELECTOR = declare(f"{_BOOTSTRAP}mode.selector", _selector, default=Selector.METADATA_ONLY)
"""what chooses the mode of each partition: metadata_only, full_record or regex, or Hudi's class"""
MODE_REGEX = declare(f"{_BOOTSTRAP}mode.selector.regex", _pattern, default=".*")
"""with the selector regex, the partition paths of the source that get the mode of the next option;
the others get the other one"""
REGEX_MODE = declare(
    f"{_BOOTSTRAP}mode.selector.regex.mode",
    option.parse_enum(BootstrapMode),
    default=BootstrapMode.METADATA_ONLY,
)
"""the mode of partitions that match"""
TRANSLATOR = declare(
    f"{_BOOTSTRAP}partitionpath.translator.class", option.parse_text, default=IDENTITY
)
"""what makes the partition paths of the table of those of the source: one of Hudi's two classes, or
the path of a Python class with a method translate"""
PARALLELISM = declare(f"{_BOOTSTRAP}parallelism", option.parse_positive, default=1500)
"""tasks at most that read the source at once"""
KEY_GENERATOR = declare(
    f"{_BOOTSTRAP}keygen.class",
    option.parse_optional_text,
    default=None,
    aliases=(f"{_BOOTSTRAP}keygen.type",),
)
"""key generator of a bootstrap, class or type; the one of the write unless it is given"""
INDEX = declare(f"{_BOOTSTRAP}index.class", _only(*_INDEX_CLASSES), default=INDEX_CLASS)
"""class of the index of source files"""
INDEX_BY_CLASS: Final[Mapping[str, str]] = {INDEX.key: INDEX_CLASS}
INDEX_BY_TYPE: Final[Mapping[str, str]] = {f"{_BOOTSTRAP}index.type": "HFILE"}
"""How a table names the index: in version 6, and in later ones."""
INDEX_ENABLE = declare(f"{_BOOTSTRAP}index.enable", _index_is_used, default=True)
"""a table has an index of its source's files"""
SAVE_MODE = declare(
    "pyhudi.bootstrap.save.mode",
    option.parse_enum(SaveMode),
    default=SaveMode.APPEND,
    since="pyhudi",
)
"""what a bootstrap does where a table is: append refuses one with writes, overwrite deletes it
first, ignore leaves it, errorifexists refuses any"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapConfig:
    """What a bootstrap is asked to do.

    ``translator`` is one of Hudi's classes or the path of one in Python. ``existing`` is what is
    done where a bootstrap of the same slot is there, if that is said.
    """

    source: str
    selector: Selector = setting(MODE_SELECTOR)
    regex: str = setting(MODE_REGEX)
    regex_mode: BootstrapMode = setting(REGEX_MODE)
    translator: str = setting(TRANSLATOR)
    parallelism: int = setting(PARALLELISM)
    key_generator: str | None = setting(KEY_GENERATOR)
    save_mode: SaveMode = setting(SAVE_MODE)
    existing: OnExisting | None = setting(ON_EXISTING)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> BootstrapConfig:
        """What options ask for.

        Raises:
            OptionError: a value that is not allowed, or no source.
            UnsupportedError: a value that Hudi allows and that cannot be done here.
        """
        INDEX.read(options)
        INDEX_ENABLE.read(options)
        source = BASE_PATH.read(options)
        if not source:
            raise OptionError(
                f"there is no source; name the dataset with --source or {BASE_PATH.key}"
            )
        found = read_settings(cls, options, source=source)
        if found.existing is OnExisting.REPLACE:
            raise OptionError(
                f"{ON_EXISTING.key} is replace, and a bootstrap makes the first rows of a table; "
                f"{SAVE_MODE.key}={SaveMode.OVERWRITE.value} deletes the table and makes it anew"
            )
        return found

    @property
    def reuses(self) -> bool:
        """Whether a bootstrap of the same slot stands for this one.

        It does unless something else is said, such as that the table is to be made anew.
        """
        if self.existing is None:
            return self.save_mode is not SaveMode.OVERWRITE
        return self.existing is OnExisting.REUSE

    def mode_of(self, partition: str) -> BootstrapMode:
        """The mode of a partition, by its path in the source.

        Source: BootstrapRegexModeSelector, Hudi 0.15: the whole path has to match.
        """
        if self.selector is Selector.REGEX:
            is_match = re.fullmatch(self.regex, partition) is not None
            other = {
                BootstrapMode.METADATA_ONLY: BootstrapMode.FULL_RECORD,
                BootstrapMode.FULL_RECORD: BootstrapMode.METADATA_ONLY,
            }
            return self.regex_mode if is_match else other[self.regex_mode]
        return BootstrapMode[self.selector.name]
