/* Reads a request and a text from standard input and writes, for the prompt and then for every token, a record: a
 * number (tokens of the prompt, or the token), nanoseconds, bytes of text, and the text. A number below 0 is the last. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>

#include "calls.h"
#include "talk.h"

static char text[TW_LM_TEXT_BYTES];

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void tell(int32_t number, int64_t since, int32_t bytes) {
  const int64_t head[3] = {number, now() - since, bytes};
  fwrite(head, sizeof *head, 3, stdout);
  fwrite(tw_piece, 1, (size_t)bytes, stdout);
  fflush(stdout);
}

int main(void) {
  tw_request request;
  if (fread(&request, sizeof request, 1, stdin) != 1) return 1;
  if (request.text_bytes < 0 || request.text_bytes > TW_LM_TEXT_BYTES) return 1;
  if (fread(text, 1, (size_t)request.text_bytes, stdin) != (size_t)request.text_bytes) return 1;
  int64_t start = now();
  const int32_t count = tw_talk_begin(&request, text);
  tell(count, start, 0);
  for (int32_t token = 0; count >= 0 && token >= 0;) {
    start = now();
    token = tw_talk_next(&request);
    tell(token, start, token < 0 ? 0 : tw_piece_bytes);
  }
  return 0;
}
