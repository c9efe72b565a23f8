/* Calls the network once, with inputs of zero, and prints its result and time. Cycles are those of the
 * trace unit (DWT), which Cortex-M0, -M0+ and -M23 do not have; your project decides where printf writes. */
#include <stdint.h>
#include <stdio.h>

#include "network_call.h"

#define APP_REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

int main(void) {
  int status = app_prepare();
#if !defined(__ARM_ARCH_6M__) && !defined(__ARM_ARCH_8M_BASE__)
  APP_REGISTER(0xe000edfc) |= 1u << 24;   /* DEMCR: trace on */
  APP_REGISTER(0xe0001fb0) = 0xc5acce55u; /* DWT_LAR: some cores lock it */
  APP_REGISTER(0xe0001000) |= 1u;         /* DWT_CTRL: count */
  const uint32_t before = APP_REGISTER(0xe0001004);
#else
  const uint32_t before = 0;
#endif
  if (status == 0) status = app_run();
#if !defined(__ARM_ARCH_6M__) && !defined(__ARM_ARCH_8M_BASE__)
  const uint32_t spent = APP_REGISTER(0xe0001004) - before;
#else
  const uint32_t spent = before;
#endif
  printf("result");
  for (int i = 0; i < APP_SHOWN; i++) printf(" %ld", app_element(i));
  printf("\n%s\n", app_agrees() ? "as expected" : "NOT as expected");
  printf("cycles %lu\n", (unsigned long)spent);
  return status;
}
