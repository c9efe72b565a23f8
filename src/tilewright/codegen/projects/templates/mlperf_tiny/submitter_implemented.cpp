// The functions that MLPerf Tiny's runner asks a submitter for. api/ is the benchmark's own folder, of the same name.
#include "model.h"

#include "api/submitter_implemented.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internally_implemented.h"
#include "board.h"
#include "network_call.h"

static const size_t LONGEST_TEXT = 256;

#if APP_SENT == FLOATS
static float sent[APP_INPUT_ELEMENTS];
#endif

void th_load_tensor() {
#if APP_SENT == FLOATS && !APP_INPUT_IS_FLOAT
  ee_get_buffer((uint8_t *)sent, sizeof sent);
  for (int i = 0; i < APP_INPUT_ELEMENTS; i++) {
    const float scaled = sent[i] / APP_INPUT_SCALE;
    const long rounded = (long)(scaled < 0.0f ? scaled - 0.5f : scaled + 0.5f) + APP_INPUT_ZERO;
    app_input_0[i] = (int8_t)(rounded < -128 ? -128 : rounded > 127 ? 127 : rounded);
  }
#else
  ee_get_buffer((uint8_t *)app_input_0, sizeof app_input_0);
#if APP_SENT == PIXELS && !APP_INPUT_IS_FLOAT
  for (int i = 0; i < APP_INPUT_ELEMENTS; i++) app_input_0[i] = (int8_t)((uint8_t)app_input_0[i] - 128);
#endif
#endif
}

void th_infer() { app_run(); }

static float output_at(int i) {
#if APP_OUTPUT_IS_FLOAT
  return app_output_0[i];
#else
  return (float)(app_output_0[i] - APP_OUTPUT_ZERO) * APP_OUTPUT_SCALE;
#endif
}

// Three digits, by integers: not every printf has floats.
static void print_number(float value) {
  const long thousandths = (long)(value * 1000.0f + (value < 0.0f ? -0.5f : 0.5f));
  const long digits = thousandths < 0 ? -thousandths : thousandths;
  th_printf("%s%ld.%03ld", thousandths < 0 ? "-" : "", digits / 1000, digits % 1000);
}

#if APP_RESULT_IS_ERROR

static float input_at(int i) {
#if APP_INPUT_IS_FLOAT
  return app_input_0[i];
#else
  return (float)(app_input_0[i] - APP_INPUT_ZERO) * APP_INPUT_SCALE;
#endif
}

void th_results() {
  float sum = 0.0f;
  for (int i = 0; i < APP_OUTPUT_ELEMENTS; i++) {
    const float difference = output_at(i) - input_at(i);
    sum += difference * difference;
  }
  th_printf("m-results-[");
  print_number(sum / APP_OUTPUT_ELEMENTS);
  th_printf("]\r\n");
}

#else

void th_results() {
  th_printf("m-results-[");
  for (int i = 0; i < APP_OUTPUT_ELEMENTS; i++) {
    if (i > 0) th_printf(",");
    print_number(output_at(i));
  }
  th_printf("]\r\n");
}

#endif

void th_timestamp(void) {
#if EE_CFG_ENERGY_MODE == 1
  board_timestamp_pin(0);
  const unsigned long start = board_microseconds();
  while (board_microseconds() - start < 2) {
  }
  board_timestamp_pin(1);
#else
  th_printf(EE_MSG_TIMESTAMP, board_microseconds());
#endif
}

void th_printf(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  th_vprintf(format, arguments);
  va_end(arguments);
}

int th_vprintf(const char *format, va_list arguments) {
  char text[LONGEST_TEXT];
  const int length = vsnprintf(text, sizeof text, format, arguments);
  for (const char *at = text; *at; at++) board_write(*at);
  return length;
}

char th_getchar() { return board_read(); }

void th_serialport_initialize(void) { board_initialise(); }

void th_timestamp_initialize(void) {
  th_printf(EE_MSG_TIMESTAMP_MODE);
  th_timestamp();
}

void th_final_initialize(void) { app_prepare(); }

void th_pre() {}

void th_post() {}

void th_command_ready(char volatile *command) { ee_serial_command_parser_callback((char *)command); }

int th_strncmp(const char *a, const char *b, size_t n) { return strncmp(a, b, n); }

char *th_strncpy(char *to, const char *from, size_t n) { return strncpy(to, from, n); }

size_t th_strnlen(const char *text, size_t most) {
  size_t length = 0;
  while (length < most && text[length]) length++;
  return length;
}

char *th_strcat(char *to, const char *from) { return strcat(to, from); }

char *th_strtok(char *text, const char *separators) { return strtok(text, separators); }

int th_atoi(const char *text) { return atoi(text); }

void *th_memset(void *to, int value, size_t n) { return memset(to, value, n); }

void *th_memcpy(void *to, const void *from, size_t n) { return memcpy(to, from, n); }
