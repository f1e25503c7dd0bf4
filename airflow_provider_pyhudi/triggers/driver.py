"""Wait in the triggerer for a driver that runs on a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.providers.apache.spark.hooks import spark_submit
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk.exceptions import AirflowException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_pyhudi.exceptions import PyhudiEnvironmentError

SUCCEEDED, FAILED = "succeeded", "failed"
TOLERATED = 10
"""Polls in a row that may fail before the driver is given up."""

_ENDED = {
    "SUCCEEDED": SUCCEEDED,
    "FAILED": FAILED,
    "KILLED": FAILED,
    "NOTFOUND": FAILED,
    "UNKNOWN": FAILED,
}
"""What the ends of a YARN application and of a Kubernetes pod are."""


class PyhudiDriverTrigger(BaseTrigger):
    """Fire once the driver has ended, by what YARN or Kubernetes say of it.

    The event is ``{"status": "succeeded", "message": ...}`` or ``{"status": "failed", "message":
    ...}``, on YARN with the ``application``. Whether the job has committed is for the timeline to
    say. A cluster that does not answer is asked again.

    :param conn_id: The Spark connection.
    :param external_id: The YARN application, or namespace and name of the driver's pod with a colon
        in between.
    :param poll_interval: Seconds between two polls.
    """

    def __init__(self, *, conn_id: str, external_id: str, poll_interval: float) -> None:
        super().__init__()
        self.conn_id = conn_id
        self.external_id = external_id
        self.poll_interval = poll_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments, as plain JSON values."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "conn_id": self.conn_id,
                "external_id": self.external_id,
                "poll_interval": self.poll_interval,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll, sleep, poll again, until the driver has ended; the log has each change."""
        told, failures = "", 0
        while True:
            try:
                # The clients of both clusters block, and the triggerer has one loop.
                state, message = await asyncio.to_thread(self._state)
                failures = 0
            except (AirflowException, OSError, RuntimeError, ValueError) as error:
                failures += 1
                state, message = "", f"the state of {self.external_id} is not known: {error}"
                self.log.warning("%s (%d of %d)", message, failures, TOLERATED)
                if failures == TOLERATED:
                    yield self._event(FAILED, message)
                    return
            ended = _ENDED.get(state.upper())
            if ended is not None:
                yield self._event(ended, message)
                return
            if state and state != told:
                self.log.info("%s is %s", self.external_id, state)
                told = state
            await asyncio.sleep(self.poll_interval)

    async def on_kill(self) -> None:
        """Stop the driver, as the user has ended the task; what it left the next writer undoes."""
        await asyncio.to_thread(self._kill)

    def _event(self, status: str, message: str) -> TriggerEvent:
        is_pod = ":" in self.external_id
        told = {} if is_pod else {"application": self.external_id}
        return TriggerEvent({"status": status, "message": message, **told})

    def _hook(self) -> SparkSubmitHook:
        return SparkSubmitHook(
            conn_id=self.conn_id, deploy_mode="cluster", yarn_track_via_rm_api=True
        )

    def _state(self) -> tuple[str, str]:
        hook = self._hook()
        if not hook._is_kubernetes:
            state, final, told = hook._query_yarn_application_status(self.external_id)
            end = final if state == "FINISHED" else state
            return end, f"{self.external_id} ended as {end}: {told or 'YARN does not say why'}"
        namespace, _, name = self.external_id.partition(":")
        client = spark_submit.kube_client
        try:
            pod = client.get_kube_client().read_namespaced_pod(name, namespace)
        except client.ApiException as error:
            if error.status != 404:
                raise PyhudiEnvironmentError(str(error)) from error
            return "NotFound", f"the pod {name} is gone"
        phase = pod.status.phase or "Pending"
        return phase, f"the pod {name} ended as {phase}; its log says why"

    def _kill(self) -> None:
        hook = self._hook()
        if not hook._is_kubernetes:
            hook._kill_yarn_application(self.external_id)
            return
        namespace, _, hook._kubernetes_driver_pod = self.external_id.partition(":")
        hook._connection["namespace"] = namespace
        hook._delete_driver_pod()
