/* y[i, c] = requant(x[indices[i], c] * columns[c] * rows[indices[i]]) with x and rows in the weight memory, of which only
 * what is looked up is read; all cores together */
#ifndef TW_NAME
#define TW_NAME tw_qlineargather_resident_i8_i32
#define TW_X int8_t
#define TW_INDICES int32_t
#define TW_Y int16_t
#endif

#include "qlineargather_rows.h"
