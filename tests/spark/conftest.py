"""The Spark session of this folder's tests."""

from tests.support.spark import spark  # noqa: F401 - a fixture
