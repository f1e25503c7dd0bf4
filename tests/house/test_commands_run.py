"""What the pages show of the command ``pyhudi`` is carried out, on a small table of flights.

Other command lines are held to their parsers alone, by ``test_snippets.py``: they start Spark or
Airflow, measure for minutes, or are of tables on an object store.
"""

import logging
import re
import shlex
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import pyhudi
from dags.flights import read_flights
from pyhudi.cli.main import main
from pyhudi.timeline.instant import Action
from scripts import command_page
from tests.support.snippets import commands

INSTANT = re.compile(r"\b\d{17}\b")
TABLE = re.compile(r"/data/\w+")
SHOWN = [
    each
    for each in commands()
    if each.values[0].startswith("pyhudi ") and TABLE.search(each.values[0])
]


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table as the page has it, of few rows: four writes, a savepoint and one write more."""
    everything = read_flights()
    # The file begins with January, and February lies further on.
    few = pa.concat_tables([everything.slice(0, 40), everything.slice(112_000, 400)])
    path, clock = tmp_path_factory.mktemp("shown") / "flights", command_page.Hours()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_page, "read_flights", lambda: few)
        assert all(command_page.make_table(path, clock).values()), "each step wrote something"
    assert main(["savepoint", str(path)]) == 0
    command_page.write(path, "upsert", few.slice(0, 9), clock, 5)
    return path


def on(table: Path, line: str) -> list[str]:
    """The words of a line, with this table for the page's, and its instants for those shown."""
    done = pyhudi.open_table(table).timeline.completed()
    writes = [each.time for each in done.write_instants()]
    (saved,) = (each.time for each in done if each.action is Action.SAVEPOINT)
    words = shlex.split(line)[1:]
    mine = {"rollback": [writes[-1]], "restore": [saved]}.get(words[0], writes)
    shown = dict(zip(dict.fromkeys(INSTANT.findall(line)), mine, strict=False))
    named = [INSTANT.sub(lambda found: shown[found[0]], word) for word in words]
    return [TABLE.sub(str(table), word) for word in named]


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_of_the_pages_does_what_it_is_shown_for(
    line: str, flights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Path(shutil.copytree(flights, tmp_path / "flights"))
    words = on(table, line)
    if words[:2] == ["lock", "break"]:
        command_page.leave_lock(table, command_page.BEGIN_MS)
    level = logging.getLogger("pyhudi").level
    try:
        code = main(words)
    finally:
        logging.getLogger("pyhudi").setLevel(level)
    said = capsys.readouterr()
    assert code == 0, said.err
    assert said.out.startswith("flights")
