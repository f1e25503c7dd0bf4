import pytest

from pyhudi.config.options.failures import ErrorPolicy, FailureConfig, check_error_path
from pyhudi.errors import OptionError

POLICY, PATH = "pyhudi.write.error.policy", "pyhudi.write.error.path"


def test_a_write_fails_with_its_records_unless_told_otherwise() -> None:
    assert FailureConfig.from_options({}) == FailureConfig()
    assert not FailureConfig().is_saving
    assert FailureConfig.from_options({PATH: "/elsewhere"}).path is None


def test_reported_records_need_a_place() -> None:
    found = FailureConfig.from_options({POLICY: "REPORT", PATH: "/elsewhere"})
    assert found == FailureConfig(policy=ErrorPolicy.REPORT, path="/elsewhere")
    assert found.is_saving
    with pytest.raises(OptionError, match=r"pyhudi\.write\.error\.path"):
        FailureConfig.from_options({POLICY: "report"})


@pytest.mark.parametrize(
    ("error_path", "table_path"),
    [
        ("/data/t", "/data/t/"),
        ("/data/t/failed", "/data/t"),
        ("file:///data/t/failed", "/data/t"),
        ("s3://bucket/t/x", "s3://bucket/t/"),
    ],
)
def test_the_place_is_not_in_the_table(error_path: str, table_path: str) -> None:
    with pytest.raises(OptionError, match="lies in the table"):
        check_error_path(error_path, table_path)


def test_a_place_beside_the_table_is_fine() -> None:
    check_error_path("/data/t-failed", "/data/t")
    check_error_path(None, "/data/t")
