"""What the package says about itself."""

import importlib
import json
from importlib import resources

import jsonschema
import pytest

from airflow_provider_pyhudi.provider_info import get_provider_info


def test_the_description_is_what_airflow_asks_for() -> None:
    schema = json.loads(
        resources.files("airflow").joinpath("provider_info.schema.json").read_text()
    )
    jsonschema.validate(get_provider_info(), schema)


def listed_modules() -> list[str]:
    info = get_provider_info()
    kinds = ("operators", "sensors", "triggers", "hooks")
    return [module for kind in kinds for entry in info[kind] for module in entry["python-modules"]]


@pytest.mark.parametrize("module", listed_modules())
def test_a_listed_module_can_be_imported(module: str) -> None:
    assert importlib.import_module(module)


def test_the_connection_type_names_its_hook() -> None:
    (entry,) = get_provider_info()["connection-types"]
    module, _, name = entry["hook-class-name"].rpartition(".")
    hook = getattr(importlib.import_module(module), name)
    assert (hook.conn_type, hook.hook_name) == (entry["connection-type"], entry["hook-name"])
