"""Random nodes that move elements, in the forms that each opset has."""

from __future__ import annotations

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.net import Net, grown


def any_of(net: Net, low: int = 0, high: int = 6) -> str:
    return net.pick(net.choice(net.dtypes), low, high)


def filled(net: Net, low: int = 0, high: int = 6) -> str:
    return net.pick(net.choice(net.dtypes), low, high, lambda array: array.size > 0)


def axis_of(net: Net, axis: int, rank: int, since: int = 11) -> int:
    """The axis, or its negative name where the opset has them."""
    return axis - rank if net.opset >= since and net.chance(0.4) else axis


def transpose(net: Net) -> None:
    x = any_of(net, 1)
    net.add("Transpose", [x], perm=net.shuffled(net.values[x].ndim) if net.chance(0.85) else None)


def reshape(net: Net) -> None:
    x = filled(net)
    left, shape = net.values[x].size, []
    for _ in range(net.number(0, 5)):
        shape.append(net.choice([size for size in range(1, min(left, 40) + 1) if left % size == 0]))
        left //= shape[-1]
    shape.append(left)
    shape = [shape[i] for i in net.shuffled(len(shape))]
    if net.chance(0.4):
        shape[net.number(0, len(shape) - 1)] = -1
    net.add("Reshape", [x, net.ints(*shape)])


def flatten(net: Net) -> None:
    x = any_of(net) if net.opset >= 9 else net.pick()
    rank = net.values[x].ndim
    net.add("Flatten", [x], axis=net.number(-rank if net.opset >= 11 else 0, rank) if net.chance(0.8) else None)


def squeeze(net: Net) -> None:
    x = net.pick(net.choice(net.dtypes), 1, 6, lambda array: 1 in array.shape)
    shape = net.values[x].shape
    axes = [axis_of(net, axis, len(shape)) for axis, size in enumerate(shape) if size == 1 and net.chance(0.7)]
    if not axes:
        net.add("Squeeze", [x])
    elif net.opset < 13:
        net.add("Squeeze", [x], axes=axes)
    else:
        net.add("Squeeze", [x, net.ints(*axes)])


def unsqueeze(net: Net) -> None:
    x = any_of(net, 0, 4)
    added = net.number(1, 2)
    rank = net.values[x].ndim + added
    axes = [axis_of(net, axis, rank) for axis in sorted(net.shuffled(rank)[:added])]
    if net.opset < 13:
        net.add("Unsqueeze", [x], axes=axes)
    else:
        net.add("Unsqueeze", [x, net.ints(*axes)])


def slices(net: Net) -> None:
    x = any_of(net, 1)
    shape = net.values[x].shape
    axes = net.some(len(shape))
    ranges = [_range(net, shape[axis]) for axis in axes]
    starts, ends, steps = ([numbers[i] for numbers in ranges] for i in range(3))
    if net.opset < 10:
        net.add("Slice", [x], starts=starts, ends=ends, axes=axes)
        return
    named = [axis_of(net, axis, len(shape)) for axis in axes]
    net.add("Slice", [x, net.ints(*starts), net.ints(*ends), net.ints(*named), net.ints(*steps)])


def _range(net: Net, size: int) -> tuple[int, int, int]:
    """Start, end and step; an end of 2**63 - 1 with a negative step means different things to different readers."""
    step = net.choice([1, 1, 2, 3, 7, -1, -2]) if net.opset >= 10 else 1
    start = net.choice([net.number(-size - 2, size + 2), -(2**31), 2**31 - 1, 0])
    end = net.choice([net.number(-size - 3, size + 3), 2**63 - 1 if step > 0 else -(2**63)])
    return start, end, step


def concat(net: Net) -> None:
    dtype = net.choice(net.dtypes)
    x = net.pick(dtype, 1)
    shape = net.values[x].shape
    axis = net.number(0, len(shape) - 1)
    others = [[net.size() if i == axis else size for i, size in enumerate(shape)] for _ in range(net.number(0, 4))]
    parts = [x, *(net.new(sizes, dtype) for sizes in others)]
    parts = [parts[i] for i in net.shuffled(len(parts))]
    net.add("Concat", parts + [x] * net.number(0, 1), axis=axis_of(net, axis, len(shape)))


def split(net: Net) -> None:
    x = any_of(net, 1)
    shape = net.values[x].shape
    axis = net.number(0, len(shape) - 1)
    cuts = sorted(net.number(0, shape[axis]) for _ in range(net.number(0, 3)))
    parts = [int(part) for part in np.diff([0, *cuts, shape[axis]])]
    named = axis_of(net, axis, len(shape))
    if net.opset >= 18 and net.chance(0.3):
        net.add("Split", [x], len(parts), axis=named, num_outputs=len(parts))
    elif net.opset < 13:
        net.add("Split", [x], len(parts), axis=named, split=parts)
    else:
        net.add("Split", [x, net.ints(*parts)], len(parts), axis=named)


def gather(net: Net) -> None:
    x = filled(net, 1, 5)
    shape = net.values[x].shape
    axis = net.number(0, len(shape) - 1)
    least = -shape[axis] if net.opset >= 11 else 0
    where = net.choices.numpy().integers(least, shape[axis], net.shape(0, min(2, 7 - len(shape))))
    net.add("Gather", [x, net.give(where.astype(net.choice(["int32", "int64"])))], axis=axis_of(net, axis, len(shape)))


def gather_elements(net: Net) -> None:
    x = filled(net, 1, 4)
    shape = net.values[x].shape
    axis, sizes = net.number(0, len(shape) - 1), [net.number(1, size) for size in shape]
    where = net.choices.numpy().integers(-shape[axis], shape[axis], sizes)
    if net.opset >= 11:
        net.add("GatherElements", [x, net.give(where)], axis=axis)


def scatter(net: Net) -> None:
    """Each element is written once: ONNX leaves open which of several values stays."""
    x = filled(net, 1, 4)
    value = net.values[x]
    cells = net.choices.numpy().permutation(value.size)[: net.number(1, min(value.size, 5))]
    where = np.stack(np.unravel_index(cells, value.shape), -1)
    if net.opset >= 11:
        net.add("ScatterND", [x, net.give(where), net.new([len(cells)], value.dtype.name)])


def expand(net: Net) -> None:
    x = any_of(net, 0, 5)
    shape = net.values[x].shape
    wanted = [net.number(1, 4) if size == 1 else net.choice([1, size, size]) for size in shape]
    if len(shape) < 5 and net.chance(0.4):
        wanted = [net.number(1, 3), *wanted]
    if net.opset >= 8:
        net.add("Expand", [x, net.ints(*wanted)])


def tile(net: Net) -> None:
    x = any_of(net, 1, 5)
    net.add("Tile", [x, net.ints(*(net.choice([1, 1, 2, 3]) for _ in net.values[x].shape))])


def pad(net: Net) -> None:
    dtype = "float32" if net.opset < 13 else net.choice(net.dtypes)
    x = net.pick(dtype, 1, 5, lambda array: array.size > 0)
    shape = net.values[x].shape
    mode = net.choice(["constant", "reflect", "edge"] + (["wrap"] if net.opset >= 19 else []))
    pads = [net.number(0, min(3, size - 1) if mode == "reflect" else 3) for size in shape * 2]
    if mode == "constant" and net.chance(0.3):
        pads[0] = -net.number(0, shape[0] // 3)
    if net.opset < 11:
        net.add("Pad", [x], pads=pads, mode=mode, value=net.choice([0.0, 1.5]))
    elif mode == "constant":
        net.add("Pad", [x, net.ints(*pads), net.constant(net.number(0, 1), dtype)])
    else:
        net.add("Pad", [x, net.ints(*pads)], mode=mode)


def blocks(net: Net) -> None:
    block, channels, height, width = (net.number(1, 3) for _ in range(4))
    if net.chance(0.5):
        x = net.new((net.number(1, 2), channels * block * block, height, width))
        net.add("DepthToSpace", [x], blocksize=block, mode=net.choice(["DCR", "CRD"]) if net.opset >= 11 else None)
    else:
        x = net.new((net.number(1, 2), channels, height * block, width * block))
        net.add("SpaceToDepth", [x], blocksize=block)


def triangle(net: Net) -> None:
    x = any_of(net, 2, 4)
    if net.opset >= 14:
        net.add("Trilu", [x, net.constant(net.number(-4, 4), "int64")], upper=net.number(0, 1))


def resize(net: Net) -> None:
    """By sizes with any coordinates; by scales not to aligned corners, where ONNX Runtime is not ONNX's reference."""
    x = net.new((net.number(1, 2), net.number(1, 3), net.number(1, 8), net.number(1, 8)))
    mode, scaled = net.choice(["nearest", "linear"]), net.chance(0.5)
    coordinates = ["half_pixel", "asymmetric", "pytorch_half_pixel"] + ([] if scaled else ["align_corners"])
    rounding = net.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]) if mode == "nearest" else None
    rules = {"mode": mode, "coordinate_transformation_mode": net.choice(coordinates), "nearest_mode": rounding}
    if net.opset < 13:
        return
    if scaled:
        scales = [1, 1, *(net.choice([0.5, 0.6, 1, 1.5, 2, 2.7, 3]) for _ in range(2))]
        net.add("Resize", [x, "", net.constant(scales, "float32")], **rules)
    else:
        sizes = (*net.values[x].shape[:2], net.number(1, 14), net.number(1, 14))
        net.add("Resize", [x, "", "", net.ints(*sizes)], **rules)


NODES = {
    transpose: 3, reshape: 3, flatten: 1, squeeze: 1, unsqueeze: 1, slices: 3, concat: 3, split: 3, gather: 2,
    gather_elements: 1, scatter: 1, expand: 2, tile: 2, pad: 3, blocks: 1, triangle: 1, resize: 3,
}  # fmt: skip
"""How often each is tried, relative to the others."""


def draw(choices: Choices, room: int) -> Case:
    return grown(Net(choices, room), NODES, choices.number(1, 8))
