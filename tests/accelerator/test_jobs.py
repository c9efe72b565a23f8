"""Layers are cut into jobs that fit: together they make every result once, and none needs more than there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.accelerator.folders import ARRAY, RESIDUAL
from tests.support.examples import examples
from tilewright.accelerator import Scratchpad
from tilewright.accelerator.accepting import unsupported_reason
from tilewright.accelerator.folder import read_folder
from tilewright.accelerator.jobs import Declared
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv

pytestmark = pytest.mark.fast

PLAIN = read_folder(str(ARRAY)).accelerator


def declared(scratchpad: int) -> Declared:
    accelerator = replace(PLAIN, scratchpad=Scratchpad(scratchpad))
    return Declared(accelerator, accelerator.patterns[0], False)


def layer(size: int, channels: int, filters: int, kernel: int, stride: int) -> tuple[Conv, dict[str, TensorType]]:
    pad = kernel // 2
    op = Conv((stride, stride), (1, 1), (pad,) * 4, channels_last=True)
    operands = {
        "X": TensorType("int8", (1, size, size, channels)),
        "W": TensorType("int8", (filters, kernel, kernel, channels)),
        "B": TensorType("int32", (filters,)),
    }
    return op, {**operands, "Y": op.infer(operands)[0]}


@examples(60)
@given(st.integers(3, 20), st.integers(1, 40), st.integers(1, 70), st.sampled_from([1, 3, 5]), st.sampled_from([1, 2]))
def test_jobs_make_every_result_once(size: int, channels: int, filters: int, kernel: int, stride: int) -> None:
    op, types = layer(max(size, kernel), channels, filters, kernel, stride)
    form = declared(24 * 1024)
    if (why := unsupported_reason(form, op, types)) is not None:
        assert "bytes of the scratchpad, which has 24576" in why
        return
    made = np.zeros(types["Y"].elements, int)
    for job in form.jobs(op, types):
        n = job.numbers
        assert sum(int(n[f"bytes_{name}"]) for name in types) <= 24 * 1024
        for y in range(int(n["y"])):
            for x in range(int(n["x"])):
                first = (job.starts["Y"] + y * int(n["step_Y_y"]) + x * int(n["step_Y_x"])) // 4
                made[first : first + int(n["f"])] += 1
    assert (made == 1).all()


def test_a_layer_of_which_no_part_fits_is_refused_with_the_numbers() -> None:
    op, types = layer(16, 64, 64, 3, 1)
    assert unsupported_reason(declared(64), op, types) == "a job needs 13376 bytes of the scratchpad, which has 64"


def test_no_more_jobs_than_needed() -> None:
    op, types = layer(16, 16, 16, 3, 1)
    assert len(declared(64 * 1024).jobs(op, types)) == 1
    assert len(declared(16 * 1024).jobs(op, types)) == 2


def test_a_limit_of_what_is_summed_over() -> None:
    """Parts of a sum would be jobs that overwrite each other."""
    pattern = replace(PLAIN.patterns[0], limits={"c": 16})
    form = Declared(replace(PLAIN, patterns=(pattern,)), pattern, False)
    assert unsupported_reason(form, *layer(6, 16, 8, 3, 1)) is None
    assert unsupported_reason(form, *layer(6, 20, 8, 3, 1)) == "it has 20 of loop c, a job at most 16"


def test_rows_are_as_wide_as_they_lie() -> None:
    """Strides above the kernel leave columns that no window reads; a job that has whole rows is told of them."""
    accelerator = read_folder(str(RESIDUAL)).accelerator
    alone = next(one for one in accelerator.patterns if one.name == "conv")
    op = Conv((1, 3), channels_last=True)
    operands = {
        "X": TensorType("int8", (2, 9, 9, 1)),
        "W": TensorType("int8", (1, 1, 1, 1)),
        "B": TensorType("int32", (1,)),
    }
    jobs = Declared(accelerator, alone, True).jobs(op, {**operands, "Y": op.infer(operands)[0]})
    assert [(job.numbers["in_h"], job.numbers["in_w"], job.numbers["out_w"]) for job in jobs] == [(9, 9, 3)] * 2
    assert [job.starts["X"] for job in jobs] == [0, 81]
