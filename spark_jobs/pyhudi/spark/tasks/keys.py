"""The secrets of storages on their way to tasks, beside the functions that Spark sends.

They travel as a local property, which Spark sends with each task and keeps in memory alone. Who has
Spark's events sees the properties of jobs: the event log writes them, those that are settings and
secret by name with stars.
Source: EventLoggingListener.redactProperties and TaskDescription, Spark 3.5 and 4.2.
"""

from __future__ import annotations

from typing import Final

from pyspark import SparkContext, TaskContext

from pyhudi.errors import OptionError
from pyhudi.storage.keyring import KEYRING

KEYS_PROPERTY: Final = "spark.pyhudi.storage.secrets"
_REDACTION: Final = "spark.redaction.regex"


def hand_keys(context: SparkContext) -> None:
    """Have the jobs that this thread starts from now on take along what this process keeps.

    Raises:
        OptionError: Spark is set to show what is called a secret.
    """
    text = KEYRING.text()
    if text is None:
        return
    _make_setting(context)
    context.setLocalProperty(KEYS_PROPERTY, text)


def receive_keys(context: TaskContext) -> None:
    """Take what came with a task."""
    KEYRING.receive(context.getLocalProperty(KEYS_PROPERTY))


def _make_setting(context: SparkContext) -> None:
    """Have a setting by the property's name: only then Spark hides what jobs have for it."""
    settings = context._jsc.sc().conf()
    if settings.contains(KEYS_PROPERTY):
        return
    pattern = settings.get(_REDACTION, "secret")
    if not context._jvm.java.util.regex.Pattern.compile(pattern).matcher(KEYS_PROPERTY).find():
        raise OptionError(
            f"{_REDACTION} is {pattern!r}, with which Spark would write the keys of the table's "
            "storage into its event log; have it match 'secret' too"
        )
    settings.set(KEYS_PROPERTY, "handed to each task")
