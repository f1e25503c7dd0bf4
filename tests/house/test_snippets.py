"""What the pages show to be typed works: Python is run, command lines are held to their parsers.

Blocks of Python that need Airflow are run by tests/airflow/test_snippets.py, those that need a
Spark session by tests/spark/test_snippets.py, and all others here.
"""

import importlib
import json
import re
import shlex
import sys
import types
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.cli.cli_parser import get_parser
from airflow.sdk import Connection

from airflow_provider_pyhudi.provider_info import get_provider_info
from pyhudi.cli.commands import command_parser
from pyhudi.cli.main import parse_words
from pyhudi.config.known import check_known
from pyhudi.merge.custom import run_merger
from pyhudi.schema.metafields import META_FIELDS
from tests.support.airflow import timeline_folder
from tests.support.snippets import Snippet, commands, pages, snippets
from tests.support.source_tree import ROOT, project, run_python

COMMAND = re.compile(r"^\s*(?:\$|python\b|pip\b|make\b|spark-submit\b|import\b|from\b|def\b)", re.M)
BENCHMARKS = sorted(
    {
        words[1]
        for words in (shlex.split(each.values[0]) for each in commands())
        if words[0] == "python" and words[1].startswith("benchmarks/")
    }
)
PARSED = """
import json, runpy, sys
from unittest.mock import MagicMock

for name in ("deltalake", "duckdb", "pyinstrument"):  # the extra bench, which tests do without
    sys.modules[name] = MagicMock()
script, given_all = sys.argv[1:]
for given in json.loads(given_all):
    sys.argv[0:] = [script, *given, "--help"]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
"""
"""Lets a program's parser see flags, with --help behind them so that nothing else runs."""

WRITTEN = "20260401000000000"


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    """A table of one flight, written in April 2026."""
    table = Path(timeline_folder(tmp_path / "flights", f"{WRITTEN}.commit"))
    (table / ".hoodie_partition_metadata").write_text(f"commitTime={WRITTEN}\npartitionDepth=0\n")
    row = dict.fromkeys(META_FIELDS, "UA") | {"carrier": "UA", "arr_delay": 11.0}
    pq.write_table(pa.Table.from_pylist([row]), table / f"g-0_0-0-0_{WRITTEN}.parquet")
    return table


def test_every_block_says_in_which_language_it_is() -> None:
    languages = {name: len(snippets(name)) for name in ("python", "sh", "text", "")}
    known = sum(languages.values()) - languages[""]
    fences = sum(page.read_text(encoding="utf-8").count("\n```") for page in pages())
    assert 2 * known == fences, (
        "a block begins with ```python (it is run), ```sh (its commands are checked) or ```text: "
        f"{2 * known} of {fences} fences do"
    )


@pytest.mark.parametrize("snippet", snippets("text"))
def test_what_is_called_text_is_nothing_to_be_typed(snippet: Snippet) -> None:
    assert not COMMAND.search(snippet.code), "commands are ```sh and code is ```python"


@pytest.mark.parametrize("snippet", snippets("python", runner="python"))
def test_a_block_of_python_runs(snippet: Snippet, flights: Path) -> None:
    snippet.run(flights)


def test_the_merger_of_the_page_keeps_the_dearer(flights: Path, monkeypatch) -> None:
    (shown,) = (each.values[0] for each in snippets("python") if "merging" in each.values[0].page)
    module = types.ModuleType("mergers")
    vars(module).update(shown.run(flights))
    monkeypatch.setitem(sys.modules, "mergers", module)
    older = pa.table({"id": ["a", "b", "c"], "price": [3.0, 1.0, None]})
    newer = pa.table({"id": ["a", "b", "c"], "price": [2.0, 2.0, 2.0]})
    gone = pa.array([False] * 3)
    _, keeps_older = run_merger(
        "mergers:KeepTheDearer",
        older.append_column("_hoodie_is_deleted", gone),
        newer.append_column("_hoodie_is_deleted", gone),
    )
    assert keeps_older.tolist() == [True, False, False]


@pytest.mark.parametrize("line", commands())
def test_a_command_line_is_one_that_its_program_takes(line: str) -> None:
    words = [word for word in shlex.split(line.partition(" > ")[0]) if "=" not in word[:11]]
    match words:
        case ["pyhudi", *_]:
            parse_words(command_parser(), shlex.split(line)[1:])
        case ["make", *targets]:
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in targets)
        case ["pip", "install", *_, named]:
            extras = project()["project"]["optional-dependencies"]
            assert named.partition("[")[2].strip("[]") in extras
        case ["airflow", *_]:
            get_parser().parse_args(words[1:])
        case ["export", *_]:
            check_setting(shlex.split(line)[1])
        case ["python", "-m", module, *_]:
            name = module.replace(".", "/")
            files = [f"{name}.py", f"{name}/__main__.py"]
            folders = [ROOT, ROOT / "spark_jobs"]
            assert any((folder / file).is_file() for folder in folders for file in files)
        case ["python" | "spark-submit", script, *flags] if script.startswith("spark_jobs/"):
            text = (ROOT / script).read_text()
            found = re.search(r"from (pyhudi\.jobs\.\w+) import (\w+)", text)
            assert found
            request = getattr(importlib.import_module(found[1]), found[2])
            check_known(request.from_args(flags).options())
        case ["python", script, *_] if script in BENCHMARKS:
            pass  # all at once below
        case _:
            pytest.fail(f"no check for a command like {line}; add one")


def check_setting(pair: str) -> None:
    """A variable of Airflow's: a connection of a type that there is, or an option of ours."""
    name, _, value = pair.partition("=")
    if name.startswith("AIRFLOW_CONN_"):
        connection = Connection(conn_id="shown", **json.loads(value))
        assert connection.conn_type in ("pyhudi", "spark")
        return
    _, section, option = name.lower().split("__")
    assert option in get_provider_info()["config"][section]["options"]
    if value.startswith("{"):
        assert isinstance(json.loads(value), dict)


@pytest.mark.parametrize("script", BENCHMARKS)
def test_a_benchmark_takes_the_flags_that_the_pages_give_it(script: str) -> None:
    lines = [shlex.split(each.values[0]) for each in commands()]
    given = [line[2:] for line in lines if line[:2] == ["python", script]]
    words = ("-c", PARSED, str(ROOT / script), json.dumps(given))
    done = run_python(*words, path=("spark_jobs", "benchmarks"))
    assert done.returncode == 0, done.stderr
    flags = {word for words in given for word in words if word.startswith("--")}
    unknown = sorted(flag for flag in flags if flag not in done.stdout)
    assert not unknown, f"{script} has no {unknown}"
