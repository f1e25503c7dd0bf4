import pyarrow as pa
import pytest

from pyhudi.actions.commit import WriteStat
from pyhudi.config.options.failures import ErrorPolicy, FailureConfig
from pyhudi.errors import RecordKeyError, RequestError, SchemaError
from pyhudi.keys.generators import NON_PARTITION, KeyGenerator
from pyhudi.pipeline.batch.failed import MOST_EXAMPLES, FailedRecords, FailureReport, Failures
from pyhudi.pipeline.batch.keying import Keying, keyed_batches
from pyhudi.pipeline.batch.staging import problem_of, reported_failures
from pyhudi.write.failed import FAILED_SCHEMA

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int32())])
WIDE = pa.schema([("id", pa.string()), ("n", pa.int64())])
GENERATOR = KeyGenerator(
    record_key_fields=("id",), partition_fields=(), key_generator_class=NON_PARTITION
)
REPORT = FailureConfig(policy=ErrorPolicy.REPORT, path="/elsewhere")


def _records(*pairs: tuple[str | None, str]) -> pa.Table:
    rows = [{"record_key": key, "cause": cause, "row": "{}"} for key, cause in pairs]
    return pa.Table.from_pylist(rows, schema=FAILED_SCHEMA)


def _keyed(
    config: FailureConfig, *batches: list[tuple[str | None, int]]
) -> tuple[list[list[str]], FailedRecords]:
    failed = FailedRecords(config)
    keying = Keying(generator=GENERATOR, data_schema=SCHEMA, failures=config)
    named = ([{"id": key, "n": n} for key, n in batch] for batch in batches)
    rows = (pa.Table.from_pylist(each, schema=WIDE) for each in named)
    found = keyed_batches(rows, keying, failed, 0)
    return [keyed["_hoodie_record_key"].to_pylist() for keyed, _ in found], failed


def test_nothing_more_is_keyed_once_a_failure_is_fatal_but_all_are_counted():
    keys, failed = _keyed(FailureConfig(), [("a", 1)], [(None, 1)], [("b", 2**40), ("c", 1)])
    assert keys == [["a"]]
    assert failed.is_fatal
    assert (failed.report.count, list(failed.take())) == (2, [])


def test_a_batch_that_no_row_is_to_blame_for_fails_as_it_is():
    failed = FailedRecords(REPORT)
    keying = Keying(generator=GENERATOR, data_schema=SCHEMA, failures=REPORT)
    rows = pa.table({"n": pa.array([1], pa.int64())})
    with pytest.raises(RequestError, match="record key field 'id'"):
        list(keyed_batches(iter([rows]), keying, failed, 0))


def test_reports_of_tasks_add_up():
    many = [(f"k{n}", "too wide") for n in range(MOST_EXAMPLES)]
    texts = [FailureReport.of(_records(*many)).to_text() for _ in range(2)]
    texts.append(FailureReport.of(_records((None, "no record key: id"))).to_text())
    report = reported_failures(texts)
    assert report.causes == {"too wide": 2 * MOST_EXAMPLES, "no record key: id": 1}
    assert len(report.examples) == MOST_EXAMPLES


def test_another_error_of_a_task_is_told_as_itself():
    with pytest.raises(SchemaError, match="what went wrong"):
        reported_failures([problem_of(SchemaError("what went wrong"))])


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("no record key: id", RecordKeyError),
        ("no ordering value: ts", RequestError),
        ("column n is null and may not be", SchemaError),
    ],
)
def test_the_error_names_count_cause_and_key(cause, kind):
    report = FailureReport.of(_records(("k1", cause), (None, cause)))
    report.refuse_unless(is_saving=True)
    with pytest.raises(kind, match="2 rows cannot be written") as caught:
        report.refuse_unless(is_saving=False)
    assert type(caught.value) is kind
    for words in (cause, "the first keys among them are 'k1'. Mend", "write.error.policy=report"):
        assert words in str(caught.value)


def test_the_error_names_no_keys_where_there_are_none():
    report = FailureReport.of(_records((None, "no record key: id")))
    with pytest.raises(RecordKeyError, match=r"no record key: id \(1 row\)\. Mend"):
        report.refuse_unless(is_saving=False)


def test_failed_records_are_counted_in_the_first_file_of_a_commit():
    stats = [WriteStat(file_id="b", path="p/b"), WriteStat(file_id="a", path="p/a")]
    failures = Failures(report=FailureReport.of(_records(("k1", "too wide"))), path="/elsewhere")
    errors = {stat.file_id: stat.total_write_errors for stat in failures.on(stats)}
    assert (errors, failures.on([])) == ({"a": 1, "b": 0}, ())
    assert failures.summary()["examples"] == [{"key": "k1", "cause": "too wide"}]
    assert Failures().on(stats) == tuple(stats)
    assert Failures().summary() == {}


def test_a_slice_is_not_blamed_for_values_of_its_neighbours():
    wide = pa.schema([("id", pa.string()), ("l", pa.list_(pa.int64()))])
    narrow = pa.schema([("id", pa.string()), ("l", pa.list_(pa.int32()))])
    rows = pa.Table.from_pylist([{"id": "a", "l": [2**40]}, {"id": "b", "l": [1]}], wide)
    keying = Keying(generator=GENERATOR, data_schema=narrow, failures=REPORT)
    failed = FailedRecords(REPORT)
    chunks = iter([rows.slice(1), rows.slice(0, 1)])
    found = [keyed["l"].to_pylist() for keyed, _ in keyed_batches(chunks, keying, failed, 0)]
    assert found == [[[1]], []]
    assert failed.report.causes == {"column l.element holds a value that does not fit int32": 1}
