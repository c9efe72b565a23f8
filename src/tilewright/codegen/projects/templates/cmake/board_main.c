/* Calls the network once, with inputs of zero, and prints its result and time. */
#include "../network/runtime/console.h"
#include "cycles.h"
#include "network_call.h"

/* Prints through a debugger or an emulator (semihosting). On a board of your own, send the text to a serial port:
 * without a debugger, semihosting stops the core. */
static void print(const char *text) { tw_print(text); }

static void print_number(long value) {
  char digits[12];
  int at = 11;
  unsigned long rest = value < 0 ? 0ul - (unsigned long)value : (unsigned long)value;
  digits[at] = 0;
  do {
    digits[--at] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  if (value < 0) print("-");
  print(digits + at);
}

int main(void) {
  int status = app_prepare();
  cycles_start();
  const uint32_t before = cycles_now();
  if (status == 0) status = app_run();
  const uint32_t spent = cycles_between(before, cycles_now());
  print("result");
  for (int i = 0; i < APP_SHOWN; i++) {
    print(" ");
    print_number(app_element(i));
  }
  print(app_agrees() ? "\nas expected\n" : "\nNOT as expected\n");
  print("cycles ");
  print_number((long)spent);
  print(spent == 0 ? " (cycle counter unavailable)\n" : "\nmicroseconds ");
  if (spent != 0) {
    print_number((long)((float)spent / (float)APP_CLOCK_MHZ));
    print("\n");
  }
  return status;
}
