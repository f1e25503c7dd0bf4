"""The surroundings of a write as a value."""

from pyhudi.config.write import WriteConfig
from pyhudi.pipeline.environment import environment_on
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.gate import OPEN_GATE
from tests.support.memory import MemoryStorage
from tests.support.rivals import MODE, PROVIDER, SEVERAL


def test_the_environment_of_a_process_opens_paths_and_has_its_runner_and_time(tmp_path) -> None:
    runner = InProcessRunner()
    environment = environment_on(runner)
    environment.open_storage(str(tmp_path)).create("file", b"written")
    assert (tmp_path / "file").read_bytes() == b"written"
    assert environment.runner is runner
    assert isinstance(environment.clock, SystemClock)


def test_a_lock_without_the_mode_that_takes_it_is_warned_of(caplog) -> None:
    environment, storage = environment_on(InProcessRunner()), MemoryStorage()
    asked = WriteConfig.from_options({PROVIDER: SEVERAL[PROVIDER]})
    assert environment.gate(storage, asked) is OPEN_GATE
    assert f"no lock is taken: {MODE} is SINGLE_WRITER" in caplog.text
    caplog.clear()
    assert environment.gate(storage, WriteConfig.from_options({})) is OPEN_GATE
    assert caplog.text == ""
    assert environment.gate(storage, WriteConfig.from_options(SEVERAL)).is_shared
