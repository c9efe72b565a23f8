"""The model of NAME: how long a job takes, and what it computes."""

import numpy as np

from tilewright.accelerator import AcceleratorDevice, Registers


class Device(AcceleratorDevice):
    def cycles(self, r: Registers) -> float:
        return r.rows * r.inner * r.columns / self.parameters.macs_per_cycle + 20

    def compute(self, r: Registers) -> None:
        a = self.load(r.a, (r.rows, r.inner), "int8").astype(np.int32) - r.a_zero
        b = self.load(r.b, r.inner * r.columns, "int8").astype(np.int32) - r.b_zero
        order = (r.inner, r.columns) if r.b_column == 1 else (r.columns, r.inner)
        b = b.reshape(order) if r.b_column == 1 else b.reshape(order).T
        self.store(r.result, (a @ b + self.load(r.bias, r.columns, "int32")).astype(np.int32))
