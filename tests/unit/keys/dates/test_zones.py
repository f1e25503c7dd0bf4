import numpy as np
import pytest

from pyhudi.errors import OptionError
from pyhudi.keys.dates.zones import offset_of_local, offsets_at, zone_of

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("java_id", "zone"),
    [
        ("UTC", "UTC"),
        ("GMT", "UTC"),
        ("GMT+8", "+08:00"),
        ("GMT+8:00", "+08:00"),
        ("GMT-0330", "-03:30"),
        ("GMT+0", "UTC"),
        ("PST", "America/Los_Angeles"),
        ("IST", "Asia/Kolkata"),
        ("Europe/Paris", "Europe/Paris"),
    ],
)
def test_ids_are_those_of_java(java_id: str, zone: str) -> None:
    assert zone_of(java_id) == zone


@pytest.mark.parametrize("java_id", ["Nowhere/Land", "+08:00", "GMT+99", "", "../etc/passwd"])
def test_an_id_that_java_takes_for_gmt_without_a_word_is_refused(java_id: str) -> None:
    with pytest.raises(OptionError, match="no time zone that Java knows"):
        zone_of(java_id)


def test_offsets_follow_the_clocks_and_stay_at_the_bounds_of_the_calendar() -> None:
    summer, winter = 1_720_000_000_000, 1_704_000_000_000
    found = offsets_at(np.array([summer, winter, 2**62, -(2**62)]), "Europe/Paris")
    assert found[:3].tolist() == [2 * HOUR, HOUR, HOUR]
    assert 0 <= found[3] < HOUR


def test_of_two_moments_with_one_time_the_earlier_counts_and_a_time_left_out_has_none() -> None:
    twice, never = 1_729_996_200_000, 1_711_852_200_000  # 2024-10-27 02:30, 2024-03-31 02:30
    assert offset_of_local(twice, "Europe/Paris") == 2 * HOUR
    assert offset_of_local(never, "Europe/Paris") is None
    assert offset_of_local(never, "+01:00") == HOUR
