"""Convolutions of bytes as one job with the sum behind them: the result in between is never stored."""

from tilewright.accelerator import Accelerator, Condition, Pattern, Poll, registers

CONDITIONS = (
    Condition("there must be one group", "groups == 1"),
    Condition("there must be no dilation", "dilation_h == 1 and dilation_w == 1"),
)
CONV = {
    "x": "X", "w": "W", "bias": "B", "mul": "mul", "add": "add", "in_h": "in_h", "in_w": "in_w", "channels": "c",
    "filters": "f", "out_h": "out_h", "out_w": "out_w", "kernel_h": "kernel_h", "kernel_w": "kernel_w",
    "stride_h": "stride_h", "stride_w": "stride_w", "pad_top": "pad_top", "pad_left": "pad_left", "x_zero": "x_zero",
    "w_zero": "w_zero", "shift": "requant_shift", "rounding": "requant_rounding", "zero": "requant_zero_point",
    "low": "requant_low", "high": "requant_high",
}  # fmt: skip
SUM = {
    "other": "B2", "mul_a": "mul_a2", "mul_b": "mul_b2", "offset": "offset2", "sum_shift": "requant_shift2",
    "sum_rounding": "requant_rounding2", "sum_zero": "requant_zero_point2", "sum_low": "requant_low2",
    "sum_high": "requant_high2",
}  # fmt: skip
# One for all that both patterns have.
SAME = {"layout": "channels last", "required": ("B", "mul", "add"), "limits": {"n": 1}, "cuts": ("n", "y")}

CONV_ADD = Pattern(
    "conv_add", "Conv",
    chain=("requantise", "QLinearAdd"),
    types={"X": "int8", "W": "int8", "B2": "int8", "Y2": "int8"},
    conditions=(*CONDITIONS, Condition("both summands must have one shape", "bytes_B2 == bytes_Y2")),
    writes={**CONV, **SUM, "y": "Y2", "y_row": "step_Y2_y"},
    **SAME,
)  # fmt: skip
CONV_ALONE = Pattern(
    "conv", "Conv",
    chain=("requantise",),
    types={"X": "int8", "W": "int8", "Y": "int8"},
    conditions=CONDITIONS,
    writes={**CONV, "other": "0", "y": "Y", "y_row": "step_Y_y"},
    **SAME,
)  # fmt: skip

ACCELERATOR = Accelerator(
    name="residual",
    summary="int8 convolutions, requantised, with the sum of a residual block",
    registers=registers(f"{' '.join(dict.fromkeys([*CONV, *SUM, 'y', 'y_row']))} start:w done:r"),
    patterns=(CONV_ADD, CONV_ALONE),
    start="start",
    done=Poll("done"),
    cycles="ceil(macs / lanes) + elements",
    least_cycles_per_mac="1 / lanes",
    parameters={"lanes": 16},
    area="lanes",
)
