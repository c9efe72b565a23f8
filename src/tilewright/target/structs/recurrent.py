"""Parameter structs of the cells of recurrent layers."""

from __future__ import annotations

from tilewright.ir.op import Params
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import FUNCTIONS, GateFunction
from tilewright.ops._gate_tables import GATE_BITS
from tilewright.ops._quantised_cells import QuantisedCells
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.qlineargrucells import QLinearGRUCells
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells
from tilewright.target.params import Types, params_for
from tilewright.target.structs.common import scaling_fields


def gate_fields(function: GateFunction) -> Params:
    """Those of the function of a gate."""
    return {"kind": list(FUNCTIONS).index(function.name), "alpha": function.alpha, "beta": function.beta}


@params_for(Cells)
def cells_params(op: Cells, types: Types) -> Params:
    steps, batch, width = types["X"].shape
    names = ("f", "g", "h")
    functions: Params = {name: gate_fields(function) for name, function in zip(names, op.functions, strict=False)}
    missing: Params = {name: {"kind": 0, "alpha": 0.0, "beta": 0.0} for name in names[len(op.functions) :]}
    return {
        "steps": steps, "batch": batch, "hidden": width // op.gates, "reverse": int(op.reverse),
        "clip": op.clip, **functions, **missing,
    }  # fmt: skip


def qcells_params(op: QuantisedCells, types: Types) -> Params:
    steps, batch, width = types["X"].shape
    return {
        "steps": steps, "batch": batch, "hidden": width // op.gates, "reverse": int(op.reverse),
        "x_up": op.x_up, "x_down": op.x_down, "r_up": op.r_up, "r_down": op.r_down,
        "x_factors": types["Mx"].elements, "r_factors": types["Mr"].elements, "out": scaling_fields(op.out),
    }  # fmt: skip


@params_for(GRUCells)
def gru_cells_params(op: GRUCells, types: Types) -> Params:
    return {**cells_params(op, types), "linear": int(op.linear_before_reset)}


@params_for(LSTMCells)
def lstm_cells_params(op: LSTMCells, types: Types) -> Params:
    return {**cells_params(op, types), "coupled": int(op.input_forget), "dynamic": int(op.dynamic)}


@params_for(QLinearGRUCells)
def qlinear_gru_cells_params(op: QLinearGRUCells, types: Types) -> Params:
    return {**qcells_params(op, types), "coupled": 0, "cell_bits": GATE_BITS}


@params_for(QLinearLSTMCells)
def qlinear_lstm_cells_params(op: QLinearLSTMCells, types: Types) -> Params:
    return {**qcells_params(op, types), "coupled": int(op.input_forget), "cell_bits": op.cell_bits}
