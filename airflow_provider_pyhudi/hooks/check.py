"""What the test button of a connection looks at, and says."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from pyhudi.errors import HudiError, SetupError
from pyhudi.surroundings import check_java, check_pyspark, installed_version

MOST_TABLES = 20
"""Tables that are opened for a test, so that the button answers soon."""


def check_base(base: str, options: Mapping[str, str]) -> tuple[bool, str]:
    """Whether the tables below a folder can be read and Spark can write them, and what is wrong.

    The pair of pyspark and pyspark-client is that of this machine, which is the API server's when
    the button is pressed. What is wrong with its Java is said and is no failure: tasks need one
    where they run, and look for it there.
    """
    from pyhudi.storage.schemes import open_storage

    if not base:
        return False, "the connection has no host: set it to the folder the tables lie in"
    try:
        check_pyspark(installed_version("pyspark"), installed_version("pyspark-client"))
        storage = open_storage(base, options)
        if not storage.exists(""):
            return False, f"the folder {base} is not there"
        tables = [
            entry.name
            for entry in storage.list("")
            if entry.is_dir and storage.exists(f"{entry.name}/.hoodie")
        ]
        wrong = list(_wrong(base, options, tables[:MOST_TABLES]))
    except HudiError as error:
        return False, str(error)
    if wrong:
        return False, "; ".join(wrong)
    count = len(tables)
    told = f"{base} can be read and has {count} table{'' if count == 1 else 's'}"
    if count > MOST_TABLES:
        told += f", of which the first {MOST_TABLES} were opened"
    return True, told + _about_spark()


def _about_spark() -> str:
    """What Spark is on this machine, and why it would not start here."""
    pyspark = installed_version("pyspark")
    if pyspark is None:
        return "; there is no pyspark on this machine, so that Spark must be where tasks run"
    try:
        check_java(os.environ)
    except SetupError as error:
        return f"; with pyspark {pyspark} here Spark starts only where tasks run: {error}"
    return f"; Spark is that of pyspark {pyspark}"


def _wrong(base: str, options: Mapping[str, str], names: list[str]) -> Iterator[str]:
    """Of each table that cannot be opened why."""
    for name in names:
        problem = _problem(f"{base.rstrip('/')}/{name}", options)
        if problem:
            yield f"table {name}: {problem}"


def _problem(path: str, options: Mapping[str, str]) -> str | None:
    from pyhudi.table.table import open_table

    try:
        open_table(path, options)
    except HudiError as error:
        return str(error)
    return None
