/* The model of NAME: how long a job takes, and what it computes. */
#include "NAME_device.h"

static uint64_t cycles(const registers *r) {
    const uint64_t macs = (uint64_t)r->rows * r->inner * r->columns;
    return (macs + UPPER_MACS_PER_CYCLE - 1) / UPPER_MACS_PER_CYCLE + 20;
}

static void compute(const registers *r, job *j) {
    const int8_t *a = job_in(j, r->a, r->rows * r->inner), *b = job_in(j, r->b, r->inner * r->columns);
    const int32_t *bias = job_in(j, r->bias, 4 * r->columns);
    int32_t *y = job_out(j, r->result, 4 * r->rows * r->columns);
    for (uint32_t m = 0; m < r->rows; m++)
        for (uint32_t n = 0; n < r->columns; n++) {
            int32_t total = bias[n];
            for (uint32_t k = 0; k < r->inner; k++)
                total += (a[m * r->inner + k] - (int32_t)r->a_zero) * (b[k * r->b_row + n * r->b_column] - (int32_t)r->b_zero);
            y[m * r->columns + n] = total;
        }
}
