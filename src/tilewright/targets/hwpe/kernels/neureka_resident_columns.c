/* One row times a matrix by N-EUREKA, several columns in a filter, with weights in the weight memory; the cores finish the results. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_resident_columns
#define TW_FINISH tw_neureka_resident_columns_finish
#define TW_X int8_t
#define TW_SCALE int32_t
#define TW_Y int8_t
#endif

#include "neureka_columns_call.h"
