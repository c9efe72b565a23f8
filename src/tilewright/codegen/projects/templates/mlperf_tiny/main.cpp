// The benchmark's loop: characters from the runner, one after the other.
#include "model.h"

#include "api/internally_implemented.h"
#include "api/submitter_implemented.h"

int main(void) {
  ee_benchmark_initialize();
  for (;;) ee_serial_callback(th_getchar());
}
