# PYTHON_ARGCOMPLETE_OK
"""The main function of the console command ``pyhudi``: an answer, or one line and a code."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches

import argcomplete
import pyarrow as pa
from rich.console import Console

from pyhudi.cli.commands import command_parser
from pyhudi.cli.render import show, show_json
from pyhudi.errors import EXIT_INTERNAL, EXIT_PLATFORM, EXIT_REQUEST, HudiError, OptionError
from pyhudi.flags import FlagParser, refuse_unknown_flags
from pyhudi.transaction import turn

EXIT_FINDINGS = 1
EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command line and answer with the code to exit with.

    Guarantees: 0 when it is done, 1 when ``validate`` has findings; 2 when the request is wrong, 3
        when another writer won, 4 when the surroundings failed, 5 when the engine contradicts
        itself, each after one line on standard error. Stack traces only with ``--verbose``.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    verbose = "--verbose" in words
    _log_to_stderr(verbose=verbose)
    try:
        return _run(words)
    except BrokenPipeError:
        # Whoever reads has read enough, as `| head` does; nothing more may be flushed there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the process ends here, and ends with a code
        if verbose:
            traceback.print_exception(error)
        return _fail(error)


def _run(words: Sequence[str]) -> int:
    parser = command_parser()
    argcomplete.autocomplete(parser)
    if not words:
        parser.print_help(sys.stderr)
        return EXIT_REQUEST
    given = parse_words(parser, words)
    report = given.gather(given)
    if given.json:
        show_json(report, sys.stdout)
    else:
        show(report, Console())
    sys.stdout.flush()
    return EXIT_FINDINGS if report.has_findings else 0


def parse_words(parser: FlagParser, words: Sequence[str]) -> argparse.Namespace:
    """What a command line asks for.

    Raises:
        OptionError: says which word is none, and which may have been meant.
    """
    own: argparse.ArgumentParser = parser
    for word in words:
        commands = _commands(own)
        if not commands or word in ("-h", "--help"):
            break
        if word.startswith("-"):
            raise OptionError(f"{word} has to come after the command, as do all flags")
        if word not in commands:
            near = get_close_matches(word, commands, n=1)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(commands)}"
            raise OptionError(f"there is no command {word}; {advice}")
        own = commands[word]
    refuse_unknown_flags(words, [name for name in own._option_string_actions if name != "-h"])
    return parser.parse_args(list(words))


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands below a parser, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _fail(error: Exception) -> int:
    """Say in one line what went wrong."""
    match error:
        case HudiError():
            kind, code = "", error.exit_code
        case pa.ArrowException() | OSError() | MemoryError():
            kind, code = f"{type(error).__name__}: ", EXIT_PLATFORM
        case _:
            kind, code = f"{type(error).__name__}: ", EXIT_INTERNAL
    line = " ".join(str(error).split())
    sys.stderr.write(f"pyhudi: {kind}{line}\n")
    return code


def _log_to_stderr(*, verbose: bool) -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="pyhudi: %(message)s")
    logging.getLogger("pyhudi").setLevel(logging.INFO if verbose else logging.WARNING)
    # A service may wait for a quarter of an hour, and says for whom.
    logging.getLogger(turn.__name__).setLevel(logging.INFO)
