"""What a replacecommit says when it is requested.

A clustering puts its plan there; of every other replacecommit the file says nothing.

Source: HoodieRequestedReplaceMetadata, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from pyhudi.schema import avro
from pyhudi.schema.codec import write_container

_NAME = "HoodieRequestedReplaceMetadata"


@cache
def requested_replace() -> bytes:
    """The body of the requested file of a replacecommit that is no clustering.

    Source: BaseHoodieWriteClient.startCommit, Hudi 0.15: a record without a single value.
    """
    schema = avro.parse(
        (resources.files("pyhudi.actions") / "avsc" / f"{_NAME}.avsc").read_text(encoding="utf-8")
    )
    fields = ("operationType", "clusteringPlan", "extraMetadata", "version")
    return write_container(schema, dict.fromkeys(fields))
