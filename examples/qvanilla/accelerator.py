"""QVanilla: int8 convolutions with "same" padding to int32 totals, one set of registers, a status to poll."""

from tilewright.accelerator import Accelerator, Condition, Pattern, Poll, registers

CONV = Pattern(
    "conv2d", "Conv",
    types={"X": "int8", "W": "int8"},
    layout="channels first",
    required=("B",),
    conditions=(
        Condition("the stride must be 1", "stride_h == 1 and stride_w == 1"),
        Condition("there must be one group", "groups == 1"),
        Condition("there must be no dilation", "dilation_h == 1 and dilation_w == 1"),
        Condition("the kernel must be square and odd", "kernel_h == kernel_w and kernel_h % 2 == 1"),
        Condition("the padding must keep the size", "2 * pad_top + 1 == kernel_h and 2 * pad_left + 1 == kernel_w"
                  " and out_h == in_h and out_w == in_w"),
    ),
    limits={"n": 1},
    cuts=("n",),
    writes={
        "ifmap": "X", "weights": "W", "bias": "B", "result": "Y", "oc": "f", "iw": "in_w", "ih": "in_h", "ic": "c",
        "kh": "kernel_h", "kw": "kernel_w", "i_zp": "x_zero", "k_zp": "w_zero",
    },
)  # fmt: skip

ACCELERATOR = Accelerator(
    name="qvanilla",
    summary="int8 convolutions, stride 1, to int32 totals",
    registers=registers("ifmap weights bias result oc iw ih ic kh kw i_zp k_zp control:w status:r"),
    patterns=(CONV,),
    start="control",
    done=Poll("status"),
    cycles="cycles_per_mac * macs",
    least_cycles_per_mac="cycles_per_mac",
    parameters={"cycles_per_mac": 2},
)
