"""Spark properties that must not stand in a command line, as the text of a properties file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from pyhudi.config import properties
from pyhudi.config.access.secret import is_secret


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateSettings:
    """The arguments of spark-submit, taken apart: what may be seen, and secret properties.

    ``public`` names no properties file: spark-submit takes one, and that has the secret ones.
    """

    public: tuple[str, ...]
    properties: Mapping[str, str]

    @classmethod
    def among(cls, args: Sequence[str]) -> PrivateSettings:
        """Those of arguments that come as a flag and its value, or as a flag alone."""
        public, private = list[str](), dict[str, str]()
        words = iter(args)
        for word in words:
            if word == "--properties-file":
                next(words, None)
                continue
            public.append(word)
            if word != "--conf":
                continue
            pair = next(words, "")
            key, _, value = pair.partition("=")
            if is_secret(key, value):
                public.pop()
                private[key] = value
            else:
                public.append(pair)
        return cls(public=tuple(public), properties=private)


def spark_defaults(spark_binary: str, environ: Mapping[str, str]) -> str | None:
    """The spark-defaults.conf that spark-submit would read if it were given no file.

    Source: org.apache.spark.util.Utils.getDefaultPropertiesFile and bin/find-spark-home, Spark 4.
    """
    beside = os.path.dirname(os.path.dirname(os.path.realpath(spark_binary)))
    home = environ.get("SPARK_HOME") or beside
    folder = environ.get("SPARK_CONF_DIR") or os.path.join(home, "conf")
    path = os.path.join(folder, "spark-defaults.conf")
    return path if os.path.isfile(path) else None


def properties_text(path: str | None, private: Mapping[str, str]) -> str:
    """A properties file as it is, with further properties that win over its own.

    Raises:
        PyhudiRequestError: the file cannot be read.
    """
    added = properties.dump(private)
    if path is None:
        return added
    try:
        return f"{Path(path).read_text(encoding='utf-8')}\n{added}"
    except (OSError, UnicodeDecodeError) as error:
        raise PyhudiRequestError(f"cannot read properties_file {path}: {error}") from error
