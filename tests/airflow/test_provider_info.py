"""What the package says about itself."""

import importlib
import json
from importlib import resources

import jsonschema
import pytest
from airflow.api_fastapi.core_api.services.ui.connections import HookMetaService

from airflow_provider_pyhudi.connections import EXTRA_KEYS, OPTIONS_EXAMPLE
from airflow_provider_pyhudi.provider_info import get_provider_info
from pyhudi.config.access.storage_options import OPTIONS_BY_SCHEME


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


def test_the_form_of_a_connection_says_what_extra_takes() -> None:
    (entry,) = get_provider_info()["connection-types"]
    fields = entry["conn-fields"]
    assert tuple(fields) == EXTRA_KEYS
    told = fields["storage_options"]["description"]
    known = {name for names in OPTIONS_BY_SCHEME.values() for name in names}
    assert [name for name in sorted(known) if name not in told] == []
    assert OPTIONS_EXAMPLE in told


def test_airflow_shows_the_form() -> None:
    (form,) = (
        found for found in HookMetaService.hook_meta_data() if found.connection_type == "pyhudi"
    )
    assert form.extra_fields is not None
    assert form.extra_fields["storage_options"]["schema"]["title"] == "Storage options"
    host = form.standard_fields.host
    assert host is not None
    assert (
        host.placeholder
        == "/data/lake, which can be written; s3://bucket/lake and the like to read"
    )
