"""QVanilla in Verilog: int8 convolutions with "same" padding, `width` pixels at a time, to int32 or int8."""

from tilewright.accelerator import Accelerator, Condition, Pattern, Poll, registers

CONDITIONS = (
    Condition("the stride must be 1", "stride_h == 1 and stride_w == 1"),
    Condition("there must be one group", "groups == 1"),
    Condition("there must be no dilation", "dilation_h == 1 and dilation_w == 1"),
    Condition("the kernel must be square and odd, up to 5 x 5", "kernel_h == kernel_w"
              " and kernel_h % 2 == 1 and kernel_h <= 5"),
    Condition("the padding must keep the size", "2 * pad_top + 1 == kernel_h and 2 * pad_left + 1 == kernel_w"
              " and out_h == in_h and out_w == in_w"),
)  # fmt: skip
WRITES = {
    "ifmap": "X", "weights": "W", "bias": "B", "result": "Y", "oc": "f", "ic": "c", "k": "kernel_h",
    "iw": "in_w if kernel_w > 1 else in_h * in_w", "ih": "in_h if kernel_h > 1 else 1",
    "i_zp": "x_zero", "k_zp": "w_zero",
}  # fmt: skip
SHARED = {
    "types": {"X": "int8", "W": "int8"}, "layout": "channels first", "limits": {"n": 1}, "cuts": ("n",),
}  # fmt: skip
# Groups of pixels, and what one takes: the bias, then pixels and taps of each row of the kernel, then the weights.
GROUPS = "f * (in_h * ceil_div(in_w, width) if kernel_w > 1 else ceil_div(in_h * in_w, width))"
GROUP = "(1 + c * r * ((width + s + 5) // 4 + 1 + s) + 2 * ceil_div(c * r * s, 4))"

TOTALS = Pattern(
    "conv2d", "Conv", required=("B",), conditions=CONDITIONS, writes=WRITES | {"mode": "0"},
    cycles=f"{GROUPS} * {GROUP} + f * in_h * in_w", **SHARED,
)  # fmt: skip
REQUANTISED = Pattern(
    "conv2d_int8", "Conv", chain=("requantise",), required=("B", "mul", "add"),
    conditions=(
        Condition("requantisation must be asked for: requant=1", "requant >= 1"), *CONDITIONS,
        Condition("the rounding must be half_up, half_even or half_away, or with requant=2 double",
                  "requant_rounding == half_up or requant_rounding == native or requant_rounding == half_even"
                  " or requant_rounding == half_away or (requant >= 2 and requant_rounding == double)"),
    ),
    writes=WRITES | {
        "mode": "1", "mul": "mul", "add": "add", "shift": "requant_shift", "o_zp": "requant_zero_point",
        "rounding": "1 if requant_rounding == half_even else 2 if requant_rounding == half_away"
                    " else 3 if requant_rounding == double else 0",
        "low": "requant_low", "high": "requant_high",
    },
    cycles=f"{GROUPS} * (3 + {GROUP}) + 2 * f * in_h * in_w", **{**SHARED, "types": {**SHARED["types"], "Y": "int8"}},
)  # fmt: skip

ACCELERATOR = Accelerator(
    name="qvanilla_rtl",
    summary="int8 convolutions, stride 1, to int32 totals or int8",
    registers=registers(
        "ifmap weights bias mul add result oc iw ih ic k i_zp k_zp shift rounding o_zp low high mode control:w status:r"
    ),
    patterns=(REQUANTISED, TOTALS),
    start="control",
    done=Poll("status"),
    parameters={"width": 4, "requant": 0},
)
