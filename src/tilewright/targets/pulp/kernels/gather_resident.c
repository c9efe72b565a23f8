/* y[o, i, :] = x[o, indices[i], :] with x in the weight memory, of which only those rows are read; all cores together */
#ifndef TW_NAME
#define TW_NAME tw_gather_resident_i8_i64
#define TW_X int8_t
#define TW_INDICES int64_t
#define TW_Y int8_t
#endif

#include "gather_rows.h"
