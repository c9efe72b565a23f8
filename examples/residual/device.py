"""What it computes: a convolution, its requantisation and, where `other` is an address, the sum with what is there."""

import numpy as np

from tilewright.accelerator import AcceleratorDevice, requantised


class Device(AcceleratorDevice):
    def cycles(self, r):
        macs = r.out_h * r.out_w * r.filters * r.kernel_h * r.kernel_w * r.channels
        return -(-macs // self.parameters.lanes) + r.out_h * r.out_w * r.filters

    def compute(self, r):
        x = self.load(r.x, (r.in_h, r.in_w, r.channels), "int8").astype(np.int32) - r.x_zero
        w = self.load(r.w, (r.filters, r.kernel_h, r.kernel_w, r.channels), "int8").astype(np.int32) - r.w_zero
        bias, mul, add = (self.load(address, r.filters, "int32") for address in (r.bias, r.mul, r.add))
        below = (r.out_h - 1) * r.stride_h + r.kernel_h - r.in_h - r.pad_top
        right = (r.out_w - 1) * r.stride_w + r.kernel_w - r.in_w - r.pad_left
        x = np.pad(x, ((r.pad_top, max(below, 0)), (r.pad_left, max(right, 0)), (0, 0)))
        y = np.zeros((r.out_h, r.out_w, r.filters), np.int32) + bias
        for dy in range(r.kernel_h):
            for dx in range(r.kernel_w):
                rows = slice(dy, dy + (r.out_h - 1) * r.stride_h + 1, r.stride_h)
                columns = slice(dx, dx + (r.out_w - 1) * r.stride_w + 1, r.stride_w)
                y += x[rows, columns] @ w[:, dy, dx].T
        y = requantised(y, mul, add, r.shift, r.rounding, r.zero, r.low, r.high, "int8")
        self.store(r.y, self.summed(r, y) if r.other else y, steps=(r.y_row,))

    def summed(self, r, y):
        other = self.load(r.other, y.shape, "int8", steps=(r.y_row,))
        total = y.astype(np.int64) * r.mul_a + other.astype(np.int64) * r.mul_b + r.offset
        return requantised(total, 1, 0, r.sum_shift, r.sum_rounding, r.sum_zero, r.sum_low, r.sum_high, "int8")
