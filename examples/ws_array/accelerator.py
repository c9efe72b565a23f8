"""A 16 x 16 weight-stationary array with 64 KiB of scratchpad: larger layers are cut into jobs that fit it."""

from tilewright.accelerator import Accelerator, Bus, Condition, Event, Pattern, Scratchpad, registers

CONV = Pattern(
    "conv2d", "Conv",
    types={"X": "int8", "W": "int8"},
    layout="channels last",
    required=("B",),
    conditions=(
        Condition("there must be one group", "groups == 1"),
        Condition("there must be no dilation", "dilation_h == 1 and dilation_w == 1"),
    ),
    limits={"n": 1},
    cuts=("n", "y", "f"),
    multiples={"f": 16},
    writes={
        "x": "X", "w": "W", "bias": "B", "y": "Y", "in_h": "in_h", "in_w": "in_w", "channels": "c", "filters": "f",
        "out_h": "out_h", "out_w": "out_w", "kernel_h": "kernel_h", "kernel_w": "kernel_w", "stride_h": "stride_h",
        "stride_w": "stride_w", "pad_top": "pad_top", "pad_left": "pad_left", "x_zero": "x_zero", "w_zero": "w_zero",
        "y_row": "step_Y_y", "y_pixel": "step_Y_x",
    },
)  # fmt: skip

ACCELERATOR = Accelerator(
    name="ws_array",
    summary="a weight-stationary array for int8 convolutions, with a scratchpad",
    registers=registers(
        "x w bias y in_h in_w channels filters out_h out_w kernel_h kernel_w stride_h stride_w pad_top pad_left"
        " x_zero w_zero y_row y_pixel start:w done:r"
    ),
    patterns=(CONV,),
    start="start",
    done=Event("done", line=3),
    scratchpad=Scratchpad(64 * 1024),
    bus=Bus(bytes_per_cycle=8, overlapped=False),
    # Weights of a block are loaded row by row, then every result of the job passes through it once.
    cycles="ceil_div(f, size) * ceil_div(c, size) * r * s * (y * x + size)"
    " + ceil((bytes_X + bytes_W + bytes_B + bytes_Y) / 8)",
    least_cycles_per_mac="1 / (size * size)",
    parameters={"size": 16},
    area="size * size",  # multipliers
)
