"""The contract between an operator and its job: flags, options, results."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.config.options.operations import PARTITIONS_TO_DELETE
from pyhudi.config.options.table import ORDERING_FIELD, RECORD_KEY_FIELD, TABLE_NAME
from pyhudi.errors import OptionError, PlatformError
from pyhudi.flags import flags_of, to_secrets, with_secrets
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.request import Request
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.upsert import UpsertRequest

NAME, KEY, ORDERING = TABLE_NAME.key, RECORD_KEY_FIELD.key, ORDERING_FIELD.key

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
keys = st.text("abc.-_", min_size=1, max_size=8) | st.sampled_from(["token", "secret_key"])
pairs = st.dictionaries(keys, texts, max_size=3)
maybe = st.none() | texts


@given(
    st.builds(
        UpsertRequest,
        base_path=texts,
        source=texts,
        table_name=maybe,
        table_type=maybe,
        operation=maybe,
        record_key=maybe,
        partition_path=st.none() | st.just("") | texts,
        ordering_field=maybe,
        partitions_to_delete=maybe,
        source_format=texts,
        source_options=pairs,
        sql=maybe,
        hoodie_conf=pairs,
        props=maybe,
        storage_options=pairs,
        commit_metadata=pairs,
        idempotency_key=maybe,
        result_path=maybe,
        verbose=st.booleans(),
    )
)
def test_a_command_line_gives_back_the_request_it_was_made_from(asked: UpsertRequest) -> None:
    assert with_secrets(UpsertRequest.from_args(asked.to_args()), to_secrets(asked)) == asked


SECRET = UpsertRequest(
    base_path="/t",
    source="/s",
    source_options={"password": "hunter2", "url": "jdbc:x://u:hunter2@h", "sep": ";"},
    hoodie_conf={"hoodie.datasource.hive_sync.password": "hunter2"},
    storage_options={"secret_key": "hunter2", "region": "x"},
)


def test_a_secret_travels_beside_the_command_line() -> None:
    args = SECRET.to_args()
    assert "hunter2" not in " ".join(args)
    assert {"sep=;", "region=x"} <= set(args)
    hidden = to_secrets(SECRET)
    assert hidden is not None
    assert hidden.count("hunter2") == 4
    assert with_secrets(UpsertRequest.from_args(args), hidden) == SECRET
    assert (
        to_secrets(replace(SECRET, source_options={}, hoodie_conf={}, storage_options={})) is None
    )


@pytest.mark.parametrize("name", ["base_path", "source"])
def test_a_password_in_a_path_is_refused_without_being_shown(name: str) -> None:
    request = replace(SECRET, **{name: "s3://AKEY:hunter2@bucket/t"})
    with pytest.raises(OptionError, match=f"{name} has a password") as caught:
        request.to_args()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hunter2", "must be JSON like"),
        ('["hunter2"]', "must be JSON like"),
        ('{"storage_options": "hunter2"}', "must be JSON like"),
        ('{"storage_option": {"secret_key": "hunter2"}}', "storage_option; this job takes"),
    ],
)
def test_secrets_that_cannot_be_meant_are_refused_without_being_shown(text: str, why: str) -> None:
    with pytest.raises(OptionError, match=why) as caught:
        with_secrets(SECRET, text)
    assert "hunter2" not in str(caught.value)


def test_two_values_of_a_secret_are_refused_without_being_shown() -> None:
    args = [*SOURCE, "--storage-option=secret_key=hunter2", "--storage-option=secret_key=other"]
    with pytest.raises(OptionError, match="secret_key two values; keep one") as caught:
        UpsertRequest.from_args(args)
    assert "hunter2" not in str(caught.value)


def test_every_field_of_a_request_has_a_flag_and_those_of_all_requests_come_last() -> None:
    shared = [entry.name for entry in fields(Request)]
    for request in (UpsertRequest, CompactionRequest):
        own = [entry.name for entry in fields(request) if entry.name not in shared]
        assert [*flags_of(request)] == ["base_path", *own, *shared[1:]]


BASE = ["--base-path", "/t"]
SOURCE = [*BASE, "--source", "/s"]


def request_of(*args: str) -> UpsertRequest:
    return UpsertRequest.from_args([*SOURCE, *args])


def test_partitions_are_deleted_without_a_source() -> None:
    args = [*BASE, "--operation", "delete_partition"]
    asked = UpsertRequest.from_args([*args, "--partitions-to-delete", "2024/*"])
    assert asked.source is None
    assert asked.options()[PARTITIONS_TO_DELETE.key] == "2024/*"
    by_option = f"--hoodie-conf={PARTITIONS_TO_DELETE.key}=p"
    assert UpsertRequest.from_args([*args, by_option]).partitions_to_delete is None
    with pytest.raises(OptionError, match="--partitions-to-delete"):
        UpsertRequest.from_args(args)


def test_hoodie_conf_wins_over_props_and_a_shorthand_over_both(tmp_path: Path) -> None:
    file = tmp_path / "options.properties"
    file.write_text(f"{NAME}=file\n{KEY}=file\n{ORDERING}=file\n", encoding="utf-8")
    conf = [f"--hoodie-conf={key}=conf" for key in (KEY, ORDERING)]
    request = request_of("--props", str(file), *conf, "--ordering-field", "flag")
    assert request.options() == {NAME: "file", KEY: "conf", ORDERING: "flag"}


def test_a_higher_level_wins_over_an_alias_of_a_lower_one() -> None:
    alias = ORDERING_FIELD.aliases[0]
    assert request_of(f"--hoodie-conf={alias}=a", "--ordering-field=b").options() == {ORDERING: "b"}


@pytest.mark.parametrize("key", [ORDERING, ORDERING_FIELD.aliases[0]], ids=["one key", "an alias"])
def test_two_values_at_one_level_are_refused(key: str) -> None:
    with pytest.raises(OptionError, match="two values, 'a' and 'b'"):
        request_of(f"--hoodie-conf={ORDERING}=a", f"--hoodie-conf={key}=b").options()


def test_the_same_value_twice_is_one_value() -> None:
    given_twice = [f"--hoodie-conf={ORDERING}=a"] * 2
    assert request_of(*given_twice).options() == {ORDERING: "a"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(BASE, "--source", id="no source"),
        pytest.param([*BASE, "--source="], "there is no source", id="an empty one"),
        pytest.param([*SOURCE, "--nonsense"], "no flag --nonsense; --help lists", id="flag"),
        pytest.param(
            ["--base-pth", "/t"], "no flag --base-pth; did you mean --base-path?", id="misspelt"
        ),
        pytest.param([*SOURCE, "--record_key=a"], "did you mean --record-key?", id="underscores"),
        pytest.param([*SOURCE, "--hoodie-conf", "a"], "key=value, not 'a'", id="no pair"),
        pytest.param([*SOURCE, "--props", "/nowhere"], "/nowhere", id="no file"),
    ],
)
def test_a_command_line_that_cannot_be_meant_is_refused(args: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        UpsertRequest.from_args(args).options()


RESULT = JobResult(
    status="committed",
    operation="upsert",
    table="flights",
    base_path="/data/flights",
    instant="20260102030405678",
    records={"inserted": 1},
    partitions=("a", "b"),
    seconds={"total": 1.5},
)


def test_a_result_survives_json() -> None:
    assert JobResult.from_json(RESULT.to_json()) == RESULT


def test_a_result_of_a_newer_job_is_read() -> None:
    newer = json.loads(RESULT.to_json()) | {"something": "new"}
    assert JobResult.from_json(json.dumps(newer)) == RESULT


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"status": "comm'])
def test_a_result_that_was_cut_short_says_so(text: str) -> None:
    with pytest.raises(PlatformError, match="no result of a pyhudi job"):
        JobResult.from_json(text)


def test_a_request_to_compact_survives_its_command_line() -> None:
    request = CompactionRequest(
        base_path="/t",
        mode="execute",
        instant="20260102030405678",
        strategy="UnBoundedCompactionStrategy",
        max_delta_commits="3",
        hoodie_conf={"hoodie.compaction.target.io": "10"},
        commit_metadata={"team": "ops"},
        idempotency_key="k",
        verbose=True,
    )
    assert CompactionRequest.from_args(request.to_args()) == request
    assert request.options() == {
        "hoodie.compaction.target.io": "10",
        "hoodie.compaction.strategy": "UnBoundedCompactionStrategy",
        "hoodie.compact.inline.max.delta.commits": "3",
        "pyhudi.idempotency.key": "k",
    }


def test_a_log_compaction_is_another_kind_of_request() -> None:
    request = CompactionRequest(base_path="/t", kind="log_compaction", mode="schedule")
    assert CompactionRequest.from_args(request.to_args()) == request
    assert request.operation_name == "log_compact"
    assert replace(request, kind="compaction").operation_name == "compact"
    with pytest.raises(OptionError, match="kind is 'minor'"):
        CompactionRequest.from_args([*BASE, "--kind", "minor"])
    for wrong in (replace(request, strategy="X"), replace(request, max_delta_commits="1")):
        with pytest.raises(OptionError, match="leave --strategy"):
            wrong.check()


@pytest.mark.parametrize(
    ("mode", "instant", "why"),
    [
        ("plan", None, "mode is 'plan'"),
        ("unschedule", None, "name the compaction"),
        ("schedule", "1", "leave --instant out"),
        ("schedule_and_execute", "1", "leave --instant out"),
    ],
)
def test_a_mode_and_an_instant_that_do_not_belong_together_are_refused(
    mode: str, instant: str | None, why: str
) -> None:
    args = CompactionRequest(base_path="/t", mode=mode, instant=instant).to_args()
    with pytest.raises(OptionError, match=why):
        CompactionRequest.from_args(args)


@pytest.mark.parametrize(
    "mode", ["scheduleAndExecute", "SCHEDULE_AND_EXECUTE", "scheduleandexecute"]
)
def test_a_mode_may_be_written_as_hudi_writes_it(mode: str) -> None:
    asked = CompactionRequest.from_args([*BASE, "--mode", mode, "--kind", "logCompaction"])
    assert (asked.mode, asked.kind) == ("schedule_and_execute", "log_compaction")
    assert asked == CompactionRequest.from_args(asked.to_args())
    assert CompactionRequest(base_path="/t", mode="Schedule").trace == "plan"


@pytest.mark.parametrize(
    ("mode", "instant", "why"),
    [
        ("unschedule", None, "mode is 'unschedule'"),
        ("schedule", "1", "takes no instant"),
        ("execute", "2026-01-02", "no single instant"),
    ],
)
def test_a_clean_is_refused_a_mode_that_it_has_not(
    mode: str, instant: str | None, why: str
) -> None:
    args = CleanRequest(base_path="/t", mode=mode, instant=instant).to_args()
    with pytest.raises(OptionError, match=why):
        CleanRequest.from_args(args)


def test_what_a_clean_is_asked_for_are_options_of_hudi() -> None:
    args = [*BASE, "--mode=scheduleAndExecute", "--dry-run", "--retain-commits=3"]
    asked = CleanRequest.from_args([*args, "--policy=KEEP_LATEST_BY_HOURS"])
    assert (asked.mode, asked.dry_run, asked.trace) == ("schedule_and_execute", True, "none")
    assert asked.options() == {
        "hoodie.clean.commits.retained": "3",
        "hoodie.clean.policy": "KEEP_LATEST_BY_HOURS",
    }


def test_a_compaction_is_named_to_the_millisecond() -> None:
    at = "2026-01-02T03:04:05.678Z"
    assert CompactionRequest.from_args([*BASE, "--mode=execute", "--instant", at]).instant == at
    for wrong in ("yesterday", "2026-01-02"):
        with pytest.raises(OptionError, match=wrong):
            CompactionRequest.from_args([*BASE, "--mode=execute", "--instant", wrong])
