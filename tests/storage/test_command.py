"""The console command on every kind of storage: it looks, checks, plans and serves."""

import json

import pytest

from pyhudi.flags import SECRETS_VARIABLE
from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from tests.support.backends import BACKENDS, place_on
from tests.support.console import Shell
from tests.support.local_rows import LocalRows
from tests.support.orders import OPERATION, OPTIONS, many

KINDS = [each for each in BACKENDS if each.id not in ("memory", "local")]
BY_VERSIONS = (
    *("--policy", "KEEP_LATEST_FILE_VERSIONS"),
    *("--hoodie-conf", "hoodie.clean.fileversions.retained=1"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_looks_checks_plans_and_serves(
    kind: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place, runner, shell = place_on(kind, request), InProcessRunner(), Shell(capsys)
    environment = environment_on(runner, place.options)
    instants = [
        write_rows(
            environment,
            LocalRows.of(runner, many(range(8), number, "x")),
            place.uri,
            {**OPTIONS, OPERATION: "upsert"},
        ).instant
        for number in range(2)
    ]
    monkeypatch.setenv(SECRETS_VARIABLE, json.dumps({"storage_options": place.options}))
    found = shell.json("commits", place.uri)["commits"]
    assert [each["instant"] for each in found] == instants
    assert shell.json("count", place.uri)["rows"] == 8
    assert len(shell.json("files", place.uri)["file_slices"]) == 2
    assert shell.outcome("validate", place.uri)[0] == 0
    cleaned = shell.json("clean", place.uri, *BY_VERSIONS, "--dry-run")
    assert cleaned["files"] == 2
    assert shell.json("savepoint", place.uri, "--dry-run")["files"] == 2
    assert shell.json("rollback", place.uri, "--instant", instants[1], "--dry-run")["files"] == 2
    assert shell.json("clean", place.uri, *BY_VERSIONS)["files"] == {"deleted": 2}
    assert shell.outcome("validate", place.uri)[0] == 0
