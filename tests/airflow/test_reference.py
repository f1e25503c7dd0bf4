"""The page of operators and sensors says which arguments are rendered."""

from inspect import signature

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk._shared.module_loading import import_string

from airflow_provider_pyhudi.reference import PASSED_ON, PASSED_ON_TEMPLATED, described


def test_an_argument_is_called_templated_just_when_it_is_rendered() -> None:
    wrong = []
    for each in described():
        rendered = set(import_string(f"{each.module}.{each.name}").template_fields)
        wrong += [
            f"{each.name}({argument.name}=)"
            for argument in each.arguments
            if argument.is_templated != (argument.name in rendered)
        ]
    assert not wrong, f"(templated) stands wrongly, or is missing, in the :param of: {wrong}"


def test_the_page_lists_all_that_is_passed_on_to_spark() -> None:
    (base,) = (each for each in described() if each.name == "PyhudiJobOperator")
    theirs = {*signature(SparkSubmitOperator.__init__).parameters} - {"self", "kwargs", "args"}
    assert sorted(PASSED_ON) == sorted(theirs - {*base.taken})
    assert {*PASSED_ON_TEMPLATED} == {*SparkSubmitOperator.template_fields} & {*PASSED_ON}
