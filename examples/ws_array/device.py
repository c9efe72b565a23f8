"""The array: operands are brought into the scratchpad, multiplied block by block, and totals are written back."""

import numpy as np

from tilewright.accelerator import AcceleratorDevice


class Device(AcceleratorDevice):
    def cycles(self, r):
        size = self.parameters.size
        blocks = -(-r.filters // size) * -(-r.channels // size) * r.kernel_h * r.kernel_w
        return blocks * (r.out_h * r.out_w + size)

    def compute(self, r):
        x = self.load(r.x, (r.in_h, r.in_w, r.channels), "int8").astype(np.int32) - r.x_zero
        w = self.load(r.w, (r.filters, r.kernel_h, r.kernel_w, r.channels), "int8").astype(np.int32) - r.w_zero
        below = (r.out_h - 1) * r.stride_h + r.kernel_h - r.in_h - r.pad_top
        right = (r.out_w - 1) * r.stride_w + r.kernel_w - r.in_w - r.pad_left
        x = np.pad(x, ((r.pad_top, max(below, 0)), (r.pad_left, max(right, 0)), (0, 0)))
        y = np.zeros((r.out_h, r.out_w, r.filters), np.int32) + self.load(r.bias, r.filters, "int32")
        for dy in range(r.kernel_h):
            for dx in range(r.kernel_w):
                rows = slice(dy, dy + (r.out_h - 1) * r.stride_h + 1, r.stride_h)
                columns = slice(dx, dx + (r.out_w - 1) * r.stride_w + 1, r.stride_w)
                y += x[rows, columns] @ w[:, dy, dx].T
        self.store(r.y, y, steps=(r.y_row, r.y_pixel))
