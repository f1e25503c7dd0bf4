"""Composition reads from top to bottom; inheritance does not."""

import ast

from tests.support.source_tree import base_name, classes, shipped

SHAPES = {"Enum", "IntEnum", "Protocol", "Generic", "NamedTuple"}
"""Bases that say what kind of thing a class is, and bring no behaviour of ours."""

AN_OPERATOR = ("PyhudiJobOperator", "may be one level deep: it is a request and nothing more")
A_SENSOR = ("PyhudiTableSensor", "may be one level deep: it is what is asked and nothing more")
A_TRIGGER = ("PyhudiTableTrigger", "may be one level deep: it is what is asked and nothing more")
A_REQUEST = ("Request", "may be one level deep: the flags that every job has, and no more")
CONTRACTS = {
    "pyhudi/flags.py:FlagParser": ("ArgumentParser", "argparse reports errors by a method"),
    "pyhudi/jobs/archive.py:ArchiveRequest": A_REQUEST,
    "pyhudi/jobs/bootstrap.py:BootstrapRequest": A_REQUEST,
    "pyhudi/jobs/clean.py:CleanRequest": A_REQUEST,
    "pyhudi/jobs/compaction.py:CompactionRequest": A_REQUEST,
    "pyhudi/jobs/restore.py:RestoreRequest": A_REQUEST,
    "pyhudi/jobs/rollback.py:RollbackRequest": A_REQUEST,
    "pyhudi/jobs/savepoint.py:SavepointRequest": A_REQUEST,
    "pyhudi/jobs/upsert.py:UpsertRequest": A_REQUEST,
    "pyhudi/storage/objects/transfer/ranges.py:ObjectFile": (
        "PythonFile",
        "Arrow takes no other file",
    ),
    "pyhudi/storage/objects/transfer/sinks.py:ObjectSink": (
        "PythonFile",
        "Arrow takes no other file",
    ),
    "pyhudi/spark/tasks/hearing.py:_Highest": ("AccumulatorParam", "Spark's contract"),
    "pyhudi/spark/tasks/requests.py:_Sum": ("AccumulatorParam", "Spark's contract"),
    "pyhudi/spark/job.py:_Stopped": ("BaseException", "a signal must pass every except"),
    "airflow_provider_pyhudi/groups/table.py:PyhudiTableGroup": (
        "TaskGroup",
        "what a DAG groups its tasks by",
    ),
    "airflow_provider_pyhudi/hooks/table.py:PyhudiHook": ("BaseHook", "Airflow's contract"),
    "airflow_provider_pyhudi/lineage/links.py:PyhudiSparkLink": (
        "BaseOperatorLink",
        "Airflow's contract",
    ),
    "airflow_provider_pyhudi/lineage/links.py:PyhudiTableLink": (
        "BaseOperatorLink",
        "Airflow's contract",
    ),
    "airflow_provider_pyhudi/operators/archive.py:PyhudiArchiveOperator": AN_OPERATOR,
    "airflow_provider_pyhudi/operators/bootstrap.py:PyhudiBootstrapOperator": AN_OPERATOR,
    "airflow_provider_pyhudi/operators/clean.py:PyhudiCleanOperator": AN_OPERATOR,
    "airflow_provider_pyhudi/operators/compaction.py:PyhudiCompactionOperator": AN_OPERATOR,
    "airflow_provider_pyhudi/operators/job.py:PyhudiJobOperator": (
        "SparkSubmitOperator",
        "the Spark provider's arguments are ours too",
    ),
    "airflow_provider_pyhudi/operators/restore.py:PyhudiRestoreOperator": AN_OPERATOR,
    "airflow_provider_pyhudi/operators/rollback.py:PyhudiRollbackOperator": AN_OPERATOR,
    "airflow_provider_pyhudi/operators/savepoint.py:PyhudiSavepointOperator": AN_OPERATOR,
    "airflow_provider_pyhudi/operators/upsert.py:PyhudiUpsertOperator": AN_OPERATOR,
    "airflow_provider_pyhudi/page/plugin.py:PyhudiPlugin": ("AirflowPlugin", "Airflow's contract"),
    "airflow_provider_pyhudi/triggers/driver.py:PyhudiDriverTrigger": (
        "BaseTrigger",
        "Airflow's contract",
    ),
    "airflow_provider_pyhudi/retries.py:SpreadRetries": ("RetryPolicy", "Airflow's contract"),
    "airflow_provider_pyhudi/sensors/instant.py:PyhudiInstantSensor": A_SENSOR,
    "airflow_provider_pyhudi/sensors/partition.py:PyhudiPartitionSensor": A_SENSOR,
    "airflow_provider_pyhudi/sensors/table_service.py:PyhudiTableServiceSensor": A_SENSOR,
    "airflow_provider_pyhudi/sensors/waiting.py:PyhudiTableSensor": (
        "BaseSensorOperator",
        "Airflow's contract",
    ),
    "airflow_provider_pyhudi/submit/spark_submit.py:PyhudiSparkSubmitHook": (
        "SparkSubmitHook",
        "the Spark provider has no other seam",
    ),
    "airflow_provider_pyhudi/triggers/commits.py:PyhudiCommitTrigger": (
        "BaseEventTrigger",
        "Airflow's contract",
    ),
    "airflow_provider_pyhudi/triggers/commits.py:_Looks": (
        "SharedStreamProducer",
        "Airflow's contract",
    ),
    "airflow_provider_pyhudi/triggers/partition.py:PyhudiPartitionTrigger": A_TRIGGER,
    "airflow_provider_pyhudi/triggers/table_service.py:PyhudiTableServiceTrigger": A_TRIGGER,
    "airflow_provider_pyhudi/triggers/timeline.py:PyhudiInstantTrigger": A_TRIGGER,
    "airflow_provider_pyhudi/triggers/waiting.py:PyhudiTableTrigger": (
        "BaseTrigger",
        "Airflow's contract",
    ),
}
"""Classes that a library or Airflow wants to be subclasses of its own: the base, and why."""


def test_a_class_inherits_from_none_of_ours() -> None:
    found = {
        where: {base_name(base) for base in node.bases} - SHAPES
        for where, node in classes()
        if not where.startswith(("pyhudi/errors.py:", "airflow_provider_pyhudi/exceptions.py:"))
    }
    bases = {where: names for where, names in found.items() if names}
    allowed = {where: {base} for where, (base, _) in CONTRACTS.items()}
    wrong = {where: names for where, names in bases.items() if allowed.get(where) != names}
    assert not wrong, (
        f"these classes inherit: {wrong}. Only errors, enums, protocols and what Airflow or a "
        "library asks for do; take the other thing as an argument, or write a Protocol where "
        "there are two of a kind"
    )
    stale = sorted(set(CONTRACTS) - set(bases))
    assert not stale, f"CONTRACTS lists classes that are gone or inherit no more: {stale}"


def test_the_errors_are_one_tree() -> None:
    errors = next(module for module in shipped() if module.name == "pyhudi.errors")
    bases = {
        node.name: [base_name(base) for base in node.bases]
        for _, node in errors.definitions()
        if isinstance(node, ast.ClassDef)
    }
    wrong = {
        name: found
        for name, found in bases.items()
        if name != "HudiError" and (len(found) != 1 or found[0] not in bases)
    }
    assert not wrong, (
        f"these errors hang on no other error of ours: {wrong}. Every one is a HudiError, so that "
        "a caller can catch them all, and has one parent"
    )
    drawn = ast.get_docstring(errors.tree) or ""
    missing = sorted(name for name in bases if name not in drawn)
    assert not missing, f"the tree in the docstring of pyhudi/errors.py lacks {missing}"
