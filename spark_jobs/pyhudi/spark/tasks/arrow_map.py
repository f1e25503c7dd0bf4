"""``mapInArrow`` where pandas is not installed.

Spark's own method asks for pandas before it looks at what is mapped, though neither it nor the
workers use it for Arrow batches. The engine needs pyarrow alone, so it makes the same call itself.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable, Iterator
from functools import cache

import pyarrow as pa
import pyspark
from pyspark import Accumulator, TaskContext
from pyspark.rdd import PythonEvalType
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.udf import UserDefinedFunction

from pyhudi.errors import InvariantError
from pyhudi.runner.runner import TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.spark.tasks.keys import hand_keys, receive_keys
from pyhudi.spark.tasks.requests import Counts, counted, counter_of

# A user who names an allocator in Arrow's own variable keeps it.
_CHOSEN_POOL = "ARROW_DEFAULT_MEMORY_POOL"
_log = logging.getLogger(__name__)

BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_in_arrow(frame: DataFrame, function: TaskFunction, schema: pa.Schema) -> DataFrame:
    """Run a function over the Arrow batches of each partition of a DataFrame.

    Source: PandasMapOpsMixin.mapInArrow, Spark 3.5 and 4.2.
    """
    hand_keys(frame.sparkSession.sparkContext)
    counter = counter_of(frame.sparkSession.sparkContext)
    mapped = UserDefinedFunction(
        _at_work(function, counter),
        returnType=from_arrow_schema(schema, prefer_timestamp_ntz=True),
        evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
    )
    column = mapped(*[frame[name] for name in frame.columns])._jc
    if int(pyspark.__version__.split(".")[0]) >= 4:
        java = frame._jdf.mapInArrow(column, False, None)  # noqa: FBT003 - Java has no names
    else:
        java = frame._jdf.pythonMapInArrow(column.expr(), False)  # noqa: FBT003 - Java has no names
    return DataFrame(java, frame.sparkSession)


def _at_work(function: TaskFunction, counter: Accumulator[Counts]) -> BatchFunction:
    """The function as it runs in a worker.

    Its input is read to the end, whether it asks for that or not: Spark's worker ends itself when
    input is left over, and the next task waits for a new one to import everything. To stop early
    would spare nothing, Spark computes the rows all the same.
    Source: main in worker.py (END_OF_STREAM), Spark 3.5 and 4.2.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        choose_memory_pool()
        context = _this_context()
        receive_keys(context)
        with counted(counter):
            yield from function(_identity(context), batches)
        for _ in batches:
            pass
        put_imports_aside(function.__qualname__)

    return run


def _this_context() -> TaskContext:
    """The Spark task that calls."""
    context = TaskContext.get()
    if context is None:
        raise InvariantError("no Spark task runs here")
    return context


def _identity(context: TaskContext) -> TaskIdentity:
    return TaskIdentity(
        partition_id=context.partitionId(),
        stage_id=context.stageId(),
        attempt_id=context.taskAttemptId(),
    )


@cache
def choose_memory_pool() -> None:
    """Let this process take memory from jemalloc where the installation has it.

    With Arrow's own choice, mimalloc, rewriting a base file takes a quarter more (pyarrow 26).
    """
    if _CHOSEN_POOL not in os.environ and "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())


@cache
def put_imports_aside(function: str) -> None:
    """Spare what this process has imported when garbage is collected, once a function.

    Spark collects after every task, and would look through all objects of all modules each time:
    20 ms of CPU with Arrow, pandas and the engine.
    Source: manager in daemon.py (gc.collect), Spark 3.5 and 4.2.
    """
    gc.freeze()
    _log.debug("%d objects are spared from now on, %s has run", gc.get_freeze_count(), function)
