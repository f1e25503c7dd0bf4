"""The page of the console command tells of every command that there is, and of its flags' list."""

import argparse

import pytest

from pyhudi.cli.commands import COMMANDS, LOCKS, PLANS, SERVICES, VERSIONS, command_parser
from tests.support.source_tree import ROOT

PAGE = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
NAMES = [*COMMANDS, *SERVICES, *(f"plan {name}" for name in PLANS)]
NAMES += [f"lock {name}" for name in LOCKS]
# Of the two ways one is shown.
SHOWN = [*NAMES, "upgrade"]
MADE = "run python -m scripts.command_page > docs/command.md"


@pytest.mark.parametrize("name", SHOWN)
def test_the_page_shows_a_command_with_its_answer(name: str) -> None:
    chapter = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert f"\npyhudi {name} /data/flights" in chapter, MADE
    assert "```text\nflights" in chapter, MADE


def test_the_page_has_the_list_of_commands_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert command_parser().format_help() in PAGE, MADE


@pytest.mark.parametrize("name", [*NAMES, *VERSIONS])
def test_every_flag_says_what_it_is_for(name: str) -> None:
    parser: argparse.ArgumentParser = command_parser()
    for word in name.split():
        (commands,) = (
            each for each in parser._actions if isinstance(each, argparse._SubParsersAction)
        )
        parser = commands.choices[word]
    silent = [each.dest for each in parser._actions if not each.help]
    assert not silent, f"pyhudi {name} has flags that say nothing: {silent}"
