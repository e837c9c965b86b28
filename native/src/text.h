/* Text in memory of a fixed size: no allocation, no locale, always valid UTF-8. */
#ifndef PS_TEXT_H
#define PS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends to a buffer. What does not fit is left out and `full` set; the text always ends with a NUL. */
struct ps_text {
    char *start;
    size_t length;
    size_t size;
    bool full;
};

struct ps_text ps_text(char *buffer, size_t size);
void ps_put(struct ps_text *text, const char *what);
void ps_put_bytes(struct ps_text *text, const char *what, size_t length);
void ps_put_count(struct ps_text *text, uint64_t count);
/* A number from 0 to 1e18, to six decimals. */
void ps_put_number(struct ps_text *text, double number);
/* As a JSON string with its quotes. */
void ps_put_json(struct ps_text *text, const char *what);

/* Bytes of the valid character at `at`, 1 to 4; 0 if there is none. */
size_t ps_utf8(const char *at, const char *end);
/* Characters of a text of valid UTF-8. */
size_t ps_characters(const char *text);
/* Copy with a question mark for what is not valid or not printable, at most `most` characters from its start. */
void ps_printable(char *out, size_t size, const char *text, size_t most);
/* Copy for people: one line, printable, at most 200 characters. */
void ps_one_line(char *out, size_t size, const char *text);

#endif
