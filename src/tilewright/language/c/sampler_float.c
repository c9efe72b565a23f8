/* Logits of networks that compute in floating point, as integers / 65536; integer networks do not need this file. */
#include <string.h>

#include "sampler.h"

static int32_t fixed(float value) {
    float scaled = value * 65536.0f;
    if (!(scaled >= -2147483648.0f)) return INT32_MIN;
    if (scaled >= 2147483648.0f) return INT32_MAX;
    int32_t whole = (int32_t)scaled;
    float rest = scaled - (float)whole;
    return whole + (rest >= 0.5f) - (rest < -0.5f);
}

void tw_logits_from_float(const float *from, int32_t *to, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, (const unsigned char *)from + 4 * (size_t)i, sizeof value);
        int32_t result = fixed(value);
        memcpy((unsigned char *)to + 4 * (size_t)i, &result, sizeof result);
    }
}
