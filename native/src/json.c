#include "json.h"

#include <math.h>
#include <string.h>

#include "text.h"

struct scan {
    const char *at;
    const char *end;
};

static void skip_space(struct scan *scan) {
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r' || *scan->at == '\n'))
        scan->at++;
}

static bool take(struct scan *scan, char byte) {
    if (scan->at >= scan->end || *scan->at != byte)
        return false;
    scan->at++;
    return true;
}

static bool take_word(struct scan *scan, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
        return false;
    scan->at += length;
    return true;
}

static int hexadecimal(char byte) {
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return -1;
}

/* The four digits of an escape \uXXXX. */
static bool take_unit(struct scan *scan, uint32_t *unit) {
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = scan->at < scan->end ? hexadecimal(*scan->at) : -1;
        if (digit < 0)
            return false;
        *unit = *unit << 4 | (uint32_t)digit;
        scan->at++;
    }
    return true;
}

/* What follows a backslash, as a code point. */
static bool take_escape(struct scan *scan, uint32_t *code) {
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (scan->at >= scan->end)
        return false;
    char name = *scan->at++;
    const char *found = name == '\0' ? NULL : strchr(names, name);
    if (found != NULL) {
        *code = (unsigned char)meant[found - names];
        return true;
    }
    if (name != 'u' || !take_unit(scan, code))
        return false;
    if (*code < 0xD800 || *code > 0xDFFF)
        return true;
    uint32_t low;
    if (*code > 0xDBFF || !take_word(scan, "\\u") || !take_unit(scan, &low) || low < 0xDC00 || low > 0xDFFF)
        return false;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

/* One character of a string: its code point if escaped (then plain is 0), else its bytes at the old place. */
static bool take_character(struct scan *scan, uint32_t *code, size_t *plain) {
    *plain = 0;
    if (take(scan, '\\'))
        return take_escape(scan, code);
    if (scan->at >= scan->end || (unsigned char)*scan->at < 0x20)
        return false;
    *plain = ps_utf8(scan->at, scan->end);
    scan->at += *plain;
    return *plain > 0;
}

static bool scan_string(struct scan *scan) {
    if (!take(scan, '"'))
        return false;
    while (!take(scan, '"')) {
        uint32_t code;
        size_t plain;
        if (!take_character(scan, &code, &plain))
            return false;
    }
    return true;
}

static size_t scan_digits(struct scan *scan) {
    const char *from = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return (size_t)(scan->at - from);
}

static bool scan_number(struct scan *scan) {
    take(scan, '-');
    if (!take(scan, '0') && scan_digits(scan) == 0)
        return false;
    if (take(scan, '.') && scan_digits(scan) == 0)
        return false;
    if (take(scan, 'e') || take(scan, 'E')) {
        if (!take(scan, '+'))
            take(scan, '-');
        return scan_digits(scan) > 0;
    }
    return true;
}

static bool scan_scalar(struct scan *scan) {
    if (scan->at >= scan->end)
        return false;
    switch (*scan->at) {
    case '"':
        return scan_string(scan);
    case 't':
        return take_word(scan, "true");
    case 'f':
        return take_word(scan, "false");
    case 'n':
        return take_word(scan, "null");
    default:
        return scan_number(scan);
    }
}

static bool scan_name(struct scan *scan) {
    skip_space(scan);
    if (!scan_string(scan))
        return false;
    skip_space(scan);
    return take(scan, ':');
}

/* Go past a value; the brackets that are open are on a stack of fixed size. */
static bool scan_value(struct scan *scan) {
    char open[PS_JSON_DEPTH];
    size_t depth = 0;
    for (;;) {
        skip_space(scan);
        bool object = take(scan, '{');
        if (object || take(scan, '[')) {
            if (depth == PS_JSON_DEPTH)
                return false;
            open[depth++] = object ? '}' : ']';
            skip_space(scan);
            if (scan->at < scan->end && *scan->at != open[depth - 1]) {
                if (object && !scan_name(scan))
                    return false;
                continue; /* with its first value */
            }
        } else if (!scan_scalar(scan)) {
            return false;
        }
        for (;;) { /* after a value */
            if (depth == 0)
                return true;
            skip_space(scan);
            if (take(scan, open[depth - 1])) {
                depth--;
                continue;
            }
            if (!take(scan, ',') || (open[depth - 1] == '}' && !scan_name(scan)))
                return false;
            break;
        }
    }
}

static bool scan_member(struct scan *scan, struct ps_json_object *object) {
    if (object->count == PS_JSON_MEMBERS)
        return false;
    struct ps_json *name = &object->members[object->count].name, *value = &object->members[object->count].value;
    skip_space(scan);
    name->start = scan->at;
    if (!scan_string(scan))
        return false;
    name->end = scan->at;
    skip_space(scan);
    if (!take(scan, ':'))
        return false;
    skip_space(scan);
    value->start = scan->at;
    if (!scan_value(scan))
        return false;
    value->end = scan->at;
    object->count++;
    return true;
}

bool ps_json_object(const char *line, size_t length, struct ps_json_object *object) {
    struct scan scan = {line, line + length};
    object->count = 0;
    skip_space(&scan);
    if (!take(&scan, '{'))
        return false;
    skip_space(&scan);
    if (!take(&scan, '}')) {
        do {
            if (!scan_member(&scan, object))
                return false;
            skip_space(&scan);
        } while (take(&scan, ','));
        if (!take(&scan, '}'))
            return false;
    }
    skip_space(&scan);
    return scan.at == scan.end;
}

const struct ps_json *ps_json_member(const struct ps_json_object *object, const char *name) {
    for (size_t i = object->count; i > 0; i--) {
        char found[32];
        const struct ps_json *value = &object->members[i - 1].value;
        if (ps_json_string(&object->members[i - 1].name, found, sizeof found) && strcmp(found, name) == 0)
            return *value->start == 'n' ? NULL : value;
    }
    return NULL;
}

static void put_code_point(struct ps_text *text, uint32_t code) {
    char bytes[4];
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80U | (code & 0x3FU));
    bytes[0] = (char)(marks[length] | code);
    ps_put_bytes(text, bytes, length);
}

bool ps_json_string(const struct ps_json *value, char *out, size_t size) {
    if (value == NULL || *value->start != '"')
        return false;
    struct scan scan = {value->start + 1, value->end};
    struct ps_text text = ps_text(out, size);
    while (!take(&scan, '"')) {
        const char *from = scan.at;
        uint32_t code = 1;
        size_t plain;
        if (!take_character(&scan, &code, &plain) || code == 0)
            return false;
        if (plain > 0)
            ps_put_bytes(&text, from, plain);
        else
            put_code_point(&text, code);
    }
    return true;
}

/* number * 10^exponent, for exponents from -400 to 400. */
static long double scaled(long double number, long exponent) {
    long double power = 10.0L, factor = 1.0L;
    for (unsigned long left = (unsigned long)(exponent < 0 ? -exponent : exponent); left > 0; left >>= 1) {
        if (left & 1U)
            factor *= power;
        power *= power;
    }
    return exponent < 0 ? number / factor : number * factor;
}

/* Digits to a double without strtod, which goes by the locale. The first 19 digits count; the error is below 1e-15. */
bool ps_json_number(const struct ps_json *value, double *number) {
    if (value == NULL || !(*value->start == '-' || (*value->start >= '0' && *value->start <= '9')))
        return false;
    const char *at = value->start;
    bool negative = *at == '-';
    uint64_t digits = 0;
    long exponent = 0, written = 0;
    bool fraction = false;
    for (at += negative; at < value->end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            fraction = true;
        } else if (digits < 1000000000000000000U) {
            digits = digits * 10 + (uint64_t)(*at - '0');
            exponent -= fraction;
        } else {
            exponent += !fraction;
        }
    }
    if (at < value->end) {
        at++;
        bool down = *at == '-';
        for (at += *at == '-' || *at == '+'; at < value->end; at++)
            written = written < 100000 ? written * 10 + (*at - '0') : written;
        exponent += down ? -written : written;
    }
    long double result = (long double)digits;
    if (digits > 0)
        result = exponent < -400 ? 0.0L : exponent > 400 ? (long double)INFINITY : scaled(result, exponent);
    *number = (double)(negative ? -result : result);
    return isfinite(*number);
}

bool ps_json_count(const struct ps_json *value, uint64_t least, uint64_t *count) {
    const double most = 9007199254740992.0; /* 2^53 */
    double number;
    if (!ps_json_number(value, &number) || number < (double)least || number > most)
        return false;
    if (number == most && value->end[-1] != '2') /* 2^53 + 1 is the same double */
        return false;
    *count = (uint64_t)number;
    return (double)*count == number;
}
