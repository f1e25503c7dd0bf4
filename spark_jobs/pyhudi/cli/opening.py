"""The table that a command is about, opened from its command line."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyhudi.config.access.secret import secrets_of
from pyhudi.config.table import TableType, TimelineZone
from pyhudi.flags import SECRETS_VARIABLE, key_values, with_secrets
from pyhudi.table.table import Table, open_table

_TYPES = {TableType.COPY_ON_WRITE: "copy-on-write", TableType.MERGE_ON_READ: "merge-on-read"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a table lies, how its storage is reached, and Hudi options; secrets included."""

    path: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    hoodie_conf: Mapping[str, str] = field(default_factory=dict, repr=False)


def place_of(given: argparse.Namespace) -> Place:
    """The place that a command line names, with the secrets of the environment.

    Raises:
        OptionError: an option that is no pair, or an environment that is no JSON of such.
    """
    options = key_values("--storage-option", given.storage_option)
    if secrets_of(options):
        _log.warning(
            "the command line has secrets, which everyone on this machine can read; give them in "
            'the environment variable %s, as {"storage_options": {"secret_key": "..."}}',
            SECRETS_VARIABLE,
        )
    conf = key_values("--hoodie-conf", getattr(given, "hoodie_conf", ()))
    place = Place(path=given.table, storage_options=options, hoodie_conf=conf)
    return with_secrets(place, os.environ.get(SECRETS_VARIABLE))


def open_given(given: argparse.Namespace) -> Table:
    """The table that a command line names.

    Raises:
        TableNotFoundError: there is none.
        UnsupportedError: a table version that is not known.
    """
    place = place_of(given)
    return open_to_report(place.path, place.storage_options)


def open_to_report(path: str, storage_options: Mapping[str, str] | None = None) -> Table:
    """The table at a path, to be reported on even where files are lost.

    Raises:
        TableNotFoundError: there is none.
        UnsupportedError: a table version that is not known.
    """
    # What is lost is what reports are asked about.
    return replace(open_table(path, storage_options), skips_damaged=True)


def subject_of(table: Table) -> str:
    """A table in one line: its name, its type and where it lies."""
    config = table.config
    return f"{config.name}, {_TYPES[config.table_type]}, at {table.storage.uri}"


def zone_of(table: Table) -> str:
    """The zone of a table's times, as people call it."""
    return "UTC" if table.config.timezone is TimelineZone.UTC else "local time"
