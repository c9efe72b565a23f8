/* What each layer of a network takes, by a clock that is read after every one. */
#ifndef TILEWRIGHT_LAYER_TIMES_H
#define TILEWRIGHT_LAYER_TIMES_H

#include <stdio.h>

/* The probe of a network that is timed. */
void tw_time_layer(int layer, int result, const void *data, unsigned long bytes);

/* After a call that began then. Of the fastest one so far the times are kept. */
void tw_times_of_call(double begin);

/* The nanoseconds of each layer, as doubles; nothing where no network is timed. */
void tw_times_write(FILE *file);

double tw_now(void);

#endif
