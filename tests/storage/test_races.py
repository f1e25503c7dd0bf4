"""Processes that create one file at once, on servers whose conditions hold between them."""

import multiprocessing
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from typing import TYPE_CHECKING

import pytest

from pyhudi.errors import AlreadyExistsError
from tests.support.backends import Place, place_on
from tests.support.servers.proxy import SLOW_DOWN, CutAnswer, Delay, DropAnswer, Proxy, Reset

if TYPE_CHECKING:
    from tests.support.servers.object_stores import S3Server

pytestmark = pytest.mark.interop

PROCESSES, ROUNDS, TIMES = 8, 25, 4
LONGEST_S = 240


def create_all(place: Place, number: int, rounds: range, start: Barrier, wins: list[int]) -> None:
    """Create a file in each round, together with the others; note the rounds that were won."""
    storage = place.open()
    with suppress(AlreadyExistsError):
        storage.create(f"{number}.ready", b"")
    for each in rounds:
        start.wait(LONGEST_S)
        try:
            storage.create(f".hoodie/{each}.commit", b"%d" % number)
        except AlreadyExistsError:
            continue
        wins.append(each)


def race(place: Place, rounds: range) -> dict[int, list[int]]:
    """The winners of each round, by what they know themselves."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        start = context.Barrier(PROCESSES)
        wins = [manager.list() for _ in range(PROCESSES)]
        racers = [
            context.Process(target=create_all, args=(place, number, rounds, start, wins[number]))
            for number in range(PROCESSES)
        ]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(LONGEST_S)
            assert racer.exitcode == 0
        won = [set(each) for each in wins]
    return {each: [n for n in range(PROCESSES) if each in won[n]] for each in rounds}


def check(place: Place, winners: dict[int, list[int]]) -> None:
    storage = place.open()
    for each, numbers in winners.items():
        assert len(numbers) == 1, f"round {each} was won by {numbers}"
        assert storage.read(f".hoodie/{each}.commit") == b"%d" % numbers[0]


@pytest.mark.parametrize("name", ["local", "versitygw", "azurite", "hdfs"])
def test_of_many_processes_exactly_one_creates_a_file(
    name: str, request: pytest.FixtureRequest
) -> None:
    place = place_on(name, request)
    # On a busy machine one of them may be ahead for a while.
    for begin in range(0, TIMES * ROUNDS, ROUNDS):
        winners = race(place, range(begin, begin + ROUNDS))
        check(place, winners)
        if len({numbers[0] for numbers in winners.values()}) > 1:
            return
    pytest.fail("they did not race")


def test_exactly_one_process_knows_that_it_won_whatever_becomes_of_the_answers(
    versitygw: "S3Server", request: pytest.FixtureRequest
) -> None:
    place = place_on("versitygw", request)
    with Proxy(versitygw.port, seed=15) as proxy:
        there = Place(place.uri, versitygw.behind(proxy.port).options)
        faults = (DropAnswer(), SLOW_DOWN, Reset(), Delay(0.05), CutAnswer())
        rules = [proxy.fail(fault, key="*.commit", chance=0.08) for fault in faults]
        winners = race(there, range(ROUNDS))
        assert all(rule.met for rule in rules)
    check(place, winners)
