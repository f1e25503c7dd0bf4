"""A task that goes on for long says by itself how far it is."""

import pytest

from pyhudi.spark.tasks import hearing


class Heard(dict[str, int]):
    """An accumulator of the tests."""

    def add(self, counts: dict[str, int]) -> None:
        self.update(counts)


def test_a_long_task_says_now_and_then_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([0.0, 1.0, 9.0, 10.5, 11.0, 21.0])
    monkeypatch.setattr(hearing.time, "monotonic", lambda: next(times))
    heard = Heard()
    tell = hearing._Telling(heard)  # type: ignore[arg-type]
    for done in range(1, 7):
        tell("part=x/a.parquet:0", done * 1000, 6000)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "pyhudi: part=x/a.parquet:0: 4,000 of 6,000 rows are done",
        "pyhudi: part=x/a.parquet:0: 6,000 of 6,000 rows are done",
    ]
    assert heard == {"part=x/a.parquet:0": 6000}


def test_whoever_hears_stays_in_the_driver() -> None:
    listening = hearing._Highest(lambda what, done: None)
    maker, given = listening.__reduce__()
    assert maker(*given).hear is None
    assert maker(*given).addInPlace({"a": 3, "b": 1}, {"a": 2, "b": 4}) == {"a": 3, "b": 4}
