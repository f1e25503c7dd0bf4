"""The page of operators and sensors says which arguments are rendered."""

from airflow.sdk._shared.module_loading import import_string

from airflow_provider_pyhudi.reference import described


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
