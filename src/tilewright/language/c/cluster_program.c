/* Reads a text that lies in the program and prints how it goes on. Whoever watches the program puts the request and the
 * text in place before it starts, and finds every token, its text and its cycles where tw_token_done() is called. */
#include "kernels/platform.h"
#include "program_prepare.h"
#include "talk.h"

#define STDOUT (*(volatile uint32_t *)TW_STDOUT)

static TW_LM_FUNCTION(context) context;
tw_request tw_asked;
char tw_text[TW_LM_TEXT_BYTES];
int32_t tw_token, tw_prompt_tokens;
uint32_t tw_cycles;

static uint32_t cycles(void) {
  uint32_t value;
  __asm__ volatile("csrr %0, mcycle" : "=r"(value)::"memory");
  return value;
}

static void print_piece(void) {
  for (int32_t i = 0; i < tw_piece_bytes; i++) STDOUT = (uint8_t)tw_piece[i];
}

__attribute__((noinline)) void tw_prompt_done(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void tw_token_done(void) { __asm__ volatile("" ::: "memory"); }

static int32_t next_token(void) {
  const uint32_t start = cycles();
  tw_token = tw_talk_next(&context, &tw_asked);
  tw_cycles = cycles() - start;
  return tw_token;
}

int main(void) {
  program_prepare();
  const uint32_t start = cycles();
  tw_prompt_tokens = tw_talk_begin(&context, &tw_asked, tw_text);
  tw_cycles = cycles() - start;
  tw_prompt_done();
  while (tw_prompt_tokens >= 0 && next_token() >= 0) {
    print_piece();
    tw_token_done();
  }
  tw_token_done();
  return tw_prompt_tokens < 0 || tw_token != TW_TALK_END;
}
