"""What options and properties say of merging."""

import pytest

from pyhudi.config.options.merging import (
    CUSTOM_PAYLOAD,
    DEFAULT_PAYLOAD,
    DMS_PAYLOAD,
    EVENT_TIME_PAYLOAD,
    NON_DEFAULTS_PAYLOAD,
    OVERWRITE_PAYLOAD,
    PARTIAL_UPDATE_PAYLOAD,
    DeleteMarker,
    MergeConfig,
    MergeMode,
    merge_mode,
)
from pyhudi.errors import OptionError, UnsupportedError

PAYLOAD = "hoodie.datasource.write.payload.class"
MODE = "hoodie.write.record.merge.mode"
MERGER = "pyhudi.merge.custom.merger"
FIELD, MARKER = "hoodie.payload.delete.field", "hoodie.payload.delete.marker"


@pytest.mark.parametrize(
    ("payload", "mode"),
    [
        (OVERWRITE_PAYLOAD, MergeMode.COMMIT_TIME),
        (DEFAULT_PAYLOAD, MergeMode.EVENT_TIME),
        (EVENT_TIME_PAYLOAD, MergeMode.EVENT_TIME),
        (PARTIAL_UPDATE_PAYLOAD, MergeMode.PARTIAL_UPDATE),
        (NON_DEFAULTS_PAYLOAD, MergeMode.NON_DEFAULTS),
        (DMS_PAYLOAD, MergeMode.DMS),
        (CUSTOM_PAYLOAD, MergeMode.CUSTOM),
        (None, MergeMode.EVENT_TIME),
    ],
)
def test_a_payload_class_stands_for_a_mode(payload: str | None, mode: MergeMode) -> None:
    assert merge_mode(payload, ["ts"]) is mode
    unordered = MergeMode.COMMIT_TIME if mode is MergeMode.EVENT_TIME else mode
    assert merge_mode(payload, []) is unordered


@pytest.mark.parametrize("name", ["ExpressionPayload", "command.payload.ExpressionPayload"])
def test_an_unknown_class_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=name) as caught:
        MergeConfig.from_options({PAYLOAD: name})
    assert "PartialUpdateAvroPayload" in str(caught.value)
    with pytest.raises(UnsupportedError, match=name):
        merge_mode(name, [])


def test_a_merge_strategy_of_its_own_is_refused_where_no_payload_class_decides() -> None:
    own = "11111111-2222-3333-4444-555555555555"
    with pytest.raises(UnsupportedError, match=own):
        merge_mode(None, ["ts"], own)
    assert merge_mode(DMS_PAYLOAD, ["ts"], own) is MergeMode.DMS
    for known in ("eeb8d96f-b1e4-49fd-bbf8-28ac514178e5", ""):
        assert merge_mode(None, ["ts"], known) is MergeMode.EVENT_TIME


def test_a_merger_in_python_means_the_mode_custom() -> None:
    for more in ({}, {MODE: "CUSTOM"}, {PAYLOAD: CUSTOM_PAYLOAD}):
        config = MergeConfig.from_options({MERGER: "m:C", **more})
        assert (config.payload_class, config.custom_merger) == (CUSTOM_PAYLOAD, "m:C")


@pytest.mark.parametrize("payload", [PARTIAL_UPDATE_PAYLOAD, NON_DEFAULTS_PAYLOAD, DMS_PAYLOAD])
def test_the_mode_custom_may_come_with_a_payload_class(payload: str) -> None:
    assert MergeConfig.from_options({MODE: "custom", PAYLOAD: payload}).payload_class == payload


@pytest.mark.parametrize(
    "options",
    [
        {MODE: "COMMIT_TIME_ORDERING", PAYLOAD: DEFAULT_PAYLOAD},
        {MODE: "EVENT_TIME_ORDERING", PAYLOAD: PARTIAL_UPDATE_PAYLOAD},
        {MODE: "CUSTOM", PAYLOAD: EVENT_TIME_PAYLOAD},
        {MODE: "EVENT_TIME_ORDERING", MERGER: "m:C"},
        {PAYLOAD: DEFAULT_PAYLOAD, MERGER: "m:C"},
    ],
)
def test_options_that_contradict_each_other_are_an_error(options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="contradict each other"):
        MergeConfig.from_options(options)


def test_the_mode_custom_alone_says_too_little() -> None:
    with pytest.raises(OptionError, match=MERGER):
        MergeConfig.from_options({MODE: "CUSTOM"})


def test_a_delete_marker_has_a_column_and_a_value() -> None:
    found = MergeConfig.from_options({FIELD: "op", MARKER: "D"}).delete_marker
    assert found == DeleteMarker(field="op", value="D")
    for half in ({FIELD: "op"}, {MARKER: "D"}):
        with pytest.raises(OptionError, match="go together"):
            MergeConfig.from_options(half)
