"""Spark's connectors for object stores, by which it reads sources. Pure.

Spark reads through Hadoop's file systems, and has those of object stores only where somebody has
put their jars. ``s3`` and ``s3n`` are names that Hadoop itself no longer has; ``s3a`` is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

S3A: Final = "s3a"
_OLD_NAMES: Final = ("s3", "s3n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """A connector: what its jars' names begin with, and where Maven has it."""

    store: str
    jars: tuple[str, ...]
    package: Callable[[str], str]

    def advice(self, hadoop: str) -> str:
        """What to install, for a version of Hadoop."""
        return (
            f"Spark reads {self.store} by a connector of Hadoop's that it does not have here, "
            f"{self.package(hadoop)}; give it to --packages of spark-submit, or put its jars into "
            "Spark's folder of jars"
        )


def _of_hadoop(artifact: str) -> Callable[[str], str]:
    return lambda hadoop: f"org.apache.hadoop:{artifact}:{hadoop}"


def _of_google(hadoop: str) -> str:
    """Source: hadoop-gcp is there since Hadoop 3.5.0; Google's own jar is for those before."""
    release = tuple(int(part) for part in hadoop.split(".")[:2])
    if release >= (3, 5):
        return f"org.apache.hadoop:hadoop-gcp:{hadoop}"
    return "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26"


_S3 = Connector(store="S3", jars=("hadoop-aws-",), package=_of_hadoop("hadoop-aws"))
_GOOGLE = Connector(
    store="Google Cloud Storage", jars=("hadoop-gcp-", "gcs-connector-"), package=_of_google
)
_AZURE = Connector(store="Azure", jars=("hadoop-azure-",), package=_of_hadoop("hadoop-azure"))
CONNECTORS: Final[Mapping[str, Connector]] = {
    S3A: _S3,
    "gs": _GOOGLE,
    "abfs": _AZURE,
    "abfss": _AZURE,
    "wasb": _AZURE,
    "wasbs": _AZURE,
}
"""By the schemes that Hadoop has for them."""


def scheme_of(uri: str) -> str:
    """The scheme of a URI, empty for a path."""
    scheme, colon, _ = uri.partition("://")
    return scheme.lower() if colon else ""


def as_s3a(uri: str) -> str:
    """A URI of S3 by the name that Hadoop has for it."""
    is_old = scheme_of(uri) in _OLD_NAMES
    return f"{S3A}://{uri.partition('://')[2]}" if is_old else uri


def parts_of(source: str) -> list[str]:
    """The paths of a source that has several, by commas."""
    return [part.strip() for part in source.split(",")]


def missing_jars(source: str, jars: Iterable[str]) -> str | None:
    """What to install to read a source, where Spark has these jars and no others; None for nothing.

    A version of Hadoop that none of the jars tells is not advised about.
    """
    names = list(jars)
    client = "hadoop-client-api-"
    found = [name for name in names if name.startswith(client)]
    if not found:
        return None
    hadoop = found[0].removeprefix(client).removesuffix(".jar")
    for part in parts_of(source):
        connector = CONNECTORS.get(scheme_of(as_s3a(part)))
        if connector and not any(name.startswith(connector.jars) for name in names):
            return f"the source is {part}: {connector.advice(hadoop)}"
    return None
