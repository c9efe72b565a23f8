/* Calls the network once, with inputs of zero, and prints its result and time. */
#include <stdio.h>

#include "pico/stdlib.h"

#include "network_call.h"

#define UNTIL_SOMEBODY_LISTENS 3000 /* milliseconds */

int main(void) {
  stdio_init_all();
  sleep_ms(UNTIL_SOMEBODY_LISTENS);
  int status = app_prepare();
  const uint64_t before = time_us_64();
  if (status == 0) status = app_run();
  const uint64_t spent = time_us_64() - before;
  printf("result");
  for (int i = 0; i < APP_SHOWN; i++) printf(" %ld", app_element(i));
  printf("\n%s\n", status == 0 && app_agrees() ? "as expected" : "NOT as expected");
  printf("microseconds %lu\n", (unsigned long)spent);
  return status;
}
