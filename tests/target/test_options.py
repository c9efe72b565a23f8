"""Options are declared once: what they are called, which machines have them, and what is said where one does not."""

from __future__ import annotations

import pytest

from tilewright import pipeline, targets
from tilewright.cli.options import Planning
from tilewright.errors import CompileError
from tilewright.exploring.axes import AXES
from tilewright.target.settings import DEFAULT, OPTIONS, Settings, check_options, has_option, with_options

pytestmark = pytest.mark.fast

SOME = {
    "cores": 2, "l1": 4096, "l2": 70000, "home": "L3", "buffering": "single", "time_limit": 1.0,
    "weight_memory": False, "memories": (("l1", 4096),), "placed": (("a", "cpu"),), "code_in_l1": True,
    "packed_weights": True, "accelerators": ("folder",), "instructions": ("folder",), "cpu": "x86-64-v3",
    "threads": 2, "pins_threads": True,
    "kernels": ("folder",), "isa": "rv32imc", "clock_mhz": 50.0, "optimise": "ram", "emulator": "qemu", "stack": 4096,
    "copied_weights": 4096, "precision": "fp16", "gpu": "opencl", "capability": "7.5", "pinned": (("0", "L2"),),
}  # fmt: skip
"""Of every option that not all machines have, a value that is not its default."""
FOR_ALL = {"engines", "numerics"}


def test_every_option_of_some_machines_is_tried() -> None:
    assert SOME.keys() | FOR_ALL == OPTIONS.keys()


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("target", ["generic", "cpu", "rv32", "cortex-m4", "quad", "siracusa", "mempool"])
@pytest.mark.parametrize("name", SOME)
def test_a_machine_has_an_option_or_says_why_not(name: str, target: str) -> None:
    found, settings = targets.find(target), Settings(**{name: SOME[name]})  # type: ignore[arg-type]
    if has_option(found, name):
        check_options(found, settings)
        return
    with pytest.raises(CompileError) as caught:
        check_options(found, settings)
    said = f"{caught.value.where} {caught.value.what} {caught.value.hint}"
    assert target in said
    assert "{" not in said
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("cores", "quad"), ("time_limit", "rv32"), ("memories", "cortex-m4"), ("isa", "rv32"), ("threads", "cpu"),
        ("accelerators", "rv32"), ("instructions", "siracusa"), ("kernels", "generic"), ("code_in_l1", "siracusa"),
        ("optimise", "generic"), ("precision", "gpu"), ("gpu", "gpu"), ("capability", "gpu"),
    ],
)  # fmt: skip
def test_who_has_what(name: str, target: str) -> None:
    assert has_option(targets.find(target), name)


@pytest.mark.parametrize(
    ("name", "target"),
    [("cores", "rv32"), ("memories", "generic"), ("isa", "quad"), ("threads", "generic"), ("code_in_l1", "quad")],
)
def test_who_has_not(name: str, target: str) -> None:
    assert not has_option(targets.find(target), name)


def test_keywords_are_fields_or_options() -> None:
    made = with_options(DEFAULT, {"cores": 2, "cpu": "native", "memory": {"l1": 4096}, "engines": "a,b", "pin": None})
    assert made == Settings(cores=2, cpu="native", memories=(("l1", 4096),), engines=("a", "b"))


def test_folders_come_on_top() -> None:
    made = with_options(Settings(kernels=("one",)), {"kernels": ["two"]})
    assert made.kernels == ("one", "two")


def test_an_unknown_keyword_is_named() -> None:
    with pytest.raises(TypeError, match=r"'core' is no option of compile.*did you mean 'cores'"):
        with_options(DEFAULT, {"core": 2})


def test_a_number_that_is_none() -> None:
    with pytest.raises(CompileError, match=r"threads=2.5: is not a whole number"):
        with_options(DEFAULT, {"threads": 2.5})


def test_a_word_that_is_none() -> None:
    with pytest.raises(CompileError, match="--buffering triple: is unknown"):
        check_options(targets.find("quad"), Settings(buffering="triple"))
    with pytest.raises(CompileError, match="--optimise speed: is unknown"):  # before Vela would be asked for it
        pipeline.import_model(b"", target_name="cortex-m55+u55-128", goal="speed")


def test_commands_and_sweeps_have_the_options() -> None:
    named = {name for name, *_ in Planning.parameters()}
    assert named == {one.name for one in OPTIONS.values() if one.flag} | {"board"}
    assert {axis.field for axis in AXES.values()} < OPTIONS.keys()
