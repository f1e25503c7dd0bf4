"""What random histories are made of, without playing them."""

from collections import Counter

from tests.interop.differential_cases import case_of
from tests.interop.differential_services import WEIGHTS
from tests.interop.differential_steps import ENGINES

SEEDS = range(30)
LEAST = 10


def test_thirty_histories_have_each_service_ten_times_by_either_engine() -> None:
    drawn = Counter((step.operation, step.by) for seed in SEEDS for step in case_of(seed).steps)
    wanted = [(name, by) for name in WEIGHTS for by in ENGINES]
    rare = {each: drawn[each] for each in wanted if drawn[each] < LEAST}
    assert not rare, f"drawn less than {LEAST} times in {len(SEEDS)} histories: {rare}"
