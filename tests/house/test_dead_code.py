"""What nothing uses is deleted; it is in the history if it is wanted again."""

import ast
import re
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.support.source_tree import PROVIDER, Module, base_name, beside, docstrings, shipped

ENTRANCES = {
    "pyhudi.cli.main": "the console command",
    "pyhudi.config.reference": "python -m, makes docs/options.md",
    "pyhudi.runner.in_process": "services that need no Spark, and the tests of the pipeline",
    "airflow_provider_pyhudi.reference": "python -m, makes docs/operators.md",
    "airflow_provider_pyhudi.provider_info": "an entry point of the distribution",
    "airflow_provider_pyhudi.page.plugin": "an entry point of the distribution",
    "airflow_provider_pyhudi.groups.table": "for DAGs",
    "airflow_provider_pyhudi.sensors.instant": "for DAGs",
    "airflow_provider_pyhudi.sensors.partition": "for DAGs",
    "airflow_provider_pyhudi.sensors.table_service": "for DAGs",
    "airflow_provider_pyhudi.operators.archive": "for DAGs",
    "airflow_provider_pyhudi.operators.clean": "for DAGs",
    "airflow_provider_pyhudi.operators.compaction": "for DAGs",
    "airflow_provider_pyhudi.operators.restore": "for DAGs",
    "airflow_provider_pyhudi.operators.rollback": "for DAGs",
    "airflow_provider_pyhudi.operators.savepoint": "for DAGs",
    "airflow_provider_pyhudi.operators.upsert": "for DAGs",
}
"""Modules that are imported by none of ours, and by whom they are."""

FOR_OTHERS = {
    "airflow_provider_pyhudi/assets/events.py:TableEvent.asset": "for DAGs",
    "airflow_provider_pyhudi/assets/events.py:TableEvent.is_watched": "for DAGs",
    "airflow_provider_pyhudi/assets/uri.py:create_asset": "the provider's info names it",
    "airflow_provider_pyhudi/assets/uri.py:sanitize_uri": "the provider's info names it",
    "airflow_provider_pyhudi/assets/uri.py:to_openlineage": "the provider's info names it",
    "airflow_provider_pyhudi/triggers/commits.py:"
    "PyhudiCommitTrigger.create_shared_stream_producer": "Airflow's contract of a trigger",
    "airflow_provider_pyhudi/triggers/commits.py:_Looks.advance": "Airflow's contract",
    "airflow_provider_pyhudi/groups/table.py:PyhudiTableGroup": "for DAGs",
    "airflow_provider_pyhudi/lineage/links.py:PyhudiSparkLink.get_link": "Airflow's contract",
    "airflow_provider_pyhudi/lineage/links.py:PyhudiTableLink.get_link": "Airflow's contract",
    "airflow_provider_pyhudi/operators/job.py:"
    "PyhudiJobOperator.get_openlineage_facets_on_complete": "OpenLineage's contract",
    "airflow_provider_pyhudi/operators/job.py:"
    "PyhudiJobOperator.get_openlineage_facets_on_start": "OpenLineage's contract",
    "airflow_provider_pyhudi/operators/job.py:"
    "PyhudiJobOperator.operator_extra_links": "Airflow's contract",
    "airflow_provider_pyhudi/hooks/table.py:PyhudiHook.get_conn": "Airflow's contract",
    "pyhudi/spark/writing.py:run_upsert": "the job script names it, to import it late",
    "airflow_provider_pyhudi/hooks/table.py:PyhudiHook.find_instant": "for DAGs",
    "airflow_provider_pyhudi/hooks/table.py:PyhudiHook.file_slices": "for DAGs",
    "airflow_provider_pyhudi/hooks/table.py:PyhudiHook.test_connection": "Airflow's contract",
    "airflow_provider_pyhudi/hooks/table.py:PyhudiHook.conn_name_attr": "Airflow's contract",
    "airflow_provider_pyhudi/hooks/table.py:PyhudiHook.hook_name": "Airflow's contract",
    "airflow_provider_pyhudi/operators/job.py:PyhudiJobOperator.execute_complete": (
        "Airflow calls it by name when the trigger has fired"
    ),
    "airflow_provider_pyhudi/operators/job.py:PyhudiJobOperator.poll_until_complete": (
        "SparkSubmitOperator calls it"
    ),
    "airflow_provider_pyhudi/operators/rollback.py:PyhudiRollbackOperator": "for DAGs",
    "airflow_provider_pyhudi/operators/savepoint.py:PyhudiSavepointOperator": "for DAGs",
    "airflow_provider_pyhudi/provider_info.py:get_provider_info": "an entry point",
    "airflow_provider_pyhudi/page/plugin.py:PyhudiPlugin": "an entry point",
    "airflow_provider_pyhudi/page/plugin.py:PyhudiPlugin.external_views": "Airflow's contract",
    "airflow_provider_pyhudi/page/plugin.py:PyhudiPlugin.fastapi_apps": "Airflow's contract",
    "airflow_provider_pyhudi/retries.py:SpreadRetries.evaluate": "Airflow's contract",
    "airflow_provider_pyhudi/sensors/table_service.py:PyhudiTableServiceSensor": "for DAGs",
    "airflow_provider_pyhudi/sensors/waiting.py:PyhudiTableSensor.execute_complete": (
        "Airflow calls it by name when the trigger has fired"
    ),
    "airflow_provider_pyhudi/submit/spark_submit.py:PyhudiSparkSubmitHook.submit": (
        "SparkSubmitOperator calls it"
    ),
    "airflow_provider_pyhudi/submit/spark_submit.py:PyhudiSparkSubmitHook._resolve_connection": (
        "overrides the Spark provider's"
    ),
    "airflow_provider_pyhudi/submit/spark_submit.py:"
    "PyhudiSparkSubmitHook._build_spark_submit_command": "overrides the Spark provider's",
    "airflow_provider_pyhudi/submit/spark_submit.py:"
    "PyhudiSparkSubmitHook._build_spark_common_args": "overrides the Spark provider's",
    "airflow_provider_pyhudi/submit/spark_submit.py:"
    "PyhudiSparkSubmitHook._process_spark_submit_log": "overrides the Spark provider's",
    "pyhudi/cli/main.py:main": "the console command",
    "pyhudi/spark/tasks/hearing.py:_Highest.addInPlace": "Spark's contract of an accumulator",
    "pyhudi/spark/tasks/hearing.py:_Highest.zero": "Spark's contract of an accumulator",
    "pyhudi/spark/tasks/requests.py:_Sum.addInPlace": "Spark's contract of an accumulator",
    "pyhudi/spark/tasks/requests.py:_Sum.zero": "Spark's contract of an accumulator",
    "pyhudi/spark/tasks/shuffle_keys.py:spark_hash_int": "what shuffle_keys is the inverse of",
}
"""Names that no code here refers to, and who does."""

TEMPLATES = PROVIDER / "page" / "templates"
"""Pages, which ask values for their attributes: ``each.is_hidden``."""

BY_REFLECTION = {
    "pyhudi/actions/commit.py:WriteStat": "its fields are read and written as they are listed"
}
"""Dataclasses whose fields nothing names one by one, and why."""


def test_every_module_is_used() -> None:
    imported = {
        name for module in _users() for node in ast.walk(module.tree) for name in _imported(node)
    } | {text for module in shipped() for text in _dotted_strings(module.tree)}
    dead = [
        module.name
        for module in shipped()
        if not module.is_package and module.name not in imported and module.name not in ENTRANCES
    ]
    assert not dead, f"nothing imports these modules: {dead}. Delete them, or use them"


def test_every_name_is_used_outside_the_tests() -> None:
    """Functions, classes, methods, constants, fields: by what the syntax trees refer to."""
    uses = _Uses(_users())
    said = _said_in_templates()
    found = [
        f"{module.where}:{name}"
        for module in shipped()
        for name in uses.unused(module)
        if name.rpartition(".")[2] not in said
    ]
    dead = sorted(set(found) - set(FOR_OTHERS))
    assert not dead, (
        f"only tests use these, or nothing does: {dead}. Delete them, or say in FOR_OTHERS who "
        "refers to them"
    )
    stale = sorted(set(FOR_OTHERS) - set(found))
    assert not stale, f"FOR_OTHERS lists what is used by now or gone: {stale}"


def _said_in_templates() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.html"))
    return {name for text in texts for name in re.findall(r"\.(\w+)", text)}


@pytest.mark.parametrize(
    ("code", "unused"),
    [
        ("def f():\n    f()", ["f"]),
        ("def f():\n    pass\nf()", []),
        ("LIMIT = 3", ["LIMIT"]),
        ("class A:\n    def apply(self): pass\nA()", ["A.apply"]),
        ("import pc\nclass A:\n    def apply(self): pass\nA(pc.apply())", ["A.apply"]),
        ("class A:\n    def apply(self): pass\nA().apply()", []),
        ("@dataclass\nclass A:\n    size: int\nA(size=3)", ["A.size"]),
        ("class A(Enum):\n    B = 1\nA(1)", []),
        ("def f(): pass\n__all__ = ['f']", []),
        ("# f and 'apply' are words\ndef f(): 'f'", ["f"]),
    ],
)
def test_a_name_is_dead_when_nothing_refers_to_it(code: str, unused: list[str]) -> None:
    module = Module(path="pyhudi/m.py", name="pyhudi.m", text=code, tree=ast.parse(code))
    assert _Uses([module]).unused(module) == unused


class _Uses:
    """What some modules refer to: names in their own module, imported names, attributes.

    A method counts as used when an attribute of its name is read anywhere but in itself, whatever
    the type of what is before the dot; what is before it must not be a foreign module.
    """

    def __init__(self, modules: Iterable[Module]) -> None:
        self._names: Counter[tuple[str, str]] = Counter()
        self._attributes: Counter[str] = Counter()
        self._foreign = {module.name: _foreign(module.tree) for module in modules}
        for module in modules:
            self._names += self._names_in(module.tree, module.name)
            self._attributes += self._attributes_in(module.tree, module.name)

    def unused(self, module: Module) -> list[str]:
        """The definitions, constants and fields of a module that nothing refers to."""
        nodes = dict(module.definitions())
        classes = {name: node for name, node in nodes.items() if isinstance(node, ast.ClassDef)}
        found = [(name, node) for name, node in nodes.items() if name.rpartition(".")[0] in classes]
        dead = [name for name, node in found if not self._is_read(module, name, node)]
        dead += [
            name
            for name, node in nodes.items()
            if name.rpartition(".")[0] not in classes and not self._is_named(module, name, node)
        ]
        dead += [name for name in _assigned(module.tree) if not self._is_named(module, name)]
        for owner, node in classes.items():
            if not _is_enum(node) and f"{module.where}:{owner}" not in BY_REFLECTION:
                fields = (f"{owner}.{name}" for name in _assigned(node))
                dead += [name for name in fields if not self._is_read(module, name)]
        return [name for name in dead if not name.rpartition(".")[2].startswith("__")]

    def _is_read(self, module: Module, dotted: str, node: ast.AST | None = None) -> bool:
        """Whether an attribute of this name is read outside of the definition itself."""
        name = dotted.rpartition(".")[2]
        own = self._attributes_in(node, module.name)[name] if node else 0
        return self._attributes[name] > own

    def _is_named(self, module: Module, dotted: str, node: ast.AST | None = None) -> bool:
        """Whether the name is used in its module, or imported from it, or read of the module."""
        key = module.name, dotted.rpartition(".")[2]
        own = self._names_in(node, module.name)[key] if node else 0
        return self._names[key] > own or self._is_read(module, dotted, node)

    def _names_in(self, tree: ast.AST, module: str) -> Counter[tuple[str, str]]:
        silent = docstrings(tree)
        found: Counter[tuple[str, str]] = Counter()
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    found[module, name] += 1
                case ast.Constant(value=str(name)) if id(node) not in silent:
                    found[module, name] += 1  # in __all__, or an annotation
                case ast.ImportFrom(module=str(source)):
                    found.update((source, alias.name) for alias in node.names)
        return found

    def _attributes_in(self, tree: ast.AST, module: str) -> Counter[str]:
        return Counter(
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and not (isinstance(node.value, ast.Name) and node.value.id in self._foreign[module])
        )


def _users() -> list[Module]:
    """What runs for users: engine, provider, job scripts, DAGs."""
    scripts = (module for module in beside() if module.path.startswith(("spark_jobs/", "dags/")))
    return [*shipped(), *scripts]


def _foreign(tree: ast.Module) -> set[str]:
    """The names under which a module has modules of others."""
    aliases = [
        alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    ]
    ours = ("pyhudi", "airflow_provider_pyhudi")
    return {
        alias.asname or alias.name.partition(".")[0]
        for alias in aliases
        if not alias.name.startswith(ours)
    }


def _assigned(node: ast.Module | ast.ClassDef) -> list[str]:
    """The names that are assigned to in the body of a module or class."""
    targets: list[ast.expr] = []
    for statement in node.body:
        match statement:
            case ast.Assign():
                targets += statement.targets
            case ast.AnnAssign():
                targets.append(statement.target)
    names = (found for target in targets for found in ast.walk(target))
    return [name.id for name in names if isinstance(name, ast.Name)]


def _is_enum(node: ast.ClassDef) -> bool:
    """Whether members are made from values, so that none needs to be named."""
    return any(base_name(base).endswith(("Enum", "Flag")) for base in node.bases)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def _dotted_strings(tree: ast.Module) -> list[str]:
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [text for text in strings if isinstance(text, str) and re.fullmatch(r"[\w.]+", text)]
