"""The command line: what is refused in one line, and what every command ends with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyhudi.cli import main as module
from pyhudi.cli.commands import COMMANDS, LOCKS, PLANS, SERVICES
from pyhudi.errors import ConflictError, InvariantError, StorageError
from tests.support.console import Shell
from tests.support.golden import golden_copy
from tests.support.mor_table import MorTable
from tests.support.source_tree import ENGINE, run_python

INSTANT = "20260102030405678"
NEEDED = {
    "show": (INSTANT,),
    "diff": ("2025", "2026"),
    "rollback": ("--instant", INSTANT),
    "restore": ("--instant", INSTANT),
}
TWO_WORDS = ("plan", "lock")
OF_A_TABLE = [
    *((name, *NEEDED.get(name, ())) for name in (*COMMANDS, *SERVICES)),
    *(("plan", name) for name in PLANS),
    *(("lock", name) for name in LOCKS),
]
"""A line of each command, the table left out."""


def on(table: object, words: tuple[str, ...]) -> list[object]:
    """A line of a command about a table."""
    place = 2 if words[0] in TWO_WORDS else 1
    return [*words[:place], table, *words[place:]]


@pytest.mark.parametrize("words", OF_A_TABLE, ids=" ".join)
class TestEveryCommand:
    def test_it_refuses_a_path_where_nothing_is(self, words, pyhudi: Shell, tmp_path: Path) -> None:
        refused(pyhudi, on(tmp_path / "none", words), "no Hudi table at")

    def test_it_refuses_a_folder_that_is_no_table(self, words, pyhudi: Shell, tmp_path: Path):
        refused(pyhudi, on(tmp_path, words), "no Hudi table at")

    def test_it_refuses_a_file(self, words, pyhudi: Shell, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        refused(pyhudi, on(tmp_path / "file", words), "is no folder")

    def test_it_refuses_a_table_of_a_version_that_is_not_known(
        self, words, pyhudi: Shell, tmp_path: Path
    ) -> None:
        table = MorTable.make(tmp_path / "made", hoodie_table_version="5")
        refused(pyhudi, on(table.path, words), "version")

    def test_it_refuses_a_misspelt_option(self, words, pyhudi: Shell, tmp_path: Path) -> None:
        line = [*on(tmp_path, words), "--jsno"]
        refused(pyhudi, line, "there is no flag --jsno; did you mean --json?")

    def test_it_refuses_an_option_that_no_storage_has(self, words, pyhudi: Shell, tmp_path: Path):
        line = [*on(tmp_path, words), "--storage-option", "regoin=here"]
        refused(pyhudi, line, "did you mean region?")

    def test_its_help_begins_with_how_to_write_it(self, words, pyhudi: Shell, capsys) -> None:
        given = words[: 2 if words[0] in TWO_WORDS else 1]
        with pytest.raises(SystemExit) as end:
            pyhudi(*given, "--help")
        assert not end.value.code
        assert capsys.readouterr().out.startswith(f"usage: pyhudi {' '.join(given)} [-h]")


@pytest.mark.parametrize(
    "words", [each for each in OF_A_TABLE if each[0] in (*SERVICES, "plan")], ids=" ".join
)
def test_a_service_refuses_a_table_of_a_version_that_is_not_known(
    words: tuple[str, ...], pyhudi: Shell, tmp_path: Path
) -> None:
    table = MorTable.make(tmp_path / "made", hoodie_table_version="10")
    refused(pyhudi, on(table.path, words), "10")


def refused(pyhudi: Shell, words: list[object], reason: str) -> None:
    code, out, err = pyhudi.outcome(*words)
    assert (code, out) == (2, "")
    assert err.startswith("pyhudi: ")
    assert err.count("\n") == 1
    assert reason in err


@pytest.mark.parametrize(
    ("words", "meant"), [(["timelin"], "timeline"), (["plan", "compacton"], "compaction")]
)
def test_a_misspelt_command_is_refused_with_the_one_that_was_meant(
    words: list[str], meant: str, pyhudi: Shell
) -> None:
    refused(pyhudi, [*words, "/data"], f"did you mean {meant}?")


@pytest.mark.parametrize("words", [["--json", "timeline"], ["plan", "--json", "clean"]])
def test_a_flag_before_the_command_is_refused_with_where_it_belongs(
    words: list[str], pyhudi: Shell
) -> None:
    refused(pyhudi, [*words, "/data"], "--json has to come after the command")


@pytest.mark.parametrize("number", ["-1", "x", "1.5", ""])
def test_what_is_no_number_is_refused(number: str, pyhudi: Shell) -> None:
    words = ["timeline", "/data", f"--limit={number}"]
    refused(pyhudi, words, f"argument --limit: {number!r} is no whole number")


BROKEN = {
    "avro cut short": ("*.clean", lambda data: data[:300]),
    "a plan that is empty": ("*.clean.requested", lambda data: b""),
    "JSON of another kind": ("*.commit", lambda data: b'{"partitionToWriteStats": [1]}'),
    "JSON cut short": ("*.commit", lambda data: data[: len(data) // 2]),
    "binary properties": ("hoodie.properties", lambda data: bytes(range(256))),
    "a binary commit": ("*.commit", lambda data: bytes(range(255, -1, -1))),
}
"""The files of a timeline that are broken, and what becomes of their bytes."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_timeline_is_told_of_or_refused_in_one_line(
    name: str, pyhudi: Shell, tmp_path: Path
) -> None:
    table, (pattern, damage) = golden_copy("v6_cow_clean", tmp_path), BROKEN[name]
    *_, file = sorted((table / ".hoodie").glob(pattern))
    file.write_bytes(damage(file.read_bytes()))
    for words in OF_A_TABLE:
        is_planned = words[0] in SERVICES and SERVICES[words[0]][0].plan is not None
        code, out, err = pyhudi.outcome(*on(table, words), *["--dry-run"] * is_planned)
        assert code in (0, 1, 2), (words, err)
        assert "Traceback" not in err
        if code == 2:
            assert (out, err.startswith("pyhudi: "), err.count("\n")) == ("", True, 1), words


def test_no_words_at_all_give_the_help(pyhudi: Shell) -> None:
    code, out, err = pyhudi.outcome()
    assert (code, out) == (2, "")
    assert all(f"\n    {name} " in err for name in (*COMMANDS, *SERVICES, "plan"))


def test_the_list_of_commands_leaves_none_out() -> None:
    groups = module.command_parser().description or ""
    assert all(f" {name}" in groups for name in (*COMMANDS, *SERVICES, "plan"))


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ConflictError("another writer"), 3, "another writer"),
        (StorageError("cannot read\nthis"), 4, "cannot read this"),
        (OSError("disk gone"), 4, "OSError: disk gone"),
        (InvariantError("never"), 5, "never"),
        (KeyError("oops"), 5, "KeyError: 'oops'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_is_one_line_and_its_own_code(error, code, line, pyhudi, monkeypatch) -> None:
    def fail(_words: object) -> int:
        raise error

    monkeypatch.setattr(module, "_run", fail)
    assert pyhudi.outcome("timeline", "/data") == (code, "", f"pyhudi: {line}\n")


def test_a_reader_that_has_read_enough_is_no_error(tmp_path: Path) -> None:
    table = MorTable.make(tmp_path / "made")
    read, write = os.pipe()
    os.close(read)
    script = "import sys; from pyhudi.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", script, "timeline", str(table.path)]
    env = {**os.environ, "PYTHONPATH": str(ENGINE.parent)}
    found = subprocess.run(
        command, stdout=write, stderr=subprocess.PIPE, text=True, check=False, env=env
    )
    os.close(write)
    assert (found.returncode, found.stderr) == (0, "")


def test_secrets_come_from_the_environment(pyhudi: Shell, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PYHUDI_SECRETS", '{"storage_options": {"secret_key": "hidden"}}')
    code, _, err = pyhudi.outcome("timeline", "s3://bucket/table")
    assert code == 2
    assert "access_key and secret_key go together" in err
    assert "hidden" not in err


def test_secrets_on_the_command_line_are_warned_of_and_not_repeated(
    pyhudi: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    options = ("--storage-option", "secret_key=hidden")
    _, _, err = pyhudi.outcome("timeline", "s3://bucket/table", *options)
    assert "everyone on this machine can read" in caplog.text
    assert "hidden" not in err + caplog.text


def test_it_loads_no_spark() -> None:
    script = (
        "import sys, pyhudi.cli.main; print('pyspark' in sys.modules, 'airflow' in sys.modules)"
    )
    assert run_python("-c", script).stdout == "False False\n"
