"""The one name that a table has as an asset: ``pyhudi://``, its kind of storage, and its path.

``/data/lake/flights`` is ``pyhudi://file/data/lake/flights``, and ``s3a://bucket/flights`` is
``pyhudi://s3/bucket/flights``. All spellings of a path come to one name, so that who writes a table
and who waits for it cannot mean two.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from pyhudi.config.access.secret import passwords_in, redacted
from pyhudi.errors import OptionError

if TYPE_CHECKING:
    from airflow.sdk import Asset

SCHEME = "pyhudi"
PARTITIONS = "/*"
"""What the name of a table's partitions has behind that of the table."""
_KINDS = {
    "": "file",
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfs",
    "hdfs": "hdfs",
}
_SAFE = "/=@:+,~!$&'()*;"
_JINJA = re.compile(r"\{\{|\{%")


def asset_uri(base_path: str) -> str:
    """The name of the table at a path or URI.

    Raises:
        OptionError: a template, a password, a kind of storage that is not known, or a path that
            leads upwards.
    """
    if passwords_in(base_path):
        raise OptionError(f"{redacted(base_path)} has a password in it, which pages would show")
    if _JINJA.search(base_path):
        raise OptionError(f"{base_path} is a template; an asset has its name when a DAG is parsed")
    scheme, _, rest = base_path.partition(":") if "://" in base_path else ("", "", base_path)
    if base_path.startswith("file:"):
        scheme, rest = "file", base_path.removeprefix("file:")
    kind = _KINDS.get(scheme.lower())
    if kind is None:
        known = ", ".join(sorted(filter(None, _KINDS)))
        raise OptionError(f"{base_path} is on {scheme}, which is no storage here; known: {known}")
    if scheme == "" and not base_path.startswith("/"):
        rest = os.path.abspath(base_path)
    return f"{SCHEME}://{kind}{_path(rest, base_path)}"


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """The name in its one spelling, for Airflow, which asks for it wherever an asset is made.

    Raises:
        OptionError: it names no table.
    """
    if uri.netloc not in _KINDS.values() or uri.query or uri.fragment:
        raise OptionError(
            f"{uri.geturl()} names no table; write table_asset('/data/lake/flights') of "
            "airflow_provider_pyhudi.assets.table, or pyhudi://file/data/lake/flights"
        )
    return uri._replace(path=_path(unquote(uri.path), uri.geturl()))


def table_path(uri: str) -> str:
    """The path or URI of the table that an asset names; the inverse of ``asset_uri``."""
    found = urlsplit(uri)
    path = unquote(found.path)
    return path if found.netloc == "file" else f"{found.netloc}:/{path}"


def dataset_name(base_path: str) -> tuple[str, str]:
    """Namespace and name of a table in OpenLineage, as its naming rules have them for storages.

    Source: naming of datasets, OpenLineage 1.
    """
    found = urlsplit(asset_uri(base_path))
    path = unquote(found.path)
    if found.netloc == "file":
        return "file", path
    bucket, _, rest = path.lstrip("/").partition("/")
    scheme = "abfss" if found.netloc == "abfs" else found.netloc
    return f"{scheme}://{bucket}", f"/{rest}" if scheme == "hdfs" else rest


def to_openlineage(asset: Asset, lineage_context: Any) -> Any:  # noqa: ARG001 - Airflow's signature
    """The asset as a dataset of OpenLineage, for Airflow's provider of that."""
    from airflow.providers.common.compat.openlineage.facet import Dataset

    # To lineage the partitions of a table are the table.
    namespace, name = dataset_name(table_path(asset.uri.removesuffix(PARTITIONS)))
    return Dataset(namespace=namespace, name=name)


def create_asset(*, base_path: str, **kwargs: Any) -> Asset:
    """An asset of a table from its path, for what makes assets by the name of a scheme."""
    from airflow.sdk import Asset

    return Asset(uri=asset_uri(base_path), **kwargs)


def _path(given: str, told: str) -> str:
    if any(part == ".." for part in given.split("/")):
        raise OptionError(f"{told} leads upwards, so that it is not known where; write the path")
    path = posixpath.normpath("/" + given.strip("/"))
    if path == "/":
        raise OptionError(f"{told} has no path of a table")
    return quote(path, safe=_SAFE)
