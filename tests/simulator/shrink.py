"""A history that fails made smaller: without whoever and whatever it fails without, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulator.history import Actor, History


def shrunk(history: History, fails: Callable[[History], bool], tries: int = 300) -> History:
    """The smallest history found that fails, by leaving out processes, incidents and steps.

    The order of calls changes with what is left out, so a smaller one may not fail where the larger
    one does; nothing is left out then.
    """
    is_smaller = True
    while is_smaller and tries > 0:
        is_smaller = False
        for smaller in _smaller(history):
            tries -= 1
            if fails(smaller):
                history, is_smaller = smaller, True
                break
            if tries <= 0:
                break
    return history


def _smaller(history: History) -> Iterator[History]:
    actors = history.actors
    for number in range(len(actors)):
        if len(actors) > 1:
            yield replace(history, actors=(*actors[:number], *actors[number + 1 :]))
    for number, actor in enumerate(actors):
        for less in _less(actor):
            yield replace(history, actors=(*actors[:number], less, *actors[number + 1 :]))
    for fewer in range(history.commits_before):
        yield replace(history, commits_before=fewer)


def _less(actor: Actor) -> Iterator[Actor]:
    if actor.clock_ahead_ms:
        yield replace(actor, clock_ahead_ms=0)
    for number in range(len(actor.incidents)):
        yield replace(actor, incidents=(*actor.incidents[:number], *actor.incidents[number + 1 :]))
    if len(actor.steps) > 1:
        for number in range(len(actor.steps)):
            yield replace(actor, steps=(*actor.steps[:number], *actor.steps[number + 1 :]))
