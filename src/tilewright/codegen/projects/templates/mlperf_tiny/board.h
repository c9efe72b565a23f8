/* The five functions that the benchmark needs from a board; board.c defines weak ones. */
#ifndef APP_BOARD_H
#define APP_BOARD_H

#ifdef __cplusplus
extern "C" {
#endif

void board_initialise(void);
void board_write(char c);             /* to the serial port: 115200 baud, 9600 in energy mode */
char board_read(void);                /* waits for a character */
unsigned long board_microseconds(void);
void board_timestamp_pin(int level);  /* energy mode: an open-drain pin */

#ifdef __cplusplus
}
#endif

#endif
