"""Which partitions and file groups an overwrite hides. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from pyhudi.config.options.operations import Operation
from pyhudi.filegroup.slices import GroupId


def matching_partitions(patterns: Sequence[str], existing: Iterable[str]) -> tuple[str, ...]:
    """The partition paths that a list of paths and patterns means, sorted.

    A ``*``, or ``%2A`` where a pattern has no ``*``, stands for any characters, slashes too.

    Source: HoodieSparkSqlWriter.resolvePartitionWildcards, Hudi 0.15 and 1.1.
    """
    tests = [_test(pattern) for pattern in patterns]
    return tuple(sorted(path for path in existing if any(test.fullmatch(path) for test in tests)))


def replaced_partitions(
    operation: Operation, *, batch: Sequence[str], static: Sequence[str], existing: Sequence[str]
) -> tuple[str, ...]:
    """The partitions whose file groups an operation hides.

    ``batch`` are those that rows were written to or that were asked for, ``static`` those that are
    replaced in their stead, ``existing`` those of the table.

    Source: SparkInsertOverwriteCommitActionExecutor and its subclasses, Hudi 0.15 and 1.1.
    """
    if operation is Operation.INSERT_OVERWRITE_TABLE:
        return tuple(existing)
    is_static = operation is Operation.INSERT_OVERWRITE and static
    return tuple(static) if is_static else tuple(batch)


def replaced_file_ids(
    partitions: Iterable[str], groups: Iterable[GroupId]
) -> dict[str, tuple[str, ...]]:
    """Every file group of some partitions, as the metadata of a replacecommit lists them.

    Partitions without any file group are listed too, as Hudi does.

    Shapes: ``groups`` are those of these partitions at least.
    Source: SparkInsertOverwriteCommitActionExecutor.getPartitionToReplacedFileIds, Hudi 0.15.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for partition, file_id in groups:
        found[partition].append(file_id)
    return {path: tuple(sorted(found.get(path, ()))) for path in sorted(set(partitions))}


def _test(pattern: str) -> re.Pattern[str]:
    token = "*" if "*" in pattern else "%2A"
    return re.compile(".*".join(re.escape(part) for part in pattern.split(token)), re.DOTALL)
