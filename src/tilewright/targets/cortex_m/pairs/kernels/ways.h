/* Short ways from totals to results of 8 or 16 bits. Needs TW_Y. */
#ifndef TW_WAYS_H
#define TW_WAYS_H

#include "result_ways.h"
#include "type_names.h"

/* TW_BY_ONE: shifts of results of the first and of the second filter of a pair. */
enum { TW_ONE_FIRST_SHIFT = 14, TW_ONE_SECOND_SHIFT = 10 };

/* The instruction that keeps a result within its type. */
#define TW_LIMIT_int8_t "ssat"
#define TW_LIMIT_uint8_t "usat"
#define TW_LIMIT_int16_t "ssat"
#define TW_LIMIT_uint16_t "usat"
#define TW_LIMIT_int32_t "ssat"
#define TW_LIMIT TW_JOINED(TW_LIMIT_, TW_Y)

/* Its bits, those of a positive one, and how it is stored. No way leads to results of 32 bits: what is there for them
 * only has to be instructions. */
#if TW_BYTES_OF(TW_Y) == 2
#define TW_RESULT_BITS "16"
#define TW_POSITIVE_BITS "15"
#define TW_STORE_RESULT "strh"
#define TW_RESULT_BYTES "2"
#define TW_HAS_POSITIVE 1
#else
#define TW_RESULT_BITS "8"
#define TW_POSITIVE_BITS "7"
#define TW_STORE_RESULT "strb"
#define TW_RESULT_BYTES "1"
#define TW_HAS_POSITIVE 0
#endif

#endif
