"""The request of ``spark_jobs/bootstrap.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.options import bootstrap, table
from pyhudi.errors import OptionError
from pyhudi.flags import Flag
from pyhudi.jobs.request import OnExistingFlag, Request, SlotKey, SlotSince

BOOTSTRAP = "bootstrap"
"""What results call the operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapRequest(Request):
    """Which dataset to make a table of: the flags of ``spark_jobs/bootstrap.py`` as a value."""

    script: ClassVar[str] = "bootstrap"
    purpose: ClassVar[str] = "Make a Hudi table of a dataset of Parquet or ORC files."

    source: Annotated[
        str | None,
        Flag(help="folder or URI of the dataset", option=bootstrap.BASE_PATH),
    ] = None
    source_format: Annotated[str, Flag(help="parquet or orc")] = "parquet"
    table_name: Annotated[str | None, Flag(help="name of the table", option=table.TABLE_NAME)] = (
        None
    )
    table_type: Annotated[
        str | None, Flag(help="COPY_ON_WRITE or MERGE_ON_READ", option=table.TABLE_TYPE)
    ] = None
    record_key: Annotated[
        str | None,
        Flag(help="comma-separated columns that name a record", option=table.RECORD_KEY_FIELD),
    ] = None
    partition_path: Annotated[
        str | None,
        Flag(
            help="comma-separated columns to partition by; those that the source's folders name, "
            "as in city=Rome, unless it is given",
            option=table.PARTITION_PATH_FIELD,
        ),
    ] = None
    ordering_field: Annotated[
        str | None,
        Flag(
            help="column whose highest value wins among records of one key",
            option=table.ORDERING_FIELD,
        ),
    ] = None
    selector: Annotated[
        str | None,
        Flag(
            help="what becomes of partitions: metadata_only (rows stay in the source, the "
            "default), full_record (rows are written) or regex",
            option=bootstrap.MODE_SELECTOR,
        ),
    ] = None
    regex: Annotated[
        str | None,
        Flag(
            help="partitions, by their whole path in the source, that get the mode --regex-mode; "
            "the others get the other one",
            option=bootstrap.MODE_REGEX,
        ),
    ] = None
    regex_mode: Annotated[
        str | None, Flag(help="metadata_only or full_record", option=bootstrap.REGEX_MODE)
    ] = None
    save_mode: Annotated[
        str | None,
        Flag(
            help="where a table is already: append (it must be empty, the default), overwrite "
            "(it is deleted first), ignore (nothing is done) or errorifexists",
            option=bootstrap.SAVE_MODE,
        ),
    ] = None
    dry_run: Annotated[
        bool,
        Flag(help="say partition by partition what would be done, and write nothing"),
    ] = False
    slot_key: SlotKey = None
    on_existing: OnExistingFlag = None
    slot_since: SlotSince = None

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        return BOOTSTRAP

    @property
    def kind(self) -> BaseFileFormat:
        """The format of the dataset's files.

        Raises:
            OptionError: it is none that a table can have.
        """
        by_name = {each.value.lower(): each for each in BaseFileFormat}
        found = by_name.get(self.source_format.strip().lower())
        if found is None:
            raise OptionError(
                f"--source-format is {self.source_format!r}; allowed: {', '.join(by_name)}"
            )
        return found

    def check(self) -> None:
        """Refuse what no dataset can mend.

        Raises:
            OptionError: says what.
        """
        _ = self.kind
        bootstrap.BootstrapConfig.from_options(self.options())
