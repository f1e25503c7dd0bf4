"""What is done about options that are not declared: refused, or named in one warning."""

from __future__ import annotations

import logging
from collections.abc import Mapping

# Imported so that their options are declared.
from pyhudi.config import files, merging, read, write
from pyhudi.config.option import canonical_key, declared
from pyhudi.errors import OptionError, UnsupportedError

MODULES = (files, merging, read, write)

_STRATEGIES = (
    # The ids of event-time and commit-time ordering; 0.15 gives the first whatever the payload.
    "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
    "ce9acb64-bde0-424c-9b91-f6ebba25356d",
)
_MERGERS = (
    "org.apache.hudi.common.model.hoodieavrorecordmerger",
    "org.apache.hudi.hoodiesparkrecordmerger",
)

REFUSED: Mapping[str, tuple[str, ...]] = {
    "hoodie.allow.operation.metadata.field": ("false",),
    "hoodie.base.file.format": ("parquet",),
    "hoodie.bootstrap.base.path": (),
    "hoodie.bulkinsert.overwrite.operation.type": (),
    "hoodie.compaction.record.merger.strategy": _STRATEGIES,
    "hoodie.datasource.insert.dup.policy": ("none",),
    "hoodie.datasource.overwrite.mode": (),
    "hoodie.datasource.write.drop.partition.columns": ("false",),
    "hoodie.datasource.write.insert.drop.duplicates": ("false",),
    "hoodie.datasource.write.partitions.to.delete": (),
    "hoodie.datasource.write.reconcile.schema": ("false",),
    "hoodie.datasource.write.record.merger.impls": _MERGERS,
    "hoodie.datasource.write.record.merger.strategy": _STRATEGIES,
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": ("false",),
    "hoodie.index.class": (),
    "hoodie.parquet.outputtimestamptype": ("timestamp_micros",),
    "hoodie.partition.ttl.inline": ("false",),
    "hoodie.payload.delete.field": (),
    "hoodie.payload.delete.marker": (),
    "hoodie.populate.meta.fields": ("true",),
    "hoodie.record.merge.strategy.id": _STRATEGIES,
    "hoodie.schema.on.read.enable": ("false",),
    "hoodie.table.base.file.format": ("parquet",),
    "hoodie.table.cdc.enabled": ("false",),
    "hoodie.table.version": ("6",),
    "hoodie.write.concurrency.mode": ("single_writer",),
    "hoodie.write.partial.update.schema": (),
    "hoodie.write.record.merge.custom.implementation.classes": _MERGERS,
    "hoodie.write.record.merge.strategy.id": _STRATEGIES,
    "hoodie.write.schema": (),
}
"""Options that are not followed, with the values, in small letters, for which that is no matter."""

QUIET: Mapping[str, str] = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "direct",
}

_log = logging.getLogger(__name__)


def check_known(options: Mapping[str, str]) -> tuple[str, ...]:
    """Refuse options that would change the data if they were ignored; the ignored ones, sorted.

    Those of Hudi that are ignored are named in one warning. Keys that begin with neither
    ``hoodie.`` nor ``pyhudi.`` are other people's.

    Raises:
        OptionError: a key of our own that does not exist.
        UnsupportedError: an option whose value asks for what is not done here.
    """
    undeclared = [key for key in sorted(options) if canonical_key(key) not in declared()]
    for key in undeclared:
        if key.startswith("pyhudi."):
            ours = sorted(known for known in declared() if known.startswith("pyhudi."))
            raise OptionError(f"there is no option {key}; there is {', '.join(ours)}")
        _refuse(key, options[key].strip())
    ignored = tuple(key for key in undeclared if _is_ignored(key, options[key].strip()))
    if ignored:
        _log.warning("these options have no effect here: %s", ", ".join(ignored))
    return ignored


def _refuse(key: str, value: str) -> None:
    if key not in REFUSED or not value or value.lower() in REFUSED[key]:
        return
    allowed = " or ".join(REFUSED[key])
    advice = f"allowed: {allowed}" if allowed else "leave it out"
    raise UnsupportedError(
        f"option {key} is {value!r}, which is not supported and would change the data; {advice}"
    )


def _is_ignored(key: str, value: str) -> bool:
    is_hudis = key.startswith("hoodie.")
    return is_hudis and key not in REFUSED and value.lower() != QUIET.get(key)
