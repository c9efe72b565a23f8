/* Which model of the benchmark it is, and how numbers go in and out. */
#ifndef APP_MODEL_H
#define APP_MODEL_H

#ifndef TH_MODEL_VERSION
@define@
#endif

/* What the runner sends: elements as they are, pixels from 0 to 255, or float32. */
#define AS_THEY_ARE 0
#define PIXELS 1
#define FLOATS 2
#ifndef APP_SENT
#define APP_SENT @form@
#endif

/* Whether the result is the mean squared difference of output and input, and not the output. */
#define APP_RESULT_IS_ERROR @error@

#define APP_INPUT_ELEMENTS @inputs@
#define APP_OUTPUT_ELEMENTS @outputs@
#define APP_INPUT_IS_FLOAT @input_float@
#define APP_OUTPUT_IS_FLOAT @output_float@

/* number = (integer - zero) * scale */
#define APP_INPUT_SCALE @input_scale@
#define APP_INPUT_ZERO @input_zero@
#define APP_OUTPUT_SCALE @output_scale@
#define APP_OUTPUT_ZERO @output_zero@

#define APP_BOARD_MHZ @clock@

#endif
