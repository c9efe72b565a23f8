/* Short ways from totals to results of bytes. Needs TW_Y. */
#ifndef TW_WAYS_H
#define TW_WAYS_H

/* How totals become results: TW_BY_TOTALS leaves them in memory as they are. */
enum { TW_BY_TOTALS, TW_BY_UP, TW_BY_TWICE, TW_BY_HIGH, TW_BY_LOW, TW_BY_ONE };

/* TW_BY_ONE: shifts of results of the first and of the second filter of a pair. */
enum { TW_ONE_FIRST_SHIFT = 14, TW_ONE_SECOND_SHIFT = 10 };

/* The instruction that keeps a result within its type. */
#define TW_JOINED_(a, b) a##b
#define TW_JOINED(a, b) TW_JOINED_(a, b)
#define TW_LIMIT_int8_t "ssat"
#define TW_LIMIT_uint8_t "usat"
#define TW_LIMIT_int16_t "ssat"
#define TW_LIMIT_uint16_t "usat"
#define TW_LIMIT_int32_t "ssat"
#define TW_LIMIT TW_JOINED(TW_LIMIT_, TW_Y)

#endif
