/* Small kernels to count cycles with; -DKERNEL_name picks one. Each returns a checksum. */
#include <stddef.h>
#include <stdint.h>

enum { N = 512, SIDE = 16, TAPS = 16 };
static int8_t a[N], b[N];
static int16_t h[N], taps[TAPS];
static int32_t w[N], out[N];

/* Numbers that look random, the same everywhere. */
static uint32_t next(uint32_t x) { return x * 1664525u + 1013904223u; }

static void fill(void) {
    uint32_t x = 7;
    for (int i = 0; i < N; i++) {
        x = next(x);
        a[i] = (int8_t)(x >> 24), b[i] = (int8_t)(x >> 16), h[i] = (int16_t)(x >> 8), w[i] = (int32_t)x;
    }
    for (int i = 0; i < TAPS; i++) taps[i] = h[i];
}

static int32_t checksum(const int32_t *v, int n) {
    uint32_t sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 31 + (uint32_t)v[i];
    return (int32_t)sum;
}

#if defined(KERNEL_copy)
static int32_t work(void) {
    volatile uint8_t *to = (uint8_t *)out;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < N; i++) to[i] = ((const uint8_t *)w)[i];
    return checksum(out, N / 4);
}
#elif defined(KERNEL_dot)
static int32_t work(void) {
    int32_t sum = 0;
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < N; i++) sum += a[i] * b[i];
    return sum;
}
#elif defined(KERNEL_dot_simd)
static int32_t work(void) {
    int32_t sum = 0;
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < N; i += 4) {
            int32_t x = *(const int32_t *)(a + i), y = *(const int32_t *)(b + i);
            __asm__("cv.sdotsp.b %0, %1, %2" : "+r"(sum) : "r"(x), "r"(y));
        }
    return sum;
}
#elif defined(KERNEL_dot_loop)
/* A hardware loop around two post-increment loads and a dot product. */
static int32_t work(void) {
    int32_t sum = 0, x, y;
    for (int k = 0; k < 16; k++) {
        const int8_t *p = a, *q = b;
        __asm__ volatile(".balign 4\n .option push\n .option norvc\n"
                         ".insn i 0x2b, 4, x14, %[n], 4\n" /* cv.setup 0, n, 4 */
                         "cv.lw %[x], (%[p]), 4\n cv.lw %[y], (%[q]), 4\n cv.sdotsp.b %[sum], %[x], %[y]\n .option pop"
                         : [sum] "+r"(sum), [p] "+r"(p), [q] "+r"(q), [x] "=&r"(x), [y] "=&r"(y)
                         : [n] "r"(N / 4)
                         : "memory");
    }
    return sum;
}
#elif defined(KERNEL_nested_loops)
/* Two hardware loops; the inner one with count written anew each time. */
static int32_t work(void) {
    int32_t i = 0, j = 0;
    __asm__ volatile(".balign 4\n .option push\n .option norvc\n"
                     ".insn i 0x2b, 4, x15, %[n], 8\n" /* cv.setup 1, n, 8 */
                     "addi %[j], %[j], 1\n"
                     ".insn i 0x2b, 4, x14, %[n], 4\n" /* cv.setup 0, n, 4 */
                     "addi %[i], %[i], 1\n cv.mac %[i], %[i], %[j]\n addi %[i], %[i], 3\n"
                     "addi %[j], %[j], 2\n xor %[j], %[j], %[i]\n .option pop"
                     : [i] "+r"(i), [j] "+r"(j)
                     : [n] "r"(40));
    return i + j;
}
#elif defined(KERNEL_matmul)
static int32_t work(void) {
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int32_t sum = 0;
            for (int k = 0; k < SIDE; k++) sum += a[i * SIDE + k] * b[k * SIDE + j];
            out[i * SIDE + j] = sum;
        }
    return checksum(out, SIDE * SIDE);
}
#elif defined(KERNEL_matmul_simd)
static int32_t work(void) {
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            const int32_t *p = (const int32_t *)(a + i * SIDE), *q = (const int32_t *)(b + j * SIDE);
            int32_t sum = 0;
            for (int k = 0; k < SIDE / 4; k++) __asm__("cv.sdotsp.b %0, %1, %2" : "+r"(sum) : "r"(p[k]), "r"(q[k]));
            __asm__("cv.clip %0, %0, 8" : "+r"(sum));
            out[i * SIDE + j] = sum;
        }
    return checksum(out, SIDE * SIDE);
}
#elif defined(KERNEL_fir)
static int32_t work(void) {
    for (int i = 0; i + TAPS <= N; i++) {
        int32_t sum = 0;
        for (int k = 0; k < TAPS; k++) sum += h[i + k] * taps[k];
        out[i] = sum >> 15;
    }
    return checksum(out, N - TAPS);
}
#elif defined(KERNEL_crc32)
static int32_t work(void) {
    uint32_t crc = ~0u;
    for (int i = 0; i < N; i++) {
        crc ^= (uint8_t)a[i];
        for (int k = 0; k < 8; k++) {
            if (crc & 1) crc = crc >> 1 ^ 0xedb88320u;
            else crc >>= 1;
        }
    }
    return (int32_t)~crc;
}
#elif defined(KERNEL_sort)
static int32_t work(void) {
    for (int i = 1; i < 128; i++) {
        int32_t x = w[i];
        int k = i;
        for (; k > 0 && w[k - 1] > x; k--) w[k] = w[k - 1];
        w[k] = x;
    }
    return checksum(w, 128);
}
#elif defined(KERNEL_fibonacci)
__attribute__((noinline)) static int32_t fibonacci(int32_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
static int32_t work(void) { return fibonacci(14); }
#elif defined(KERNEL_length)
__attribute__((noinline)) static int32_t length(const char *text) {
    const char *p = text;
    while (*p) p++;
    return (int32_t)(p - text);
}
static int32_t work(void) {
    int32_t total = 0;
    for (int i = 0; i < N; i++)
        if (i % 61 == 60) a[i] = 0;
        else a[i] |= 1;
    for (int i = 0; i < N - 61; i += 7) total += length((const char *)a + i);
    return total;
}
#elif defined(KERNEL_conv3x3)
static int32_t work(void) {
    for (int y = 1; y < SIDE - 1; y++)
        for (int x = 1; x < SIDE - 1; x++) {
            int32_t sum = 0;
            for (int v = -1; v <= 1; v++)
                for (int u = -1; u <= 1; u++) sum += a[(y + v) * SIDE + x + u] * b[(v + 1) * 3 + u + 1];
            out[y * SIDE + x] = sum < 0 ? 0 : sum >> 7 > 127 ? 127 : sum >> 7;
        }
    return checksum(out, SIDE * SIDE);
}
#elif defined(KERNEL_division)
static int32_t work(void) {
    int32_t sum = 0;
    for (int i = 0; i < N; i++) {
        int32_t d = w[i] >> (i & 31);
        sum += w[N - 1 - i] / d + (int32_t)((uint32_t)w[i] % (uint32_t)(d | 1)) + (w[i] % (d ^ 5));
    }
    return sum;
}
#elif defined(KERNEL_wide)
/* 64-bit products and unaligned words. */
static int32_t work(void) {
    uint64_t sum = 1;
    for (int i = 0; i < N - 4; i++) {
        uint32_t x;
        __asm__("lw %0, 0(%1)" : "=r"(x) : "r"(a + i), "m"(a[i]));
        sum += (uint64_t)x * (uint32_t)w[i] + (uint64_t)((int64_t)w[i] * (int32_t)x >> 3);
    }
    return (int32_t)(sum ^ sum >> 32);
}
#elif defined(KERNEL_dispatch)
/* Calls through pointers and a switch. */
static int32_t add(int32_t x, int32_t y) { return x + y; }
static int32_t mix(int32_t x, int32_t y) { return x ^ y << 1; }
static int32_t sub(int32_t x, int32_t y) { return x - y; }
static int32_t (*const volatile table[3])(int32_t, int32_t) = {add, mix, sub};
static int32_t work(void) {
    int32_t x = 1;
    for (int i = 0; i < N; i++) {
        x = table[i % 3](x, w[i]);
        switch ((uint32_t)x % 7) {
        case 0: x += 3; break;
        case 1: x ^= 0x55; break;
        case 2: x = -x; break;
        case 3: x *= 3; break;
        case 4: x -= w[i]; break;
        default: break;
        }
    }
    return x;
}
#endif

int32_t kernel(void) {
    fill();
    return work();
}
