"""Spark's connectors for a source: whether they are there, and the keys that they are given.

In local mode the keys stay in the memory of the one JVM, where Hadoop's ``user:///`` credentials
lie. On a cluster they are settings of Hadoop, which Spark sends to its executors.
"""

from __future__ import annotations

import atexit
import os
import shlex
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pyhudi.config.access.connectors import CONNECTORS, as_s3a, parts_of, scheme_of
from pyhudi.config.access.secret import redacted, secrets_of
from pyhudi.config.access.storage_options import CREDENTIALS_FILE
from pyhudi.errors import SetupError
from pyhudi.spark.session import is_local
from pyhudi.storage.keyring import HiddenOptions

_PROVIDERS: Final = "hadoop.security.credential.provider.path"
_IN_MEMORY: Final = "user:///"
_OF_A_PROFILE: Final = "software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider"
_PROFILE_FILE: Final = "aws.configFile"
_TEMPORARY: Final = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
_ANONYMOUS: Final = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
_TRUE: Final = ("true", "1")


def readable_source(spark: SparkSession, source: str, options: Mapping[str, str]) -> str:
    """The source as Spark can read it, its connectors there and told how to reach their stores.

    ``options`` are those of the table's storage; what Spark's own settings say wins over them.
    What is no place on an object store is left alone.

    Raises:
        SetupError: a connector is not there; says what to install.
    """
    parts = [as_spark_reads(spark, part) for part in parts_of(source)]
    for part in parts:
        _tell_hadoop(spark, part, options)
    return ",".join(parts)


def as_spark_reads(spark: SparkSession, uri: str) -> str:
    """A URI by a name that Spark has a connector for.

    Raises:
        SetupError: it has none; says what to install.
    """
    if scheme_of(as_s3a(uri)) not in CONNECTORS or has_connector(spark, uri):
        return uri
    uri = as_s3a(uri)
    if has_connector(spark, uri):
        return uri
    version = spark.sparkContext._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    advice = CONNECTORS[scheme_of(uri)].advice(str(version))
    raise SetupError(f"the source is {redacted(uri)}: {advice}")


def has_connector(spark: SparkSession, uri: str) -> bool:
    """Whether Spark has what opens a URI.

    Source: FileSystem.getFileSystemClass, Hadoop 3.3 and 3.5; it errs for what is not there.
    """
    context = spark.sparkContext
    try:
        context._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(
            scheme_of(uri), context._jsc.hadoopConfiguration()
        )
    except Py4JError:
        return False
    return True


def _tell_hadoop(spark: SparkSession, part: str, options: Mapping[str, str]) -> None:
    if not _is_local(spark) and CREDENTIALS_FILE in options:
        options = HiddenOptions.of(options).revealed()
    match scheme_of(part):
        case "s3a":
            settings = _s3a(spark, options)
        case "abfs" | "abfss":
            account = part.partition("@")[2].partition("/")[0]
            settings = _abfs(options, account) if account else {}
        case _:
            return
    given = spark.sparkContext._conf
    wanted = {
        name: value
        for name, value in settings.items()
        if value and not given.contains(f"spark.hadoop.{name}")
    }
    _set(spark, wanted, frozenset(secrets_of(options).values()))


def _s3a(spark: SparkSession, options: Mapping[str, str]) -> dict[str, str]:
    """Source: the settings of S3A, Hadoop 3.3 and 3.5."""
    endpoint, scheme = options.get("endpoint_override", ""), options.get("scheme", "https")
    settings = {
        "fs.s3a.access.key": options.get("access_key", ""),
        "fs.s3a.secret.key": options.get("secret_key", ""),
        "fs.s3a.session.token": options.get("session_token", ""),
        "fs.s3a.endpoint.region": options.get("region", ""),
    }
    if endpoint:
        settings["fs.s3a.endpoint"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        settings["fs.s3a.path.style.access"] = "true"
    if path := options.get(CREDENTIALS_FILE):
        _name_keys_file(spark, path)
        settings["fs.s3a.aws.credentials.provider"] = _OF_A_PROFILE
    elif options.get("anonymous", "").lower() in _TRUE:
        settings["fs.s3a.aws.credentials.provider"] = _ANONYMOUS
    elif settings["fs.s3a.session.token"]:
        settings["fs.s3a.aws.credentials.provider"] = _TEMPORARY
    return settings


def _name_keys_file(spark: SparkSession, path: str) -> None:
    """Have Java's client of AWS ask for the keys in a file, and ask again before they end."""
    descriptor, profile = tempfile.mkstemp(prefix="pyhudi-", suffix=".profile")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"[default]\ncredential_process = cat {shlex.quote(path)}\n")
    atexit.register(_delete, profile)
    spark.sparkContext._jvm.java.lang.System.setProperty(_PROFILE_FILE, profile)


def _delete(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _abfs(options: Mapping[str, str], account: str) -> dict[str, str]:
    """Source: the settings of ABFS, Hadoop 3.3 and 3.5."""
    if key := options.get("account_key"):
        return {f"fs.azure.account.key.{account}": key}
    if token := options.get("sas_token"):
        return {
            f"fs.azure.account.auth.type.{account}": "SAS",
            f"fs.azure.sas.fixed.token.{account}": token,
        }
    if secret := options.get("client_secret"):
        tenant = options.get("tenant_id", "")
        return {
            f"fs.azure.account.auth.type.{account}": "OAuth",
            f"fs.azure.account.oauth.provider.type.{account}": (
                "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
            ),
            f"fs.azure.account.oauth2.client.endpoint.{account}": (
                f"https://login.microsoftonline.com/{tenant}/oauth2/token"
            ),
            f"fs.azure.account.oauth2.client.id.{account}": options.get("client_id", ""),
            f"fs.azure.account.oauth2.client.secret.{account}": secret,
        }
    return {}


def _set(spark: SparkSession, settings: Mapping[str, str], secrets: frozenset[str]) -> None:
    hadoop, is_here = spark.sparkContext._jsc.hadoopConfiguration(), _is_local(spark)
    hidden = {name: value for name, value in settings.items() if is_here and value in secrets}
    for name, value in settings.items():
        if name not in hidden:
            hadoop.set(name, value)
    if hidden:
        _keep_in_memory(spark, hadoop, hidden)


def _keep_in_memory(spark: SparkSession, hadoop: Any, secrets: Mapping[str, str]) -> None:
    """Source: UserProvider and Configuration.getPassword, Hadoop 3.3 and 3.5."""
    java = spark.sparkContext._jvm.org.apache.hadoop
    credentials = java.security.Credentials()
    for name, value in secrets.items():
        credentials.addSecretKey(java.io.Text(name), bytearray(value.encode()))
    java.security.UserGroupInformation.getCurrentUser().addCredentials(credentials)
    providers = [each for each in (hadoop.get(_PROVIDERS) or "").split(",") if each]
    if _IN_MEMORY not in providers:
        hadoop.set(_PROVIDERS, ",".join([*providers, _IN_MEMORY]))


def _is_local(spark: SparkSession) -> bool:
    return is_local(spark.sparkContext._conf)
