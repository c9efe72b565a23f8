/* Short names for fixed-width integers and branch hints. */
#ifndef TW_BASE_H
#define TW_BASE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NEVER UINT64_MAX
#define EXPORT __attribute__((visibility("default"))) /* Python calls it */

static inline u64 later(u64 a, u64 b) { return a > b ? a : b; }
static inline u64 earlier(u64 a, u64 b) { return a < b ? a : b; }
/* a - b, but not below 0; without a branch, because conflicts cannot be predicted. */
static inline u64 excess(u64 a, u64 b) {
    i64 difference = (i64)(a - b);
    return (u64)(difference & ~(difference >> 63));
}
#endif
