/* Calls the network once, with inputs of zero, and prints its result and time. */
#include <stdint.h>
#include <stdio.h>

#include "esp_timer.h"

#include "network_call.h"

void app_main(void);

void app_main(void) {
  int status = app_prepare();
  const int64_t before = esp_timer_get_time();
  if (status == 0) status = app_run();
  const int64_t spent = esp_timer_get_time() - before;
  printf("result");
  for (int i = 0; i < APP_SHOWN; i++) printf(" %ld", app_element(i));
  printf("\n%s\n", status == 0 && app_agrees() ? "as expected" : "NOT as expected");
  printf("microseconds %ld\n", (long)spent);
}
