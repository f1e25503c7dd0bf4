"""What may be asked of rollbacks, savepoints and restores."""

from dataclasses import fields

import pytest

from pyhudi.errors import OptionError
from pyhudi.flags import flags_of
from pyhudi.jobs.request import Request
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest

BASE = ["--base-path", "/t"]
AT = "20260102030405678"


@pytest.mark.parametrize("kind", [RollbackRequest, RestoreRequest, SavepointRequest])
def test_a_request_is_its_flags(kind: type[Request]) -> None:
    shared = [entry.name for entry in fields(Request)]
    own = [entry.name for entry in fields(kind) if entry.name not in shared]
    assert [*flags_of(kind)] == ["base_path", *own, *shared[1:]]
    asked = kind.from_args([*BASE, "--instant", AT])
    assert kind.from_args(asked.to_args()) == asked
    with pytest.raises(OptionError, match="no single instant"):
        kind.from_args([*BASE, "--instant", "2026-01-02"])


@pytest.mark.parametrize("kind", [RollbackRequest, RestoreRequest])
def test_what_is_undone_has_to_be_named(kind: type[Request]) -> None:
    with pytest.raises(OptionError, match="--instant"):
        kind.from_args(BASE)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--mode", "drop"], "mode is 'drop'; allowed: create, delete, list"),
        (["--mode", "delete"], "name the savepoint"),
        (["--mode", "list", "--instant", AT], "leave --instant out"),
        (["--mode", "list", "--comment", "why"], "that is created"),
    ],
)
def test_a_mode_of_savepoints_and_what_does_not_belong_to_it(args: list[str], why: str) -> None:
    with pytest.raises(OptionError, match=why):
        SavepointRequest.from_args([*BASE, *args])


def test_results_call_the_modes_of_savepoints_by_names_of_their_own() -> None:
    names = [SavepointRequest(base_path="/t", mode=m).operation_name for m in ("Create", "delete")]
    assert names == ["savepoint", "delete_savepoint"]


def test_a_result_with_savepoints_reads_back() -> None:
    result = JobResult(
        status="committed",
        operation="savepoint",
        table="t",
        base_path="/t",
        savepoints=({"instant": AT, "files": 2},),
    )
    assert JobResult.from_json(result.to_json()) == result
