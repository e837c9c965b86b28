/* Reads one JSON object on one line, as the protocol has them: no copy, no allocation, no recursion. */
#ifndef PS_JSON_H
#define PS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PS_JSON_MEMBERS = 64, PS_JSON_DEPTH = 64 };

/* A value where it stands in the line. */
struct ps_json {
    const char *start;
    const char *end;
};

struct ps_json_object {
    size_t count;
    struct {
        struct ps_json name;
        struct ps_json value;
    } members[PS_JSON_MEMBERS];
};

/* Whether the line is one JSON object with at most PS_JSON_MEMBERS members, nested at most PS_JSON_DEPTH deep. */
bool ps_json_object(const char *line, size_t length, struct ps_json_object *object);

/* The value of a member, the last one if there are several; NULL if there is none or it is null. */
const struct ps_json *ps_json_member(const struct ps_json_object *object, const char *name);

/* The text of a string, cut at a whole character if it does not fit. False if the value is no string, or has a NUL. */
bool ps_json_string(const struct ps_json *value, char *out, size_t size);
/* A finite number. False if the value is none. */
bool ps_json_number(const struct ps_json *value, double *number);
/* A whole number from `least` to 2^53. False if the value is none. */
bool ps_json_count(const struct ps_json *value, uint64_t least, uint64_t *count);

#endif
