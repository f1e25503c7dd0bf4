"""What the demo shows in Airflow's pages."""

import json

from scripts.demo import task_logs

LOG = """\
2026-11-23T02:23:35.851924Z [info     ] Created dag run.               [airflow.models.dagrun] dagrun=<DagRun>
2026-11-23T02:23:35.883521Z [info     ] [DAG TEST] starting task_id=land map_index=-1 [airflow.sdk.definitions.dag] loc=dag.py:1501
2026-11-23T02:23:36.000000Z [info     ] Task started    [airflow.api_fastapi.execution_api] hostname=vm
24,951 flights
2026-11-23T02:23:36.888234Z [info     ] Done. Returned value was: [1] [airflow.task.operators] loc=python.py:233
2026-11-23T02:23:37.018905Z [info     ] [DAG TEST] end task task_id=land map_index=-1 [airflow.sdk.definitions.dag] loc=dag.py:1563
2026-11-23T02:23:37.043914Z [info     ] [DAG TEST] starting task_id=upsert map_index=-1 [airflow.sdk.definitions.dag] loc=dag.py:1501
2026-11-23T02:23:37.044073Z [info     ] [DAG TEST] running task <TaskInstance: flights.upsert> [airflow.sdk.definitions.dag] loc=dag.py:1504
2026-11-23T02:23:38.000000Z [error    ] Task failed with exception     [task] loc=task_runner.py:1651
2026-11-23T02:23:38.000000Z [info     ] the first line of [2]
and the second
2026-11-23T02:23:38.018905Z [info     ] [DAG TEST] end task task_id=upsert map_index=-1 [airflow.sdk.definitions.dag] loc=dag.py:1563
"""  # noqa: E501 - as Airflow prints them


def test_each_task_has_its_own_part_of_the_log() -> None:
    found = {task: [json.loads(line) for line in lines] for task, lines in task_logs(LOG)}
    assert found == {
        "land": [
            {"event": "24,951 flights"},
            {
                "timestamp": "2026-11-23T02:23:36.888234Z",
                "level": "info",
                "event": "Done. Returned value was: [1]",
                "logger": "airflow.task.operators",
            },
        ],
        "upsert": [
            {
                "timestamp": "2026-11-23T02:23:38.000000Z",
                "level": "error",
                "event": "Task failed with exception",
                "logger": "task",
            },
            {
                "timestamp": "2026-11-23T02:23:38.000000Z",
                "level": "info",
                "event": "the first line of [2]",
                "logger": "",
            },
            {"event": "and the second"},
        ],
    }
