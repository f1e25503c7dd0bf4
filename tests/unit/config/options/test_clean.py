"""Which policy of cleaning options ask for, where they name none too."""

import pytest

from pyhudi.config.options.archive import ArchiveConfig
from pyhudi.config.options.clean import CleanPolicy
from pyhudi.config.write import WriteConfig

COMMITS, HOURS, VERSIONS = CleanPolicy.COMMITS, CleanPolicy.HOURS, CleanPolicy.VERSIONS


@pytest.mark.parametrize(
    ("told", "policy"),
    [
        ({}, COMMITS),
        ({"hoodie.clean.commits.retained": "5"}, COMMITS),
        ({"hoodie.clean.hours.retained": "72"}, HOURS),
        ({"hoodie.cleaner.hours.retained": "72"}, HOURS),
        ({"hoodie.clean.fileversions.retained": "2"}, VERSIONS),
        ({"hoodie.cleaner.fileversions.retained": "2"}, VERSIONS),
        ({"hoodie.clean.hours.retained": "72", "hoodie.clean.commits.retained": "5"}, COMMITS),
        (
            {"hoodie.clean.hours.retained": "72", "hoodie.clean.fileversions.retained": "2"},
            COMMITS,
        ),
        ({"hoodie.clean.hours.retained": "72", "hoodie.cleaner.policy": COMMITS.value}, COMMITS),
    ],
    ids=lambda value: value.name if isinstance(value, CleanPolicy) else " ".join(value),
)
def test_without_a_policy_the_one_number_that_is_told_says_which(
    told: dict[str, str], policy: CleanPolicy
) -> None:
    """As HoodieCleanConfig infers it in Hudi 0.15.0, and in 1.1.1 under both names of a key."""
    services = WriteConfig.from_options(told).services
    assert services.clean.policy is services.archive.clean_policy is policy


def test_fewer_commits_on_the_timeline_than_cleans_keep_are_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As HoodieWriteConfig.Builder.validate does, which looks at them with this policy alone."""
    ArchiveConfig.from_options({"hoodie.clean.commits.retained": "19"})
    ArchiveConfig.from_options(
        {"hoodie.clean.commits.retained": "20", "hoodie.clean.policy": HOURS.value}
    )
    assert not caplog.messages
    ArchiveConfig.from_options({"hoodie.clean.commits.retained": "20"})
    (said,) = caplog.messages
    assert "hoodie.keep.min.commits is 20" in said
    assert "hoodie.clean.commits.retained, 20" in said
