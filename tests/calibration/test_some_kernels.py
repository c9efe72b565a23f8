"""Some kernels of a target, measured apart from the others."""

from __future__ import annotations

import pytest

from tests.support.command import Command
from tilewright import targets
from tilewright.calibration import stacks
from tilewright.codegen.kernels import Instance
from tilewright.errors import CompileError
from tilewright.target.kernel import Kernel
from tilewright.target.target import Target

pytestmark = pytest.mark.fast


@pytest.fixture
def some(monkeypatch: pytest.MonkeyPatch) -> tuple[Target, Kernel, list[bool]]:
    """A kernel, and which of its instances compile, in turn."""
    target, fine = targets.find("quad"), list[bool]()

    def stack(_: Target, instance: Instance) -> int:
        if not fine.pop():
            raise CompileError(instance.file, "does not compile")
        return 48

    monkeypatch.setattr(stacks, "instance_stack", stack)
    kernel = next(kernel for kernel in target.engines[0].kernels if len([*stacks.samples(kernel)]) > 3)
    fine += [True, *[False] * (len([*stacks.samples(kernel)]) - 1)]
    return target, kernel, fine


def test_types_that_no_graph_has_do_not_compile(some: tuple[Target, Kernel, list[bool]]) -> None:
    target, kernel, _ = some
    assert stacks.kernel_stack(target, kernel) == 48


def test_a_kernel_that_never_compiles_has_no_stack(some: tuple[Target, Kernel, list[bool]]) -> None:
    target, kernel, fine = some
    fine[0] = False
    with pytest.raises(CompileError, match="does not compile"):
        stacks.kernel_stack(target, kernel)


def test_an_accelerator_has_no_single_kernels(command: Command) -> None:
    ran = command("calibrate", "quad", "--accelerator", "somewhere", "--kernel", "add")
    assert ran.code != 0
    assert "an accelerator is measured as a whole" in ran.err
