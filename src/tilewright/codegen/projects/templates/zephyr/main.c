/* Calls the network once, with inputs of zero, and prints its result and time. */
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "network_call.h"

int main(void) {
  int status = app_prepare();
  const uint32_t before = k_cycle_get_32();
  if (status == 0) status = app_run();
  const uint32_t spent = k_cycle_get_32() - before;
  printk("result");
  for (int i = 0; i < APP_SHOWN; i++) printk(" %ld", app_element(i));
  printk("\n%s\n", app_agrees() ? "as expected" : "NOT as expected");
  printk("microseconds %u\n", (unsigned int)k_cyc_to_us_floor32(spent));
  return status;
}
