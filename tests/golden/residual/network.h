/* small: 7 layers, 1124 bytes of constants. */
#ifndef RESIDUAL_NETWORK_H
#define RESIDUAL_NETWORK_H

#include <stdint.h>

/* Working memory that the caller provides; nothing else is allocated. */
#define RESIDUAL_ARENA_BYTES 8032
#define RESIDUAL_ARENA_ALIGNMENT 16

#define RESIDUAL_IMAGE_ELEMENTS 192
#define RESIDUAL_SCORES_ELEMENTS 5

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the network once. Returns 0, or 1 if the arena is not aligned.
 * inputs
 *   image: float32 [1 x 3 x 8 x 8], 'image'
 * outputs
 *   scores: float32 [1 x 5], 'scores'
 * Inputs are only read; outputs must not overlap inputs or the arena.
 */
int residual_run(const float *image, float *scores, void *arena_memory);

#ifdef __cplusplus
}
#endif

#endif
