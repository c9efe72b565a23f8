/* Memory of a device whose power fails: writes after so many bytes do nothing. */
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "line.h"

long cut_after = -1;
static jmp_buf power_fails;

int cut_write(unsigned char *to, const unsigned char *from, uint32_t bytes);
int cut_write(unsigned char *to, const unsigned char *from, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i++) {
    if (cut_after == 0) longjmp(power_fails, 1);
    if (cut_after > 0) cut_after--;
    to[i] = from[i];
  }
  return 0;
}

/* Returns 9 if the power failed. */
int cut_save(void *buffer);
int cut_save(void *buffer) { return setjmp(power_fails) ? 9 : line_save(buffer); }
