"""An error says what, where and what to do; a broad one says nothing of that."""

import ast
import builtins
from collections.abc import Iterator
from typing import TypeVar

from tests.support.source_tree import base_name, shipped

Node = TypeVar("Node", bound=ast.AST)

ARGUMENT_CHECKS = {
    "pyhudi/__init__.py:__getattr__": "how Python asks a module for a name",
    "pyhudi/spark/__init__.py:__getattr__": "how Python asks a module for a name",
    "pyhudi/basefile/bloom/filter.py:_parse_dynamic": "parse makes it a CorruptTableError",
    "pyhudi/basefile/bloom/filter.py:_parse_header": "parse makes it a CorruptTableError",
    "pyhudi/basefile/bloom/filter.py:_row": "parse makes it a CorruptTableError",
    "pyhudi/spark/tasks/shuffle_keys.py:shuffle_keys": "a caller's bad argument",
    "pyhudi/keys/record_key.py:record_keys": "a caller's bad argument",
    "airflow_provider_pyhudi/operators/job.py:PyhudiJobOperator.request": (
        "an abstract method, which every operator has"
    ),
    "airflow_provider_pyhudi/triggers/waiting.py:PyhudiTableTrigger.__init__": (
        "what Airflow expects of stored arguments that do not fit"
    ),
    "pyhudi/jobs/request.py:Request.operation_name": "an abstract one, which every request has",
}
"""Functions that may raise an error of Python's own, and why a caller cannot meet it."""

CATCHES_ALL = {
    "pyhudi/cli/main.py:main": "the process ends here, with a line and a code",
    "pyhudi/spark/job.py:run_job": "the process ends here, with a line and a code",
}
"""Functions that catch everything: they raise it again, or are the last ones to see it."""

LAST_TO_SEE = ("pyhudi/cli/main.py:main", "pyhudi/spark/job.py:run_job")

BROAD = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


def test_no_error_is_broad_outside_checks_of_arguments() -> None:
    found = {
        where: base_name(node.exc)
        for where, node in _inside(ast.Raise)
        if node.exc is not None and base_name(node.exc) in BROAD
    }
    broad = {
        where: name
        for where, name in found.items()
        if where not in ARGUMENT_CHECKS and not (name == "ValueError" and _parses(where))
    }
    assert not broad, (
        f"these functions raise an error of Python's own: {broad}. Whoever operates this must "
        "decide between retry, mend and call someone: raise one of pyhudi.errors, which says "
        "where and whether a retry helps"
    )
    stale = sorted(set(ARGUMENT_CHECKS) - set(found))
    assert not stale, f"ARGUMENT_CHECKS lists functions that raise nothing broad: {stale}"


def test_nothing_catches_everything_and_goes_on() -> None:
    found = {where: node for where, node in _inside(ast.ExceptHandler) if _catches_all(node)}
    unlisted = sorted(set(found) - set(CATCHES_ALL))
    assert not unlisted, (
        f"these functions catch every error: {unlisted}. Catch what can be answered; the rest is "
        "for the caller"
    )
    silent = sorted(
        where
        for where, node in found.items()
        if not _ends_in_raise(node) and where not in LAST_TO_SEE
    )
    assert not silent, f"these functions swallow every error: {silent}. Raise it again"
    stale = sorted(set(CATCHES_ALL) - set(found))
    assert not stale, f"CATCHES_ALL lists functions that catch nothing broad: {stale}"


def test_an_error_that_follows_from_another_keeps_its_cause() -> None:
    lost = sorted(
        where
        for where, handler in _inside(ast.ExceptHandler)
        for node in ast.walk(handler)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.cause is None
    )
    assert not lost, (
        f"these functions raise inside an except without 'from': {lost}. Say 'from error', or "
        "'from None' where the cause says nothing"
    )


def test_an_error_of_ours_is_raised_with_a_message() -> None:
    bare = sorted(
        where
        for where, node in _inside(ast.Raise)
        if node.exc is not None
        and base_name(node.exc).endswith("Error")
        and base_name(node.exc) not in BROAD
        and not (isinstance(node.exc, ast.Call) and node.exc.args)
    )
    assert not bare, f"these raises say neither what nor where: {bare}"


def _parses(where: str) -> bool:
    """Options are parsed by functions whose ValueError says what is allowed."""
    return where.startswith("pyhudi/config/")


def _inside(kind: type[Node]) -> Iterator[tuple[str, Node]]:
    """Nodes of a kind with the place of the innermost definition that holds each."""
    for module in shipped():
        owners: dict[int, str] = {}
        for name, definition in module.definitions():
            owners.update((id(node), name) for node in ast.walk(definition))
        for node in ast.walk(module.tree):
            if isinstance(node, kind):
                yield f"{module.where}:{owners.get(id(node), '')}", node


def _catches_all(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool(
        {"Exception", "BaseException"}
        & {base_name(node) for node in ast.walk(handler.type) if isinstance(node, ast.expr)}
    )


def _ends_in_raise(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None
