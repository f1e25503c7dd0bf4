"""A module is one idea and a function fits on a screen."""

import ast
from collections import Counter

from tests.support.source_tree import Function, code_lines, definitions, shipped

MODULE_LINES, MODULE_CAP = 400, 500
FUNCTION_LINES = 60
ARGUMENTS = 7
MODULES_IN_A_PACKAGE = 10

FULLER_PACKAGES = {
    "pyhudi/actions": (16, "what one action says a module"),
    "pyhudi/table": (20, "what is asked of an open table, one question a module"),
    "pyhudi/config/options": (17, "the options of one part of Hudi a module"),
    "pyhudi/pipeline": (15, "a write, its stages, and each service from request to result"),
    "pyhudi/transaction": (11, "one instant, and what it has to know of other writers"),
    "pyhudi/services": (12, "each service: what it plans, and the run"),
    "pyhudi/config": (12, "one module a request, beside those that read the texts of options"),
}
"""Packages with more modules than others may have: how many, and what they are."""

LONGER_MODULES: dict[str, str] = {
    "pyhudi/cli/commands.py": "one command line: its commands, and the flags of each",
    "pyhudi/services/clean.py": "one service: its plan, the second look at it, and the run",
    "pyhudi/timeline/active.py": "one timeline, and a method for what each kind of instant says",
    "airflow_provider_pyhudi/operators/job.py": "one submission, from a request to its result",
}
"""Modules of up to 500 lines, each with the reason why it is still one idea."""

MORE_ARGUMENTS = {
    "pyhudi/config/read.py:ReadConfig.of": "what the public query says, a keyword each",
    "pyhudi/read/snapshot.py:read_table": "the public query: one keyword for each thing to say",
    "pyhudi/read/snapshot.py:read_batches": "the public query: the same keywords",
    "pyhudi/spark/services/bootstrap.py:bootstrap": (
        "the public function: one keyword for each thing to say"
    ),
    "pyhudi/table/result.py:job_result": "one for each part of the answer, all but one by name",
    "airflow_provider_pyhudi/operators/job.py:PyhudiJobOperator.__init__": (
        "Airflow's contract: the constructor has the template fields by name"
    ),
    "airflow_provider_pyhudi/sensors/instant.py:PyhudiInstantSensor.__init__": (
        "Airflow's contract: the constructor has the template fields by name"
    ),
    "airflow_provider_pyhudi/operators/bootstrap.py:PyhudiBootstrapOperator.__init__": (
        "Airflow's contract: the constructor has the template fields by name"
    ),
    "airflow_provider_pyhudi/operators/upsert.py:PyhudiUpsertOperator.__init__": (
        "Airflow's contract: the constructor has the template fields by name"
    ),
}


def test_a_module_is_short_enough_to_be_one_idea() -> None:
    too_long = {
        module.where: length
        for module in shipped()
        if (length := module.text.count("\n"))
        > (MODULE_CAP if module.where in LONGER_MODULES else MODULE_LINES)
    }
    assert not too_long, (
        f"these modules have more than {MODULE_LINES} lines: {too_long}. A module is one idea: "
        f"split it, or list it in LONGER_MODULES with the reason (up to {MODULE_CAP} lines)"
    )


def test_a_function_fits_on_a_screen() -> None:
    too_long = {
        where: lines
        for module in shipped()
        for where, node in definitions(module)
        if not isinstance(node, ast.ClassDef)
        if (lines := code_lines(module, node)) > FUNCTION_LINES
    }
    assert not too_long, (
        f"these functions have more than {FUNCTION_LINES} lines of code (docstring, comments and "
        f"blank lines aside): {too_long}. One function owns the order of steps; give the steps "
        "names of their own"
    )


def test_a_function_takes_few_arguments() -> None:
    counts = {
        where: len(_arguments(node))
        for where, node in definitions()
        if not isinstance(node, ast.ClassDef) and len(_arguments(node)) > ARGUMENTS
    }
    unlisted = {where: count for where, count in counts.items() if where not in MORE_ARGUMENTS}
    assert not unlisted, (
        f"these functions take more than {ARGUMENTS} arguments: {unlisted}. What travels together "
        "is a value: give it a name and a dataclass"
    )
    assert set(MORE_ARGUMENTS) == set(counts), "MORE_ARGUMENTS lists functions that take few"


def test_no_exception_of_size_outlives_its_reason() -> None:
    lengths = {module.where: module.text.count("\n") for module in shipped()}
    short = [where for where in LONGER_MODULES if lengths.get(where, 0) <= MODULE_LINES]
    assert not short, f"LONGER_MODULES lists modules that are short or gone: {short}"


def test_a_package_holds_few_enough_modules_to_read_their_names() -> None:
    counts = Counter(
        module.where.rpartition("/")[0] for module in shipped() if not module.is_package
    )
    allowed = {where: count for where, (count, _) in FULLER_PACKAGES.items()}
    full = {
        where: count
        for where, count in counts.items()
        if count > allowed.get(where, MODULES_IN_A_PACKAGE)
    }
    assert not full, (
        f"these packages hold more than {MODULES_IN_A_PACKAGE} modules: {full}. Names are how a "
        "reader finds things; find the idea that became a package of its own"
    )
    stale = sorted(where for where in allowed if counts[where] <= MODULES_IN_A_PACKAGE)
    assert not stale, f"FULLER_PACKAGES lists packages that are no fuller than others: {stale}"


def _arguments(node: Function) -> list[str]:
    found = node.args
    names = [argument.arg for argument in (*found.posonlyargs, *found.args, *found.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]
