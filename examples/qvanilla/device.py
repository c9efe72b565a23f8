"""What QVanilla computes: (x - i_zp) * (w - k_zp) summed over a window of zeros around the image, plus a bias."""

import numpy as np

from tilewright.accelerator import AcceleratorDevice


class Device(AcceleratorDevice):
    def cycles(self, r):
        return self.parameters.cycles_per_mac * r.oc * r.ih * r.iw * r.ic * r.kh * r.kw

    def compute(self, r):
        x = self.load(r.ifmap, (r.ic, r.ih, r.iw), "int8").astype(np.int32) - r.i_zp
        w = self.load(r.weights, (r.oc, r.ic, r.kh, r.kw), "int8").astype(np.int32) - r.k_zp
        y = np.zeros((r.oc, r.ih, r.iw), np.int32) + self.load(r.bias, (r.oc, 1, 1), "int32")
        x = np.pad(x, ((0, 0), (r.kh // 2, r.kh // 2), (r.kw // 2, r.kw // 2)))
        for dy in range(r.kh):
            for dx in range(r.kw):
                y += np.einsum("oi,ihw->ohw", w[:, :, dy, dx], x[:, dy : dy + r.ih, dx : dx + r.iw])
        self.store(r.result, y)
