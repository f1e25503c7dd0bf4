"""What a table's properties become when its version changes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pyhudi.config.options.keygen import COMPLEX, CUSTOM, plain_class
from pyhudi.config.options.merging import PAYLOAD_PROPERTY, MergeMode
from pyhudi.config.options.recorded_merging import LEGACY_PAYLOAD_PROPERTY
from pyhudi.config.table import TableConfig
from pyhudi.config.versions import TableVersion
from pyhudi.errors import UnsupportedError

_INITIAL: Final = "initial.version"
_ORDERS: Final = (MergeMode.COMMIT_TIME, MergeMode.EVENT_TIME)


def changed_config(config: TableConfig, to: TableVersion) -> TableConfig:
    """The configuration that a table has in another version; what it means stays the same.

    What tables of both versions say in one way stays as it is; what they say in different ways is
    said as a new table of the version does.

    Raises:
        UnsupportedError: its rule of merging cannot be named in the version, records would be
            merged by another, or keys spelled otherwise.
    Source: SevenToEightUpgradeHandler, EightToNineUpgradeHandler, NineToEightDowngradeHandler and
    EightToSevenDowngradeHandler, Hudi 1.1.
    """
    _check_merging(config)
    _check_keys(config, to)
    _check_order(config, to)
    known = replace(config, payload_class=config.merge_mode.value)
    was, is_to_be = known.to_properties(), replace(known, version=to).to_properties()
    kept = {
        key: value
        for key, value in config.raw.items()
        if (key not in was or key in is_to_be or not value) and key != LEGACY_PAYLOAD_PROPERTY
    }
    said = {key: value for key, value in is_to_be.items() if was.get(key) != value}
    found = TableConfig.from_properties({**kept, **said, **_beside(config, to, {**kept, **said})})
    _check_same(config, found)
    return found


def _beside(config: TableConfig, to: TableVersion, said: Mapping[str, str]) -> dict[str, str]:
    """What tells from where a table comes, which a new one has otherwise."""
    found = {
        key: config.raw.get(key, str(config.version.value))
        for key in said
        if key.endswith(_INITIAL)
    }
    payload = config.payload_class or config.merge_mode.value
    if to is TableVersion.EIGHT:
        found[PAYLOAD_PROPERTY] = config.merge_mode.value
    if to is TableVersion.NINE:
        found[LEGACY_PAYLOAD_PROPERTY] = config.raw.get(LEGACY_PAYLOAD_PROPERTY, payload)
    return found


def _check_merging(config: TableConfig) -> None:
    """Refuse what the versions name in ways of their own, and what records are filled by."""
    is_plain = config.partial_update is None and config.delete_marker is None
    if config.merge_mode not in _ORDERS or not is_plain:
        how = config.payload_class or config.partial_update or config.merge_mode.value
        raise UnsupportedError(
            f"the table {config.name} merges records by {how}, and its version is not changed "
            "here; let Hudi do that"
        )


def _check_keys(config: TableConfig, to: TableVersion) -> None:
    """Refuse what Hudi refuses between 9 and the others: there it spells such keys in one way.

    Source: KeyGenUtils.isComplexKeyGeneratorWithSingleRecordKeyField, Hudi 1.1.
    """
    if plain_class(config.key_generator_class or "") == CUSTOM:
        raise UnsupportedError(
            f"the table {config.name} has the key generator {config.key_generator_class}, of whose "
            "fields versions keep the kinds in two ways; let Hudi change its version"
        )
    is_single = len(config.record_key_fields) == 1
    is_complex = plain_class(config.key_generator_class or "") == COMPLEX
    if is_single and is_complex and TableVersion.NINE in (config.version, to):
        raise UnsupportedError(
            f"the table {config.name} has complex keys of one field, which version 9 and others "
            "spell in two ways; write it anew in the other version"
        )


def _check_order(config: TableConfig, to: TableVersion) -> None:
    if len(config.ordering_fields) > 1 and to is not TableVersion.NINE:
        raise UnsupportedError(
            f"the table {config.name} orders by {', '.join(config.ordering_fields)}, and version "
            f"{to.value} by one column alone"
        )


def _check_same(before: TableConfig, after: TableConfig) -> None:
    for name in (
        *("name", "database", "table_type", "record_key_fields", "partition_fields", "timezone"),
        *("ordering_fields", "key_generator_class", "merge_mode", "hive_style", "url_encode"),
        *("partial_update", "delete_marker", "timestamp_options", "drop_partition_columns"),
    ):
        if getattr(before, name) != getattr(after, name):
            raise UnsupportedError(
                f"in version {after.version.value} the table would have the {name} "
                f"{getattr(after, name)} in place of {getattr(before, name)}; let Hudi change it"
            )
