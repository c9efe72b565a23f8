/* What headers `*_work.h` say: the units of work of a kernel's call, on the machine that plans. No kernel includes it. */
#ifndef TW_UNITS_OF_WORK_H
#define TW_UNITS_OF_WORK_H

#include <stdint.h>
#include <string.h>

#define TW_MOST_UNITS 32

/* Writes them to `units`, and returns how many there are. */
#define TW_UNITS(...)                                                       \
  do {                                                                      \
    const double found_[] = {__VA_ARGS__};                                  \
    (void)sizeof(char[sizeof found_ <= TW_MOST_UNITS * sizeof(double) ? 1 : -1]); \
    memcpy(units, found_, sizeof found_);                                   \
    return (int64_t)(sizeof found_ / sizeof *found_);                       \
  } while (0)

/* How many parts of a size are begun. */
static inline int64_t tw_up(int64_t count, int64_t size) { return (count + size - 1) / size; }

static inline int64_t tw_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tw_most(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
