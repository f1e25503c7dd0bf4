"""Which partitions and file groups an overwrite hides."""

import pytest

from pyhudi.config.options.operations import Operation
from pyhudi.write.plan.replacing import matching_partitions, replaced_file_ids, replaced_partitions
from tests.support.slices import base_of

EXISTING = ("2024/01", "2024/02", "2025/01", "a.b", "a*b", "axb", "")


@pytest.mark.parametrize(
    ("patterns", "wanted"),
    [
        (["2024/01"], ["2024/01"]),
        (["2024/*"], ["2024/01", "2024/02"]),
        (["*/01"], ["2024/01", "2025/01"]),
        (["2024%2A"], ["2024/01", "2024/02"]),
        (["a.b"], ["a.b"]),
        (["a*b"], ["a*b", "a.b", "axb"]),
        (["*"], sorted(EXISTING)),
        (["*a%2Ab"], []),
        (["2024", "202?/01", "nowhere"], []),
        (["2024/02", "2024*"], ["2024/01", "2024/02"]),
        ([""], [""]),
        ([], []),
    ],
)
def test_a_star_stands_for_any_characters_and_nothing_else_does(
    patterns: list[str], wanted: list[str]
) -> None:
    assert list(matching_partitions(patterns, EXISTING)) == wanted


@pytest.mark.parametrize(
    ("effect", "static", "wanted"),
    [
        (Operation.INSERT_OVERWRITE, (), ("b",)),
        (Operation.INSERT_OVERWRITE, ("s",), ("s",)),
        (Operation.INSERT_OVERWRITE_TABLE, ("s",), ("b", "e")),
        (Operation.DELETE_PARTITION, ("s",), ("b",)),
    ],
)
def test_each_operation_replaces_its_own_partitions(
    effect: Operation, static: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    assert replaced_partitions(effect, batch=("b",), static=static, existing=("b", "e")) == wanted


def test_every_file_group_of_a_partition_is_replaced() -> None:
    files = [base_of("g2-0", 1, "p"), base_of("g1-0", 1, "p"), base_of("g3-0", 1, "q")]
    groups = [(file.partition, file.file_id) for file in files]
    found = replaced_file_ids(["p", "new", "p"], groups)
    assert found == {"new": (), "p": ("g1-0", "g2-0")}
