"""Drivers and models of the examples agree with numpy; what goes wrong in either is named."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

import tilewright as tw
from tests.accelerator.folders import ARRAY, QVANILLA, REQUANT, RESIDUAL, changed
from tests.support.models import small
from tilewright import targets
from tilewright.accelerator.attach import with_accelerators
from tilewright.accelerator.folder import read_folder
from tilewright.accelerator.unit import Costs
from tilewright.bringup.check import check_folder, run_jobs
from tilewright.bringup.fit import fit, write_costs
from tilewright.bringup.page import page
from tilewright.bringup.skeleton import new_folder
from tilewright.errors import CompileError

pytestmark = pytest.mark.in_turns(6)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("folder", [QVANILLA, REQUANT, ARRAY], ids=lambda folder: folder.name)
@pytest.mark.parametrize(("target", "jobs"), [("quad", 8), ("rv32", 3), ("siracusa", 3)])
def test_examples(folder: Path, target: str, jobs: int) -> None:
    assert all(found.jobs == jobs for found in check_folder(str(folder), target, jobs=jobs))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("target", ["snitch", "minpool"])
def test_on_clusters_without_event_lines(target: str) -> None:
    assert all(found.jobs == 3 for found in check_folder(str(REQUANT), target, jobs=3))


def test_examples_are_short() -> None:
    for folder, most in ((QVANILLA, 80), (REQUANT, 80), (ARRAY, 80), (RESIDUAL, 100)):
        lines = sum(len(path.read_text().splitlines()) for path in folder.glob("*.py"))
        assert lines < most, f"{folder.name} has {lines}"


def test_models_in_python_and_in_c_are_the_same(tmp_path: Path) -> None:
    """Results and cycles, with and without a bus that costs time."""
    for bus in ("", ", bus=Bus(bytes_per_cycle=2.5), latency=3", ", bus=Bus(4, False)", ", bus=Bus(4, False, False)"):
        observed = []
        for in_c in (False, True):
            folder = tmp_path / f"{in_c}{len(bus)}"
            new_folder("unit", folder, in_c)
            declaration = folder / "accelerator.py"
            text = declaration.read_text().replace("import Accelerator", "import Bus, Accelerator")
            declaration.write_text(text.replace('done=Poll("done"),', f'done=Poll("done"){bus},'))
            trial = run_jobs(str(folder), "quad", 6, 3)
            observed.append([(m.results[0].tolist(), m.cycles, m.busy["unit"]) for m in trial.measured])
        assert observed[0] == observed[1]


def test_a_name_that_verilog_does_not_allow(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="accelerator 'small': is a word of SystemVerilog"):
        new_folder("small", tmp_path / "small", in_verilog=True)
    assert not list(tmp_path.iterdir())
    new_folder("small", tmp_path / "small")


def test_a_bus_takes_time(tmp_path: Path) -> None:
    fast, slow = tmp_path / "fast", tmp_path / "slow"
    busy = []
    for folder, bus in ((fast, ""), (slow, ", bus=Bus(0.25)")):
        new_folder("unit", folder, False)
        declaration = folder / "accelerator.py"
        text = declaration.read_text().replace("import Accelerator", "import Bus, Accelerator")
        declaration.write_text(text.replace('done=Poll("done"),', f'done=Poll("done"){bus},'))
        busy.append(sum(measured.busy["unit"] for measured in run_jobs(str(folder), "quad", 4, 0).measured))
    assert busy[1] > 2 * busy[0]


ADDER = """\
from tilewright.accelerator import Accelerator, Pattern, Poll, registers

ACCELERATOR = Accelerator(
    name="adder", summary="sums of words", registers=registers("a b y count start:w done:r"),
    patterns=(Pattern("{lower}", "{op}", types={types}, writes={writes}),),
    start="start", done=Poll("done"), cycles="elements",
)
"""
ADDING = """\
from tilewright.accelerator import AcceleratorDevice


class Device(AcceleratorDevice):
    def cycles(self, r):
        return r.count

    def compute(self, r):
        {compute}
"""


@pytest.mark.parametrize(
    ("op", "operands", "compute"),
    [
        ("Add", "AB", 'self.store(r.y, self.load(r.a, (r.count,), "int32") + self.load(r.b, (r.count,), "int32"))'),
        ("Mul", "AB", 'self.store(r.y, self.load(r.a, (r.count,), "int32") * self.load(r.b, (r.count,), "int32"))'),
        ("Sub", "AB", 'self.store(r.y, self.load(r.a, (r.count,), "int32") - self.load(r.b, (r.count,), "int32"))'),
        ("Relu", "X", 'x = self.load(r.a, (r.count,), "int32"); self.store(r.y, x * (x > 0))'),
    ],
)
def test_patterns_without_totals(tmp_path: Path, op: str, operands: str, compute: str) -> None:
    """Operators that have nothing to requantise behind the device."""
    writes = {"y": "Y", "count": "elements"} | dict(zip("ab", operands, strict=False))
    types = dict.fromkeys(operands, "int32")
    text = ADDER.format(lower=op.lower(), op=op, types=types, writes=writes)
    (tmp_path / "accelerator.py").write_text(text)
    (tmp_path / "device.py").write_text(ADDING.format(compute=compute))
    assert [found.jobs for found in check_folder(str(tmp_path), jobs=4)] == [4]


# ---- what goes wrong ------------------------------------------------------------------------------------------------


def failure(words: str, **options: int) -> str:
    with pytest.raises(CompileError) as error:
        check_folder(words, jobs=2, **options)
    return str(error.value)


def test_another_result_than_numpy(tmp_path: Path) -> None:
    said = failure(
        changed(
            QVANILLA, tmp_path, "device.py", ("self.store(r.result, y)", "self.store(r.result, y + (y == y.max()))")
        )
    )
    assert "accelerator qvanilla, pattern 'conv2d': gives" in said
    assert "is right; " in said
    assert "    job: Conv(" in said
    assert "    registers: ifmap 0x2000" in said


def test_writes_outside_of_its_operands(tmp_path: Path) -> None:
    said = failure(changed(QVANILLA, tmp_path, "device.py", ("self.store(r.result, y)", "self.store(r.result - 8, y)")))
    assert "wrote to 0x2000" in said
    assert "which is outside of its operands" in said


def test_writes_where_there_is_no_memory(tmp_path: Path) -> None:
    said = failure(changed(QVANILLA, tmp_path, "device.py", ("self.store(r.result, y)", "self.store(0x100, y)")))
    assert "0x100" in said
    assert "are not in one memory" in said


def test_never_finishes(tmp_path: Path) -> None:
    said = failure(
        changed(QVANILLA, tmp_path, "device.py", ("return self.parameters.cycles_per_mac", "return 10**12 + 1"))
    )
    assert "the program has not ended" in said
    assert "control 0x1, status 0x0" in said
    assert "the job does not end: look at device.py" in said
    assert "    job: Conv(" in said


def test_no_layer_fulfils_the_conditions(tmp_path: Path) -> None:
    said = failure(changed(QVANILLA, tmp_path, "accelerator.py", ('"groups == 1"', '"groups == 99"')))
    assert "takes none of 120 random layers" in said
    assert "there must be one group (groups is 1)" in said


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("device.py", ("return self", "return None and self"), "cycles() gave None, not a number of at least 0"),
        ("device.py", ("return self", "return -1 * self"), "not a number of at least 0"),
        ("device.py", ("def cycles", "def time"), "Device has no cycles"),
        ("device.py", ("import numpy as np", "import numpy as np, sys; sys.exit()"), "SystemExit"),
        ("accelerator.py", ('done=Poll("status")', 'done="status"'), "done is 'status'"),
        ("accelerator.py", ("patterns=(CONV,)", "patterns=CONV"), "patterns is Pattern(name='conv2d'"),
        ("accelerator.py", ('cycles="cycles_per_mac * macs"', "cycles=5"), "cycles is 5\n  hint: it should be str"),
        ("accelerator.py", ('limits={"n": 1}', 'limits={"n": 0}'), "limits of loop 'n' is 0"),
    ],
)
def test_what_is_no_number_and_no_declaration(tmp_path: Path, file: str, change: tuple[str, str], said: str) -> None:
    assert said in failure(changed(QVANILLA, tmp_path, file, change))


@pytest.mark.parametrize(
    ("cycles", "said"),
    [
        ("macs // cycles_per_mac", "cycles: 'macs // cycles_per_mac' divides by zero (macs is "),
        ("cycles_per_mac - macs", "a job would take -"),
    ],
)
def test_costs_that_cannot_be_computed(tmp_path: Path, cycles: str, said: str) -> None:
    folder = changed(QVANILLA, tmp_path, "accelerator.py", ('"cycles_per_mac * macs"', f'"{cycles}"'))
    found = failure(f"{folder}:cycles_per_mac=0")
    assert said in found
    assert f"{folder}/accelerator.py: pattern 'conv2d'" in found
    assert "cycles_per_mac is 0" in found


def test_patterns_that_have_no_random_layers_are_named(tmp_path: Path) -> None:
    (tmp_path / "accelerator.py").write_text(ADDER.format(lower="gather", op="Gather", types={}, writes={"y": "Y"}))
    (tmp_path / "device.py").write_text(ADDING.format(compute="pass"))
    (found,) = check_folder(str(tmp_path))
    assert found.unchecked == "there are no random layers of Gather: try a network that has one"
    with pytest.raises(CompileError, match="cannot be measured: there are no random layers of Gather"):
        fit(str(tmp_path), "quad")


def test_a_pattern_that_parameters_switch_off_is_named(tmp_path: Path) -> None:
    """The others are tried."""
    (tmp_path / "accelerator.py").write_text(
        ADDER.format(lower="sum", op="QLinearAdd", types={}, writes={"y": "Y"})
        .replace("types={}", 'types={}, conditions=(Condition("ask for it: sums=1", "sums >= 1"),)')
        .replace("import Accelerator,", "import Accelerator, Condition,")
        .replace('start="start",', 'start="start", parameters={"sums": 0},')
    )
    (tmp_path / "device.py").write_text(ADDING.format(compute="pass"))
    (found,) = check_folder(str(tmp_path))
    assert (found.jobs, found.unchecked) == (0, "ask for it: sums=1 (sums is 0)")
    with pytest.raises(CompileError, match="elements differ"):
        check_folder(f"{tmp_path}:sums=1")


def test_a_pass_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    passes = 'passes=(Pass("mine", lambda graph: graph.nothing),),\n    parameters='
    folder = changed(
        QVANILLA,
        tmp_path,
        "accelerator.py",
        ("parameters=", passes),
        ("CONV = Pat", "from tilewright.passes import Pass\n\nCONV = Pat"),
    )
    onnx.save(small(), tmp_path / "net.onnx")
    with pytest.raises(CompileError, match=r"accelerator\.py:\d+: pass 'mine': AttributeError"):
        tw.compile(tmp_path / "net.onnx", target="rv32", accelerators=[folder])


def test_costs_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    write_costs(path, "quad", Costs(scale=2.0))
    write_costs(path, "rv32", Costs())
    assert json.loads(path.read_text())["quad"]["scale"] == 2.0
    path.write_text("nothing")
    with pytest.raises(CompileError, match="cannot be written"):
        write_costs(path, "quad", Costs())
    assert path.read_text() == "nothing"
    assert [one.name for one in tmp_path.iterdir()] == ["costs.json"]


def test_costs_that_are_no_numbers(tmp_path: Path) -> None:
    folder = changed(QVANILLA, tmp_path, "device.py")
    (Path(folder) / "costs.json").write_text('{"quad": {"scale": "much"}}')
    assert "scale is 'much', not a number of at least 0" in failure(folder)


DRIVER = """\
void TW_NAME(TW_ARGUMENTS) {
  static int calls;
  (void)mul, (void)add;
  if (calls++) while ((QVANILLA_REGISTER(QVANILLA_REG_STATUS) & 1) == 0);
#if TW_GIVES_TOTALS
  int32_t *const result = scratch;
  (void)y;
#else
  int32_t *const result = y;
#endif
  qvanilla_begin();
  QVANILLA_REGISTER(QVANILLA_REG_IFMAP) = ADDRESS(x);
  QVANILLA_REGISTER(QVANILLA_REG_WEIGHTS) = ADDRESS(w);
  QVANILLA_REGISTER(QVANILLA_REG_BIAS) = ADDRESS(b);
  QVANILLA_REGISTER(QVANILLA_REG_RESULT) = ADDRESS(result);
  for (int i = 4; i < 12; i++) QVANILLA_REGISTER(4 * i) = (uint32_t)params->words[i];
  %s
}
"""
"""A driver of the user's own; the last line starts the job."""


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("qvanilla_start(); *(volatile int32_t *)result;", "touches what a device's job is at work on"),
        ("qvanilla_start(); *(volatile int8_t *)x = 0;", "touches what a device's job is at work on"),
        ("qvanilla_start(); QVANILLA_REGISTER(QVANILLA_REG_OC) = 1;", "writes a register of a device that is at work"),
        ("QVANILLA_REGISTER(QVANILLA_REG_STATUS) = 1;", "writes one that can only be read"),
        ("(void)QVANILLA_REGISTER(QVANILLA_REG_CONTROL);", "reads a register of a device that can only be written"),
        ("QVANILLA_REGISTER(QVANILLA_REG_CONTROL) = 1;", "ends the program while a device is at work"),
    ],
)
def test_drivers_that_do_wrong_are_named(tmp_path: Path, start: str, said: str) -> None:
    folder = changed(QVANILLA, tmp_path, "device.py", ("cycles_per_mac *", "cycles_per_mac * 1000 *"))
    (Path(folder) / "driver.c").write_text(DRIVER % start)
    assert said in failure(folder)


def test_a_driver_of_the_users_own(tmp_path: Path) -> None:
    folder = changed(QVANILLA, tmp_path, "device.py")
    (Path(folder) / "driver.c").write_text(DRIVER % "qvanilla_start();")
    assert [found.jobs for found in check_folder(folder, jobs=3)] == [3, 3]


# ---- costs and pages ------------------------------------------------------------------------------------------------


def test_a_declared_cost_that_is_half_of_the_truth_is_found(tmp_path: Path) -> None:
    folder = changed(QVANILLA, tmp_path, "accelerator.py", ('"cycles_per_mac * macs"', '"macs"'))
    _, found = fit(folder, jobs=10)
    assert found.costs.scale == pytest.approx(2, rel=0.01)
    assert found.device_error < 0.05
    assert found.error < 0.1


def test_pages_name_registers_and_conditions() -> None:
    text = page(read_folder(str(QVANILLA)).accelerator)
    assert "| 0x30 | `control` | w |" in text
    assert "* there must be one group: `groups == 1`" in text
    assert "| `oc` | `f` |" in text


def test_two_kinds_of_one_name(tmp_path: Path) -> None:
    other = changed(QVANILLA, tmp_path, "accelerator.py", ("ifmap weights bias", "bias weights ifmap"))
    with pytest.raises(CompileError, match="is given twice, with different registers"):
        with_accelerators(targets.find("quad"), [str(QVANILLA), other])
