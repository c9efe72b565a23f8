/* Calls the network once, with inputs of zero, and prints its result and time. */
#include <stdio.h>
#include <time.h>

#include "network_call.h"

int main(void) {
  int status = app_prepare();
  const clock_t before = clock();
  if (status == 0) status = app_run();
  const clock_t spent = clock() - before;
  printf("result");
  for (int i = 0; i < APP_SHOWN; i++) printf(" %ld", app_element(i));
  printf("\n%s\n", app_agrees() ? "as expected" : "NOT as expected");
  printf("microseconds %ld\n", (long)((double)spent * 1e6 / CLOCKS_PER_SEC));
  return status;
}
