"""Files outside a table that a clean deletes: those that it was bootstrapped from, where asked.

Source: CleanActionExecutor.deleteFilesFunc, Hudi 0.15 and 1.1, which delete what a plan says. Here
the run that deletes has to be asked for it, and the table's index has to name the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pyhudi.actions.clean import CleanPlan
from pyhudi.filegroup.names import parse_base_file_name
from pyhudi.fileslice.sources import place_of_source
from pyhudi.storage.storage import Storage
from pyhudi.table.bootstrap_index import read_bootstrap_index
from pyhudi.timeline.instant import METADATA_BOOTSTRAP


def unneeded_sources(
    storage: Storage, plan: CleanPlan, needed: Collection[str]
) -> Mapping[str, tuple[str, ...]]:
    """The sources of a plan that a table no longer reads, by partition path.

    ``needed`` are the names of its files that stay. What the table's index does not name is not a
    source of its, and stays whatever the plan says.
    """
    if not plan.sources:
        return {}
    index = read_bootstrap_index(storage, plan.sources.keys())
    if index is None:
        return {}
    parsed = (parse_base_file_name(name) for name in needed)
    kept = {each.file_id for each in parsed if each and each.instant == METADATA_BOOTSTRAP}
    found = {}
    for partition, uris in plan.sources.items():
        known = index.partitions.get(partition)
        files = {} if known is None else known.files
        own = {file.path for file_id, file in files.items() if file_id not in kept}
        found[partition] = tuple(uri for uri in uris if uri in own)
    return {partition: uris for partition, uris in found.items() if uris}


def delete_sources(storage: Storage, uris: Iterable[str]) -> None:
    """Delete files of the source of the table in a storage; absent is fine.

    Raises:
        StorageError: one cannot be deleted.
    """
    for uri in uris:
        place, name = place_of_source(storage, uri)
        place.delete(name)
