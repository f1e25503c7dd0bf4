"""One process of real Hudi among the writers; runs with the oracle's Python.

    python -m tests.rivals.hudi PLAN

It updates keys that are there and that nobody deletes, in a partition that all write, and has one
of its own: two who insert one new key at once are told apart by us, and not by Hudi.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from tests.interop import hudi_home
from tests.interop.hudi import SPARK_VARIABLES
from tests.rivals.notes import Notes, read_notes
from tests.rivals.orders import FLEETING_TS, STEADY_KEYS, WITH_HUDI, Order
from tests.rivals.plan import ORDER, Plan

_ROOT = Path(__file__).resolve().parents[2]
_OWN = "hudi"
_NOTED_S = 2.0


def start_hudi(plan: Plan) -> subprocess.Popen[bytes]:
    """The process."""
    environment = {name: each for name, each in os.environ.items() if name not in SPARK_VARIABLES}
    environment.update(TZ="UTC", PYTHONPATH=str(_ROOT))
    with (Path(plan.folder) / "hudi.said").open("ab") as output:
        return subprocess.Popen(
            [str(hudi_home.python()), "-m", "tests.rivals.hudi", str(plan.path)],
            cwd=_ROOT,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def drawn(plan: Plan) -> Iterator[Order]:
    """What Hudi does, one after another, until the time is up.

    The first is before the time runs: classes are loaded, which takes longer than ten writes.
    """
    chance, began = random.Random(f"hudi of {plan.seed}"), 0.0
    for count in itertools.count():
        name, elapsed_s = f"hudi.{count}", time.monotonic() - began if count else 0.0
        if elapsed_s >= plan.seconds:
            return
        kind = chance.choices(("update", "insert", "delete", "clean"), (50, 30, 10, 10))[0]
        if kind == "clean" and count:
            yield Order(name=name, operation="clean")
        elif kind == "update" and count:
            keys = chance.sample(range(STEADY_KEYS), 2)
            ts = int(elapsed_s * 1000)
            rows = {(WITH_HUDI, f"steady{key}"): (ts, name) for key in keys}
            yield Order(name=name, operation="upsert", rows=rows)
        else:
            keys = chance.sample(range(STEADY_KEYS), 3)
            rows = {(_OWN, f"key{key}"): (FLEETING_TS, name) for key in keys}
            operation = "delete" if kind == "delete" and count else "upsert"
            yield Order(name=name, operation=operation, rows=rows)
        began = began or plan.began()


def instant_of(plan: Plan, order: str) -> str | None:
    """The instant that an order was completed at, as the observer has noted; None for none."""
    until = time.monotonic() + _NOTED_S
    while time.monotonic() < until:
        for each in read_notes(plan.notes("observer")):
            if each.get("order") == order:
                return str(each["name"]).partition(".")[0]
        time.sleep(_NOTED_S / 10)
    return None


def main() -> None:
    from tests.interop import hudi_writes as writes
    from tests.interop.hudi_session import hudi_session
    from tests.interop.hudi_tables import Hudi, causes

    plan = Plan.load(Path(sys.argv[1]))
    notes = Notes(plan.notes("hudi"))
    with hudi_session(plan.hudi) as spark:
        hudi = Hudi(spark, plan.hudi)
        for order in drawn(plan):
            notes.add("begin", order=order.as_dict())
            status, instant = "committed", None
            try:
                if order.operation == "clean":
                    retained = int(plan.options["hoodie.clean.commits.retained"])
                    options = {**plan.shared_options, "hoodie.keep.min.commits": "16"}
                    instant = writes.clean(hudi, plan.uri, retained, options)
                else:
                    rows = [(k, p, ts, value) for (p, k), (ts, value) in order.rows.items()]
                    schema = "id string, part string, ts bigint, value string"
                    frame = spark.createDataFrame(rows, schema)
                    options = {**plan.hudis_options, ORDER: order.name}
                    writes.write(hudi, plan.uri, frame, order.operation, options=options)
                    instant = instant_of(plan, order.name)
                    status = "committed" if instant else "nothing_to_do"
            except Exception as error:  # noqa: BLE001 - the checker tells what may be
                said = causes(error) or traceback.format_exc()
                notes.add("refused", order=order.name, error=_kind(said), said=said)
            else:
                notes.add("done", order=order.name, status=status, instant=instant)
            if order.name.endswith(".0"):
                notes.add("up", life=0)
        notes.add("ended", life=0)


def _kind(said: str) -> str:
    known = ("HoodieWriteConflictException", "HoodieLockException", "HoodieHeartbeatException")
    return next((name for name in known if name in said), "HudiException")


if __name__ == "__main__":
    main()
