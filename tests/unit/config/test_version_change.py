"""What a table says in another version."""

from dataclasses import replace

import pytest

from pyhudi.config.options.merging import MODE_PROPERTY, PAYLOAD_PROPERTY
from pyhudi.config.options.recorded_merging import LEGACY_PAYLOAD_PROPERTY
from pyhudi.config.table import TableConfig
from pyhudi.config.version_change import changed_config
from pyhudi.config.versions import TableVersion
from pyhudi.errors import UnsupportedError
from pyhudi.table.table import open_table
from tests.support.golden import golden_table
from tests.support.in_process import CONFIG

MODEL = "org.apache.hudi.common.model."
EIGHT, NINE, SIX = TableVersion.EIGHT, TableVersion.NINE, TableVersion.SIX


def made(version: TableVersion, **more: object) -> TableConfig:
    config = replace(CONFIG, version=version, **more)
    return TableConfig.from_properties(config.to_properties())


@pytest.mark.parametrize(("name", "to"), [("v6_cow_clean", EIGHT), ("v6_cow_archived", NINE)])
def test_it_says_what_hudi_s_upgrade_says(name: str, to: TableVersion) -> None:
    """Apart from the metadata table, the class beside the type, and names of folders."""
    upgraded = open_table(golden_table(f"v{to.value}_cow_from_v6")).config
    mine = changed_config(open_table(golden_table(name)).config.without_metadata_table(), to)
    told = {
        key: value
        for key, value in upgraded.raw.items()
        if not key.startswith(("hoodie.table.metadata", "hoodie.table.index"))
    }
    beside = {"hoodie.table.keygenerator.class", "hoodie.archivelog.folder"}
    beside |= {key for key in told if key.endswith("merger.strategy")}
    assert {key: mine.raw.get(key) for key in told.keys() - beside} == {
        key: value for key, value in told.items() if key not in beside
    }
    assert mine.merge_mode is upgraded.merge_mode


@pytest.mark.parametrize("payload", ["OverwriteWithLatestAvroPayload", "EventTimeAvroPayload"])
def test_records_are_merged_as_before(payload: str) -> None:
    config = made(SIX, payload_class=MODEL + payload)
    eight = changed_config(config, EIGHT)
    nine = changed_config(eight, NINE)
    assert eight.merge_mode is nine.merge_mode is config.merge_mode
    assert PAYLOAD_PROPERTY in eight.raw
    assert PAYLOAD_PROPERTY not in nine.raw
    assert nine.raw[LEGACY_PAYLOAD_PROPERTY] == eight.raw[PAYLOAD_PROPERTY]
    down = changed_config(nine, SIX)
    assert down.merge_mode is config.merge_mode
    # Without it a batch would be combined by the order of time, as version 6 does by the class.
    assert (MODE_PROPERTY in down.raw) == (payload == "OverwriteWithLatestAvroPayload")
    assert LEGACY_PAYLOAD_PROPERTY not in down.raw


def test_what_cannot_be_said_is_refused() -> None:
    config = made(SIX, payload_class=f"{MODEL}PartialUpdateAvroPayload")
    with pytest.raises(UnsupportedError, match="PartialUpdate"):
        changed_config(config, EIGHT)


def test_keys_that_releases_spell_in_two_ways_stay_in_their_version() -> None:
    config = made(SIX, key_generator_class="org.apache.hudi.keygen.ComplexKeyGenerator")
    assert changed_config(config, EIGHT).key_generator_class == config.key_generator_class
    for before, to in ((config, NINE), (replace(config, version=NINE), EIGHT)):
        with pytest.raises(UnsupportedError, match="complex keys of one field"):
            changed_config(before, to)


def test_an_order_by_several_columns_is_said_in_version_9_alone() -> None:
    config = made(NINE, ordering_fields=("ts", "number"))
    with pytest.raises(UnsupportedError, match="ts, number"):
        changed_config(config, EIGHT)
