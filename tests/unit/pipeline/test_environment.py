"""The surroundings of a write as a value."""

from pyhudi.pipeline.environment import environment_on
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.timeline.clock import SystemClock


def test_the_environment_of_a_process_opens_paths_and_has_its_runner_and_time(tmp_path) -> None:
    runner = InProcessRunner()
    environment = environment_on(runner)
    environment.open_storage(str(tmp_path)).create("file", b"written")
    assert (tmp_path / "file").read_bytes() == b"written"
    assert environment.runner is runner
    assert isinstance(environment.clock, SystemClock)
