/* Rotation of pairs of elements: the other of the first of a pair is the second, negated; that of the second is the
 * first. */
#ifndef TW_GPU_TURN_H
#define TW_GPU_TURN_H

#ifndef TW_COSINE_LOAD
#define TW_COSINE_LOAD(element) (element)
#endif
#ifndef TW_SINE_LOAD
#define TW_SINE_LOAD(element) (element)
#endif

/* Where the other of an element is from it, along a row of some length. */
static inline int32_t tw_other(int32_t at, int32_t length, int32_t interleaved) {
  const int32_t apart = interleaved ? 1 : length / 2;
  return at / apart % 2 ? -apart : apart;
}

/* An element and its other, which is so much away. */
static inline float tw_turned(float x, float other, int32_t away, float cosine, float sine) {
  return x * cosine + (away > 0 ? -other : other) * sine;
}

#endif
