/* y[i] = FUNCTION(x[i]) for the part of a core: four at a time, loaded before any of them is stored, because a load's
 * result is not there at once. For short functions; long ones fill the instruction cache. */
#ifndef TW_FOUR_ELEMENTS_H
#define TW_FOUR_ELEMENTS_H

#define TW_FOUR_ELEMENTS(FUNCTION, x, y, share)                                                      \
  do {                                                                                               \
    int32_t i = (share).first;                                                                       \
    for (; i + 4 <= (share).end; i += 4) {                                                           \
      const TW_X x0 = (x)[i], x1 = (x)[i + 1], x2 = (x)[i + 2], x3 = (x)[i + 3];                     \
      (y)[i] = FUNCTION(x0), (y)[i + 1] = FUNCTION(x1), (y)[i + 2] = FUNCTION(x2), (y)[i + 3] = FUNCTION(x3); \
    }                                                                                                \
    for (; i < (share).end; i++) (y)[i] = FUNCTION((x)[i]);                                          \
  } while (0)

#endif
