/* Characters of bytes and bytes of characters. What is not UTF-8 is kept, byte by byte. */
#include "tokenizer_parts.h"

static int is_continuation(const uint8_t *text, size_t left, size_t at) {
    return at < left && (text[at] & 0xC0u) == 0x80u;
}

static size_t length_of(uint8_t lead) {
    if (lead >= 0xC2u && lead < 0xE0u) return 2;
    if (lead >= 0xE0u && lead < 0xF0u) return 3;
    return lead >= 0xF0u && lead < 0xF5u ? 4 : 1;
}

static int is_character(uint32_t code, size_t bytes) {
    static const uint32_t lowest[5] = {0, 0, 0x80, 0x800, 0x10000};
    return code >= lowest[bytes] && code <= 0x10FFFFu && (code & 0x1FF800u) != 0xD800u;
}

uint32_t tw_utf8_character(const uint8_t *text, size_t left, size_t *bytes) {
    *bytes = 1;
    if (text[0] < 0x80u) return text[0];
    size_t length = length_of(text[0]);
    uint32_t code = text[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (!is_continuation(text, left, i)) return TW_RAW_BYTE + text[0];
        code = code << 6 | (text[i] & 0x3Fu);
    }
    if (length == 1 || !is_character(code, length)) return TW_RAW_BYTE + text[0];
    *bytes = length;
    return code;
}

int32_t tw_utf8_bytes(uint32_t code, uint8_t bytes[4]) {
    if (code < 0x80u || (code & ~0xFFu) == TW_RAW_BYTE) {
        bytes[0] = (uint8_t)code;
        return 1;
    }
    int32_t length = code < 0x800u ? 2 : code < 0x10000u ? 3 : 4;
    for (int32_t i = length - 1; i > 0; i--, code >>= 6) bytes[i] = (uint8_t)(0x80u | (code & 0x3Fu));
    bytes[0] = (uint8_t)(code | (0xF00u >> length & 0xFFu));
    return length;
}

size_t tw_tokenizer_invalid_byte(const char *text, size_t length) {
    size_t bytes = 0;
    for (size_t at = 0; at < length; at += bytes) {
        uint32_t code = tw_utf8_character((const uint8_t *)text + at, length - at, &bytes);
        if ((code & ~0xFFu) == TW_RAW_BYTE) return at;
    }
    return length;
}
