// Calls the network once, with inputs of zero, and prints its result and time.
#include "network_call.h"

#ifdef ARDUINO

#include <Arduino.h>

void setup() {
  Serial.begin(115200);
  int status = app_prepare();
  const unsigned long before = micros();
  if (status == 0) status = app_run();
  const unsigned long spent = micros() - before;
  Serial.print("result");
  for (int i = 0; i < APP_SHOWN; i++) {
    Serial.print(' ');
    Serial.print(app_element(i));
  }
  Serial.println();
  Serial.println(status == 0 && app_agrees() ? "as expected" : "NOT as expected");
  Serial.print("microseconds ");
  Serial.println(spent);
}

void loop() {}

#else

#include <stdio.h>
#include <time.h>

int main(void) {
  int status = app_prepare();
  const clock_t before = clock();
  if (status == 0) status = app_run();
  const clock_t spent = clock() - before;
  printf("result");
  for (int i = 0; i < APP_SHOWN; i++) printf(" %ld", app_element(i));
  printf("\n%s\n", app_agrees() ? "as expected" : "NOT as expected");
  printf("microseconds %ld\n", (long)(1e6 * (double)spent / CLOCKS_PER_SEC));
  return status;
}

#endif
