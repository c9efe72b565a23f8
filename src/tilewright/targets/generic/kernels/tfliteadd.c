/* y = requant(scaled(a) + scaled(b)), as TensorFlow Lite adds; broadcast */
#include "tfliteadd.h"

#ifndef TW_NAME
#define TW_NAME tw_tfliteadd_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "qlinear_binary.h"

static inline TW_Y add(const tw_tfliteadd_params *p, TW_A a, TW_B b) { return (TW_Y)tw_add_scaled(p, a, b); }

TW_QLINEAR_BINARY(tw_tfliteadd_params, add)
