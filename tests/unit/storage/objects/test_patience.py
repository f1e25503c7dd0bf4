"""Pauses between tries: they grow, differ, and end."""

from itertools import islice

import pytest

from pyhudi.errors import UnclearAnswerError
from pyhudi.storage.objects import patience
from pyhudi.storage.objects.patience import Patience, patiently


def test_pauses_grow_up_to_the_longest_and_none_is_like_another() -> None:
    pauses = list(islice(Patience(first_s=1, longest_s=8, total_s=1e9).pauses(), 50))
    for pause, longest in zip(pauses, [1, 2, 4, *[8] * 47], strict=True):
        assert longest / 2 <= pause <= longest
    assert len(set(pauses)) > 40


def test_there_is_an_end_that_leaves_two_tries_however_long_they_take(monkeypatch) -> None:
    now = iter(range(0, 10_000, 1_000))
    monkeypatch.setattr(patience.time, "monotonic", lambda: next(now))
    assert len(list(Patience(total_s=60).pauses())) == 2


def test_what_has_no_answer_to_the_end_is_told(monkeypatch) -> None:
    slept = []
    monkeypatch.setattr(patience.time, "sleep", slept.append)
    monkeypatch.setattr(patience, "PATIENCE", Patience(total_s=0))

    def call() -> None:
        raise UnclearAnswerError("no answer")

    with pytest.raises(UnclearAnswerError):
        patiently(call)
    assert len(slept) == 2


def test_who_waits_for_an_answer_is_told_why_and_not_at_every_try(monkeypatch, caplog) -> None:
    now = [0.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(patience.time, "sleep", lambda pause: now.__setitem__(0, now[0] + pause))

    def call() -> None:
        raise UnclearAnswerError("nothing listens there")

    with pytest.raises(UnclearAnswerError):
        patiently(call)
    told = [record.getMessage() for record in caplog.records]
    assert all("nothing listens there" in line for line in told)
    assert 4 <= len(told) <= 6
    assert now[0] <= 60


def test_a_pause_that_soon_ends_is_not_worth_a_line(monkeypatch, caplog) -> None:
    monkeypatch.setattr(patience.time, "sleep", lambda _: None)
    answers = iter([UnclearAnswerError("slow down"), UnclearAnswerError("slow down"), None])

    def call() -> str:
        if (error := next(answers)) is not None:
            raise error
        return "served"

    assert patiently(call) == "served"
    assert not caplog.records
