/* Names of the short ways from totals to results. */
#ifndef TW_RESULT_WAYS_H
#define TW_RESULT_WAYS_H

/* How totals become results: TW_BY_TOTALS leaves them in memory as they are. */
enum { TW_BY_TOTALS, TW_BY_UP, TW_BY_TWICE, TW_BY_HIGH, TW_BY_LOW, TW_BY_ONE, TW_BY_POSITIVE, TW_BY_LEFT };

/* Of windows of 3 x 3: filters have shifts of their own, or the same, or are rounded twice. */
enum { TW_WINDOWS_OWN, TW_WINDOWS_SAME, TW_WINDOWS_TWICE };

#endif
