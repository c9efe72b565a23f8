/* Calls the network once, with inputs of zero, and prints its result and time. */
#include <@header@>

void setup() {
  Serial.begin(115200);
  while (!Serial && millis() < 5000) {
  }
  int status = @app@_prepare();
  const unsigned long before = micros();
  if (status == 0) status = @app@_run();
  const unsigned long spent = micros() - before;
  Serial.print("result");
  for (int i = 0; i < @prefix@_SHOWN; i++) {
    Serial.print(' ');
    Serial.print(@app@_element(i));
  }
  Serial.println();
  Serial.println(status == 0 && @app@_agrees() ? "as expected" : "NOT as expected");
  Serial.print("microseconds ");
  Serial.println(spent);
}

void loop() {}
