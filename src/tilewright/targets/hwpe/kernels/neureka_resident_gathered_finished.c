/* Convolutions by N-EUREKA with windows that the cores gather, and with weights in the weight memory; the cores finish the
 * results. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_resident_gathered_finished
#define TW_GATHER tw_neureka_resident_gathered_finished_gather
#define TW_FINISH tw_neureka_resident_gathered_finished_finish
#define TW_X int8_t
#define TW_SCALE int32_t
#define TW_Y int8_t
#endif

#include "neureka_gathered_finished_call.h"
