"""Reading a table on from where a reader has come, no row twice and none left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_pyhudi.assets.table import table_asset
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.watch.commits import CommitsQuestion
from airflow_provider_pyhudi.watch.instants import WRITE_ACTIONS, known_actions
from airflow_provider_pyhudi.watch.watermark import Glance

if TYPE_CHECKING:
    import pyarrow as pa
    from airflow.sdk import Asset


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The commits after ``begin`` up to ``end``, both instants; None is before the first.

    The same span means the same rows whenever it is read, so that what is made of it may be named
    by it, and made again.
    """

    base_path: str
    begin: str | None
    end: str
    hook: PyhudiHook

    @property
    def name(self) -> str:
        """The span as a text, for names of files."""
        return f"{self.begin or '0'}-{self.end}"

    def read(self, **query: Any) -> pa.Table:
        """The rows that were written in the span, as they are at its end.

        Without a beginning those of the whole table at the end. ``query`` is what ``read_table``
        takes beside the span, such as ``columns`` and ``filters``.

        Raises:
            RequestError: files of the span were cleaned or its commits archived.
        """
        from pyhudi import read_table

        path, options = self.hook.table_uri(self.base_path), self.hook.storage_options
        if self.begin is None:
            return read_table(path, as_of=self.end, storage_options=options, **query)
        return read_table(
            path,
            query_type="incremental",
            begin=self.begin,
            end=self.end,
            storage_options=options,
            **query,
        )


@contextmanager
def changes_of(
    base_path: str,
    context: Mapping[str, Any],
    *,
    reader: str | None = None,
    asset: Asset | None = None,
    hook: PyhudiHook | None = None,
) -> Iterator[Changes | None]:
    """What was committed since this reader last came to the end of the context; None for nothing.

    The reader's mark is kept with the asset, which must be an inlet of the task, under the name of
    the reader, the DAG's and the task's unless given. It is moved when the context is left without
    an error. Until then the same span is given again, so that a task which dies and is tried again
    makes again what it had made, however many commits there are by then.

    A write that is not completed ends the span before it: it will be read when it is done.

    Raises:
        HudiError: the table cannot be looked at.
    """
    tables = hook or PyhudiHook()
    store = context["asset_state_store"][asset or table_asset(tables.table_uri(base_path))]
    key = f"pyhudi.reader.{reader or _name_of(context)}"
    mark = dict(store.get(key) or {})
    done, until = mark.get("done"), mark.get("until")
    if until is None:
        until = _end(tables, base_path, done)
        if until is None:
            yield None
            return
        store.set(key, {"done": done, "until": until})
    yield Changes(base_path=base_path, begin=done, end=until, hook=tables)
    store.set(key, {"done": until})


def _end(tables: PyhudiHook, base_path: str, done: str | None) -> str | None:
    """The last commit that no pending write comes before; None where it has been read."""
    question = CommitsQuestion(actions=known_actions(WRITE_ACTIONS))
    found = tables.watch(base_path).one_look(question).found
    if not isinstance(found, Glance):
        return None
    times = (each.instant for each in found.commits)
    settled = [time for time in times if found.pending is None or time < found.pending]
    newest = max(settled, default="")
    return newest if newest > (done or "") else None


def _name_of(context: Mapping[str, Any]) -> str:
    ti = context["ti"]
    return f"{ti.dag_id}.{ti.task_id}"
