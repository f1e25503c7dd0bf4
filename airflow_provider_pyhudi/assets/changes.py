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
from airflow_provider_pyhudi.watch.reading import ReadMark
from airflow_provider_pyhudi.watch.watermark import Glance

if TYPE_CHECKING:
    import pyarrow as pa
    from airflow.sdk import Asset


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The commits after ``begin`` up to ``end``; None is before the first.

    The two are instants, or with ``by_completion``, in table versions 8 and 9, times at which
    commits were completed. The same span means the same rows whenever it is read, so that what is
    made of it may be named by it, and made again.
    """

    base_path: str
    begin: str | None
    end: str
    hook: PyhudiHook
    by_completion: bool = False

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
        if self.begin is None and not self.by_completion:
            return read_table(path, as_of=self.end, storage_options=options, **query)
        return read_table(
            path,
            query_type="incremental",
            begin=self.begin or "earliest",
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

    A write that is not completed is read when it is done: in table version 6, whose queries go by
    when commits were requested, the span ends before it.

    Raises:
        HudiError: the table cannot be looked at.
    """
    tables = hook or PyhudiHook()
    store = context["asset_state_store"][asset or table_asset(tables.table_uri(base_path))]
    key = f"pyhudi.reader.{reader or _name_of(context)}"
    mark = ReadMark.from_json(store.get(key) or {})
    glance = _glance(tables, base_path)
    if glance is not None:
        mark = mark.on(glance)
        if mark.until is None:
            mark = mark.ahead(glance) or mark
    if mark.until is None:
        yield None
        return
    store.set(key, mark.to_json())
    yield Changes(
        base_path=base_path,
        begin=mark.done,
        end=mark.until,
        hook=tables,
        by_completion=mark.by_completion,
    )
    store.set(key, mark.passed().to_json())


def _glance(tables: PyhudiHook, base_path: str) -> Glance | None:
    """The commits of the table; None where there is no table."""
    question = CommitsQuestion(actions=known_actions(WRITE_ACTIONS))
    found = tables.watch(base_path).one_look(question).found
    return found if isinstance(found, Glance) else None


def _name_of(context: Mapping[str, Any]) -> str:
    ti = context["ti"]
    return f"{ti.dag_id}.{ti.task_id}"
