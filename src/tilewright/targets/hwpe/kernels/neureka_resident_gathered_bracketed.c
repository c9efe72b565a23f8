/* Convolutions by N-EUREKA with windows that the cores gather, and with weights in the weight memory, requantised twice; the
 * cores take what is equal. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_resident_gathered_bracketed
#define TW_GATHER tw_neureka_resident_gathered_bracketed_gather
#define TW_FINISH tw_neureka_resident_gathered_bracketed_finish
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "neureka_gathered_bracketed_call.h"
