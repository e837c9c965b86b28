#include "text.h"

#include <string.h>

struct ps_text ps_text(char *buffer, size_t size) {
    struct ps_text text = {buffer, 0, size, false};
    if (size > 0)
        buffer[0] = '\0';
    return text;
}

void ps_put_bytes(struct ps_text *text, const char *what, size_t length) {
    if (text->full || length >= text->size - text->length) {
        text->full = true;
        return;
    }
    memcpy(text->start + text->length, what, length);
    text->length += length;
    text->start[text->length] = '\0';
}

void ps_put(struct ps_text *text, const char *what) { ps_put_bytes(text, what, strlen(what)); }

void ps_put_count(struct ps_text *text, uint64_t count) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    ps_put_bytes(text, digits + at, sizeof digits - at);
}

void ps_put_number(struct ps_text *text, double number) {
    if (!(number > 0.0))
        number = 0.0;
    if (number > 1e18)
        number = 1e18;
    uint64_t whole = (uint64_t)number;
    uint64_t millionths = (uint64_t)((number - (double)whole) * 1e6 + 0.5);
    if (millionths >= 1000000) {
        whole++;
        millionths = 0;
    }
    ps_put_count(text, whole);
    if (millionths == 0)
        return;
    char decimals[7] = ".000000";
    size_t used = 0;
    for (size_t at = 6; at > 0; at--, millionths /= 10) {
        decimals[at] = (char)('0' + millionths % 10);
        if (used == 0 && millionths % 10 != 0)
            used = at + 1;
    }
    ps_put_bytes(text, decimals, used);
}

void ps_put_json(struct ps_text *text, const char *what) {
    static const char hexadecimal[] = "0123456789abcdef";
    ps_put(text, "\"");
    for (const char *at = what; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\') {
            char escaped[2] = {'\\', *at};
            ps_put_bytes(text, escaped, 2);
        } else if (byte < 0x20) {
            char escaped[6] = {'\\', 'u', '0', '0', hexadecimal[byte >> 4], hexadecimal[byte & 15]};
            ps_put_bytes(text, escaped, 6);
        } else {
            ps_put_bytes(text, at, 1);
        }
    }
    ps_put(text, "\"");
}

static bool continues(char byte) { return ((unsigned char)byte & 0xC0U) == 0x80U; }

size_t ps_utf8(const char *at, const char *end) {
    if (at >= end)
        return 0;
    unsigned char first = (unsigned char)*at;
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || (size_t)(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!continues(at[i]))
            return 0;
    unsigned char second = (unsigned char)at[1];
    bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F); /* surrogates, U+110000 */
    return overlong || beyond ? 0 : length;
}

size_t ps_characters(const char *text) {
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += !continues(*text);
    return count;
}

static uint32_t code_point(const char *at, size_t length) {
    static const uint32_t masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = (unsigned char)at[0] & masks[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3FU);
    return code;
}

/* Controls, spaces other than the plain one, formatting and private characters, which coordinators refuse in names. */
static bool is_printable(uint32_t code) {
    static const uint32_t refused[][2] = {{0, 0x1F},         {0x7F, 0xA0},     {0xAD, 0xAD},         {0x600, 0x605},
                                          {0x61C, 0x61C},    {0x1680, 0x1680}, {0x180E, 0x180E},     {0x2000, 0x200F},
                                          {0x2028, 0x202F},  {0x205F, 0x206F}, {0x3000, 0x3000},     {0xD800, 0xF8FF},
                                          {0xFEFF, 0xFEFF},  {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF},     {0x1FFFE, 0x1FFFF},
                                          {0x3FFFE, 0x10FFFF}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (code >= refused[i][0] && code <= refused[i][1])
            return false;
    return true;
}

void ps_printable(char *out, size_t size, const char *text, size_t most) {
    const char *end = text + strlen(text);
    struct ps_text copy = ps_text(out, size);
    for (size_t count = 0; text < end && count < most; count++) {
        size_t length = ps_utf8(text, end);
        if (length > 0 && is_printable(code_point(text, length)))
            ps_put_bytes(&copy, text, length);
        else
            ps_put(&copy, "?");
        text += length > 0 ? length : 1;
    }
}

void ps_one_line(char *out, size_t size, const char *text) {
    char plain[808];
    struct ps_text copy = ps_text(plain, sizeof plain);
    bool gap = false;
    for (; *text != '\0'; text++) {
        bool space = *text == ' ' || (*text >= '\t' && *text <= '\r');
        if (!space) {
            if (gap && copy.length > 0)
                ps_put(&copy, " ");
            ps_put_bytes(&copy, text, 1);
        }
        gap = space;
    }
    ps_printable(out, size, plain, 200);
}
