"""What integers at a network's ends stand for, for its callers: macros, a struct, and functions from and to real
numbers, all in network.h."""

from __future__ import annotations

from tilewright.codegen.literals import float_literal
from tilewright.codegen.network import Writer
from tilewright.ir.scale import Scale
from tilewright.ir.types import limits


def scaled(writer: Writer) -> dict[str, Scale]:
    """Tensors of inputs and outputs that have a scale."""
    graph = writer.schedule.graph
    found = {name: graph.scale_of(name) for name in dict.fromkeys([*graph.inputs, *graph.outputs])}
    return {name: scale for name, scale in found.items() if scale is not None}


def quantise_name(writer: Writer, tensor: str) -> str:
    """The function that gives an input's integers."""
    return f"{writer.name}_quantise_{writer.identifiers[tensor]}"


def dequantise_name(writer: Writer, tensor: str) -> str:
    """The function that gives an output's real numbers."""
    return f"{writer.name}_dequantise_{writer.identifiers[tensor]}"


def text(writer: Writer) -> str:
    """The part of network.h; nothing where no integer stands for a real number."""
    found = scaled(writer)
    if not found:
        return ""
    graph = writer.schedule.graph
    macros = "\n".join(_macros(writer, name, scale) for name, scale in found.items())
    inputs = "".join(_quantise(writer, name) for name in found if name in graph.inputs)
    outputs = "".join(_dequantise(writer, name) for name in found if name in graph.outputs)
    return f"""
/* Quantisation: real = SCALE * (integer - ZERO_POINT). */
{macros}

typedef struct {{
  float scale;
  int32_t zero_point;
}} {writer.name}_quantisation;
{inputs}{outputs}"""


def _macros(writer: Writer, name: str, scale: Scale) -> str:
    prefix = f"{writer.macro}_{writer.identifiers[name].upper()}"
    return f"""\
#define {prefix}_SCALE {float_literal(scale.scale)}
#define {prefix}_ZERO_POINT {scale.zero_point if scale.zero_point >= 0 else f"({scale.zero_point})"}
#define {prefix}_QUANTISATION {{{prefix}_SCALE, {prefix}_ZERO_POINT}}"""


def _quantise(writer: Writer, name: str) -> str:
    low, high = limits(writer.schedule.graph.types[name].dtype)
    kind, prefix = writer.c_type_of(name), f"{writer.macro}_{writer.identifiers[name].upper()}"
    return f"""
/* Real number to integer: rounded to nearest, ties away from zero, and saturated. */
static inline {kind} {quantise_name(writer, name)}(float real) {{
  const float steps = real / {prefix}_SCALE, low = {low - high - 1}.0f, high = {high - low + 1}.0f;
  const float nearest = steps < low ? low : steps > high ? high : steps == steps ? steps : 0.0f;
  const int32_t integer = (int32_t)(nearest < 0.0f ? nearest - 0.5f : nearest + 0.5f) + {prefix}_ZERO_POINT;
  return ({kind})(integer < {low} ? {low} : integer > {high} ? {high} : integer);
}}
"""


def _dequantise(writer: Writer, name: str) -> str:
    kind, prefix = writer.c_type_of(name), f"{writer.macro}_{writer.identifiers[name].upper()}"
    return f"""
/* Integer to real number. */
static inline float {dequantise_name(writer, name)}({kind} integer) {{
  return {prefix}_SCALE * (float)((int32_t)integer - {prefix}_ZERO_POINT);
}}
"""
