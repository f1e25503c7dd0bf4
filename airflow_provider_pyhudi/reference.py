"""The page of operators and sensors: ``python -m airflow_provider_pyhudi.reference`` prints it.

Made from docstrings and signatures as they stand in the source, so that it needs no Airflow and
says what the code does.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

_PACKAGES = ("operators", "sensors")
_BASES = {
    "PyhudiJobOperator": "What every operator takes",
    "PyhudiTableSensor": "What every sensor takes",
}
"""Classes that are asked for by no DAG, and the title over what they share."""
_TEMPLATED = "(templated)"
_PARAM = re.compile(r"^:param (\w+):", re.MULTILINE)

_HEAD = """\
# Operators and sensors

Made by `python -m airflow_provider_pyhudi.reference > docs/operators.md`; not to be edited by hand.

All arguments are given by name. *Templated* ones may hold Jinja. Mappings of options take texts,
numbers, booleans, times and lists of texts; one that is None is left out. Every operator and sensor
also takes what Airflow's own do: `task_id`, `retries`, `outlets` and so on, and a sensor
`poke_interval`, `timeout` and `mode`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument: what it may be, what it is when it is not given, and what it means."""

    name: str
    kind: str
    default: str
    meaning: str
    is_templated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """An operator or sensor: where it is imported from, its docstring's prose, its arguments.

    ``arguments`` are those that its docstring tells of, inherited ones first and then in the order
    of the signature; ``taken`` are those of its signature, told of or not. ``base`` is the class
    that it inherits from.
    """

    name: str
    base: str
    module: str
    prose: str
    arguments: tuple[Argument, ...]
    taken: tuple[str, ...]


def operators_page() -> str:
    """The whole page, as Markdown."""
    found = described()
    bases = {each.name: each for each in found if each.name in _BASES}
    chapters = (_chapter(each, bases[each.base]) for each in found if each.name not in bases)
    shared = (
        "\n\n".join((f"## {title}", _markdown(bases[name].prose), _table(bases[name].arguments)))
        for name, title in _BASES.items()
    )
    return "\n".join((_HEAD, *chapters, *shared))


def described() -> tuple[Described, ...]:
    """All operators and sensors of the provider, by package and module."""
    root = Path(__file__).parent
    files = (file for name in _PACKAGES for file in sorted((root / name).glob("*.py")))
    return tuple(each for file in files for each in _classes(file, root))


def _classes(file: Path, root: Path) -> Iterator[Described]:
    module = ".".join((root.name, *file.relative_to(root).with_suffix("").parts))
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Pyhudi"):
            yield _describe(node, module)


def _describe(node: ast.ClassDef, module: str) -> Described:
    text = ast.get_docstring(node) or ""
    signature = _signature(node)
    prose, *told = _PARAM.split(text)
    meanings = dict(zip(told[::2], told[1::2], strict=True))
    inherited = (name for name in meanings if name not in signature)
    return Described(
        name=node.name,
        base=next((ast.unparse(each) for each in node.bases), ""),
        module=module,
        prose=prose.strip(),
        arguments=tuple(
            _argument(name, meanings[name], *signature.get(name, ("", "")))
            for name in (*inherited, *(name for name in signature if name in meanings))
        ),
        taken=tuple(signature),
    )


def _argument(name: str, told: str, kind: str, default: str) -> Argument:
    meaning = " ".join(told.split())
    return Argument(
        name=name,
        kind=kind,
        default=default,
        meaning=meaning.removesuffix(_TEMPLATED).strip(),
        is_templated=meaning.endswith(_TEMPLATED),
    )


def _signature(node: ast.ClassDef) -> dict[str, tuple[str, str]]:
    """Type and default of the arguments of a class by their names."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            given = zip(each.args.kwonlyargs, each.args.kw_defaults, strict=True)
            return {arg.arg: (_kind(arg.annotation), _default(value)) for arg, value in given}
    return {}


def _kind(annotation: ast.expr | None) -> str:
    text = "" if annotation is None else ast.unparse(annotation)
    parts = [part for part in text.split(" | ") if part != "None"]
    return " or ".join(f"`{part}`" for part in parts)


def _default(value: ast.expr | None) -> str:
    """A default as it is written; nothing for none at all, and for one that is worked out."""
    if value is None:
        return "required"
    is_said = isinstance(value, ast.Constant) and value.value is not None
    return f"`{ast.unparse(value)}`" if is_said else ""


def _chapter(found: Described, base: Described) -> str:
    where = f"In `{found.module}`."
    inherited = {each.name: each for each in base.arguments if each.name not in found.taken}
    arguments = tuple(
        replace(each, kind=inherited[each.name].kind, default=inherited[each.name].default)
        if each.name in inherited
        else each
        for each in found.arguments
    )
    return "\n\n".join((f"## {found.name}", where, _markdown(found.prose), _table(arguments)))


def _markdown(text: str) -> str:
    return text.replace("``", "`")


def _table(arguments: tuple[Argument, ...]) -> str:
    head = "| argument | type | default | templated | meaning |\n|---|---|---|---|---|\n"
    return head + "".join(_row(each) for each in arguments)


def _row(argument: Argument) -> str:
    templated = "yes" if argument.is_templated else ""
    meaning = _markdown(argument.meaning).replace("|", "\\|")
    cells = (f"`{argument.name}`", argument.kind, argument.default, templated, meaning)
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.stdout.write(operators_page())
