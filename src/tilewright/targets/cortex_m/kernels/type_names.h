/* What the preprocessor has to know of types by their names. */
#ifndef TW_TYPE_NAMES_H
#define TW_TYPE_NAMES_H

#define TW_JOINED_(a, b) a##b
#define TW_JOINED(a, b) TW_JOINED_(a, b)
#define TW_TEXT_(a) #a
#define TW_TEXT(a) TW_TEXT_(a)

#define TW_BYTES_int8_t 1
#define TW_BYTES_uint8_t 1
#define TW_BYTES_int16_t 2
#define TW_BYTES_uint16_t 2
#define TW_BYTES_int32_t 4
#define TW_BYTES_OF(type) TW_JOINED(TW_BYTES_, type)

#endif
