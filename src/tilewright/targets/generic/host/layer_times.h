/* What each layer of a network takes, by a clock that is read after every one. */
#ifndef TILEWRIGHT_LAYER_TIMES_H
#define TILEWRIGHT_LAYER_TIMES_H

#include <stdio.h>

/* The probe of a network that is timed. */
void tw_time_layer(int layer, int result, const void *data, unsigned long bytes);

/* The same where something else than the clock knows how long a layer took: nanoseconds, negative where nothing does. */
void tw_time_layer_of(int layer, double nanoseconds);

/* After a call that began then. Of the fastest one so far the times are kept. */
void tw_times_of_call(double begin);

/* The nanoseconds of each layer, as doubles; nothing where no network is timed. */
void tw_times_write(FILE *file);

double tw_now(void);

#endif
