/* Networks as the harness sees them: what they read, write and need, and how they are called. */
#ifndef TILEWRIGHT_HARNESS_H
#define TILEWRIGHT_HARNESS_H

/* What a shared library shows. */
#if defined(__GNUC__) && !defined(_WIN32)
#define TW_SEEN __attribute__((visibility("default")))
#else
#define TW_SEEN
#endif

typedef struct {
  int inputs, outputs;
  const unsigned long *input_bytes, *output_bytes;
  unsigned long arena_bytes;
  int (*call)(void **inputs, void **outputs, void *arena);
  int (*reset)(void *arena);  /* NULL where nothing is kept between calls */
  int (*start_threads)(void); /* NULL where one thread computes all */
  void (*stop_threads)(void);
  const char *(*gpu_error)(void); /* NULL where no GPU is used */
  double (*gpu_microseconds)(int repeats);
  void (*gpu_free)(void *arena);
  void *(*gpu_allocate)(unsigned long bytes);
  void (*gpu_release)(void *memory);
  int (*gpu_after)(void *stream);
  int (*gpu_copy)(void *to, const void *from, unsigned long bytes);
  int sizes; /* of dimensions that a call says; then the bytes above are the most */
  void (*bytes_at)(const int *sizes, unsigned long *input_bytes, unsigned long *output_bytes);
  int (*sized_call)(void **inputs, void **outputs, const int *sizes, void *arena);
} tw_harness_network;

extern const tw_harness_network *const tw_networks[];
extern const int tw_network_count;

#endif
