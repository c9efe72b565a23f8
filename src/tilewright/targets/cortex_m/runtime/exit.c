/* The end of a program. */
#include "console.h"

void tw_exit(int code);
void tw_exit(int code) {
  const uint32_t reason[2] = {TW_APPLICATION_EXIT, (uint32_t)code};
  tw_semihosting(TW_SEMIHOSTING_EXIT, reason);
  for (;;) {
  }
}
