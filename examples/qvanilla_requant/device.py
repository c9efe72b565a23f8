"""What it computes: sums of products as QVanilla, then round((total * mul + add) / 2**shift) + o_zp, clamped."""

import numpy as np

from tilewright.accelerator import AcceleratorDevice, requantised


class Device(AcceleratorDevice):
    def cycles(self, r):
        return self.parameters.cycles_per_mac * r.oc * r.ih * r.iw * r.ic * r.kh * r.kw

    def compute(self, r):
        x = self.load(r.ifmap, (r.ic, r.ih, r.iw), "int8").astype(np.int32) - r.i_zp
        w = self.load(r.weights, (r.oc, r.ic, r.kh, r.kw), "int8").astype(np.int32) - r.k_zp
        bias, mul, add = (self.load(address, (r.oc, 1, 1), "int32") for address in (r.bias, r.mul, r.add))
        y = np.zeros((r.oc, r.ih, r.iw), np.int32) + bias
        x = np.pad(x, ((0, 0), (r.kh // 2, r.kh // 2), (r.kw // 2, r.kw // 2)))
        for dy in range(r.kh):
            for dx in range(r.kw):
                y += np.einsum("oi,ihw->ohw", w[:, :, dy, dx], x[:, dy : dy + r.ih, dx : dx + r.iw])
        self.store(r.result, requantised(y, mul, add, r.shift, r.rounding, r.o_zp, r.low, r.high, "int8"))
