"""`tw.compile` takes what the command line takes, and means the same by it."""

from __future__ import annotations

import inspect
import typing
from pathlib import Path

import pytest

import tilewright as tw
from tests.support.models import small
from tilewright.cli.analyze import analyze
from tilewright.cli.compile import compile_command
from tilewright.cli.groups import grouped
from tilewright.cli.run import run
from tilewright.errors import CompileError
from tilewright.target.asked import Asked
from tilewright.target.settings import OPTIONS, Settings, with_options

PLURALS = {"dim": "dims", "dtype": "dtypes", "shape": "shapes", "state": "states"}
"""Given again and again in a command, all together in Python."""
OF_COMMANDS = frozenset({"as_json", "emit", "explain", "onnx", "output", "stage", "weights"})
"""What is printed or written: stages of `pipeline`, `Program.save` and `analyze` in Python."""
OF_RUNS = frozenset({"elf", "expect", "inputs", "per_layer", "repeat", "steps", "tolerance", "waves", "waves_cycles"})
"""Arguments of `Program.check` and its kin."""
OF_TRAINING = frozenset({"loss", "optimizer", "ram", "trainable"})
"""Arguments of `tw.train`, whose program has the plan (`plan()`)."""


@pytest.mark.fast
@pytest.mark.parametrize("command", [compile_command, run, analyze], ids=["compile", "run", "analyze"])
def test_every_option_of_a_command_is_a_keyword(command: typing.Any) -> None:
    words = set(inspect.signature(grouped(command)).parameters) - OF_COMMANDS - OF_RUNS - OF_TRAINING
    keywords = {*inspect.signature(tw.compile).parameters, *Asked.__annotations__}
    assert {PLURALS.get(word, word) for word in words} <= keywords


@pytest.mark.fast
def test_every_option_of_analyze_is_a_keyword_of_it() -> None:
    words = set(inspect.signature(grouped(analyze)).parameters) - OF_COMMANDS - OF_TRAINING
    keywords = {*inspect.signature(tw.analyze).parameters, *Asked.__annotations__}
    assert {PLURALS.get(word, word) for word in words} <= keywords


@pytest.mark.fast
def test_type_checkers_know_all_options() -> None:
    known = {name for field, one in OPTIONS.items() if one.flag for name in (field, one.name)}
    assert set(Asked.__annotations__) == known
    assert (Path(tw.__file__).parent / "py.typed").exists()


@pytest.mark.fast
def test_a_board_says_for_which_core() -> None:
    assert tw.compile(small(), board="nucleo-l4r5zi").compiled.schedule.target.name == "nucleo-l4r5zi"
    assert tw.analyze(small(), board="nucleo-l4r5zi").clock_mhz == 120
    with pytest.raises(CompileError, match="contradicts --board nucleo-l4r5zi, whose core is cortex-m4"):
        tw.compile(small(), target="cortex-m7", board="nucleo-l4r5zi")
    assert tw.compile(small()).compiled.schedule.target.name == "generic"


@pytest.mark.fast
def test_options_are_the_same_under_either_name_and_in_settings() -> None:
    asked = {"clock": 80.0, "stack": 4096, "optimise": "ram"}
    by_name = tw.compile(small(), target="cortex-m4", **asked)  # type: ignore[arg-type]
    whole = Settings(clock_mhz=80.0, stack=4096, optimise="ram")
    assert by_name.settings == tw.compile(small(), target="cortex-m4", settings=whole).settings == whole
    assert tw.analyze(small(), target="cortex-m4", clock=80.0).clock_mhz == 80.0


@pytest.mark.fast
def test_values_that_are_no_values_are_refused() -> None:
    """A text is true, and has letters: neither is what was meant."""
    with pytest.raises(CompileError, match="is neither True nor False") as caught:
        with_options(Settings(), {"pack_weights": "yes"})
    assert caught.value.where == "pack_weights='yes'"
    for name, value in {"l1": "64k", "cores": 2.5, "threads": True, "clock": "fast"}.items():
        with pytest.raises(CompileError, match=r"is not a (whole )?number"):
            with_options(Settings(), {name: value})
    assert with_options(Settings(), {"l1": 65536, "clock": 80}).clock_mhz == 80
    assert with_options(Settings(), {"weight_memory": "off"}).weight_memory is False
    assert with_options(Settings(), {"accelerator": "examples/qvanilla"}).accelerators == ("examples/qvanilla",)
    assert with_options(Settings(), {"kernels": Path("mine")}).kernels == ("mine",)
