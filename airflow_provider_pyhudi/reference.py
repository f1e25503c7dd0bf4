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


PASSED_ON = {
    "application": "Path of another job script than the bundled one.",
    "application_args": "Arguments after the job's own.",
    "archives": "Archives that are unpacked on each machine, such as a packed Python environment.",
    "conf": "Properties of Spark. Secret ones stay out of the command line.",
    "deploy_mode": "`client`, the driver runs on the worker, or `cluster`; else the connection's.",
    "driver_class_path": "Jars before all others on the driver.",
    "driver_memory": "Memory of the driver, such as `2g`.",
    "durable": "On a cluster a retry finds the driver of an earlier try again; on unless False.",
    "env_vars": "Environment variables of spark-submit, and of the driver in cluster mode.",
    "exclude_packages": "Packages to leave out of what `packages` fetches.",
    "executor_cores": "Cores of an executor.",
    "executor_memory": "Memory of an executor, such as `4g`.",
    "files": "Files for the working folder of each executor, comma-separated.",
    "jars": "Jars for driver and executors, comma-separated.",
    "java_class": "Main class; Python jobs have none.",
    "keytab": "Path of a keytab for Kerberos.",
    "num_executors": "How many executors there are.",
    "openlineage_inject_parent_job_info": "Tell a listener of OpenLineage on Spark of this task.",
    "openlineage_inject_transport_info": "Tell such a listener where OpenLineage is.",
    "packages": "Maven coordinates of jars to fetch, such as a connector of a cloud.",
    "post_submit_commands": "Shell commands on the worker when the job has ended.",
    "principal": "Principal of the keytab.",
    "properties_file": "File of Spark's properties in place of `spark-defaults.conf`.",
    "proxy_user": "User to submit as.",
    "py_files": "Python files and zips for the job, beside the engine's zip.",
    "reconnect_on_retry": "The former name of `durable`.",
    "repositories": "Repositories to look for `packages` in.",
    "spark_binary": "`spark-submit`, `spark2-submit` or `spark3-submit`; else the connection's.",
    "status_poll_interval": "Seconds between two looks at a driver on a cluster, 10 at least here.",
    "total_executor_cores": "Cores of all executors together, on a standalone cluster.",
    "track_driver_via_k8s_api": "Follow the driver by the API of Kubernetes; on if `deferrable`.",
    "use_krb5ccache": "Use the ticket cache in place of a keytab.",
    "verbose": "Have spark-submit say more, and the job show stack traces.",
    "yarn_queue": "Queue of YARN; else the connection's.",
    "yarn_rm_auth": "How to log in at YARN's resource manager; not with `deferrable`.",
    "yarn_track_via_rm_api": "Follow the driver by YARN's resource manager; on if `durable`.",
}
"""What SparkSubmitOperator takes and no class here declares, and what it does."""
PASSED_ON_TEMPLATED = frozenset(
    {
        *("application", "application_args", "conf", "driver_class_path", "env_vars"),
        *("exclude_packages", "files", "jars", "keytab", "packages", "post_submit_commands"),
        *("principal", "properties_file", "proxy_user", "py_files"),
    }
)


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
    return "\n".join((_HEAD, *chapters, *shared, _passed_on()))


def _passed_on() -> str:
    rows = (
        f"| `{name}` | {'yes' if name in PASSED_ON_TEMPLATED else ''} | {meaning} |\n"
        for name, meaning in PASSED_ON.items()
    )
    head = (
        "\n## What is passed on to Spark\n\nEvery operator also takes what Airflow's "
        "`SparkSubmitOperator` does, in its words:\n\n"
        "| argument | templated | meaning |\n|---|---|---|\n"
    )
    return head + "".join(rows)


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
