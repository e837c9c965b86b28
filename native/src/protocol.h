/* The messages of a client and its coordinator, version 2, as lines of JSON. docs/protocol.md describes them. */
#ifndef PS_PROTOCOL_H
#define PS_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PS_PROTOCOL_VERSION = 2,
    PS_MESSAGE_BYTES = 16384, /* the longest line, with its newline */
    PS_NAME_CHARACTERS = 200,
    PS_NAME_BYTES = 4 * PS_NAME_CHARACTERS + 1,
    PS_SECRET_BYTES = 4 * 512 + 1,
    PS_POLICY_BYTES = 64,
    PS_TEXT_BYTES = 4 * 200 + 1
};

#define PS_MOST_COUNT ((uint64_t)1 << 53)
#define PS_MOST_ROUNDS ((uint64_t)1000000000)

/* What an application says about itself when it registers. Not known: NaN. */
struct ps_identity {
    char job[PS_NAME_BYTES];
    char user[PS_NAME_BYTES];
    char token[PS_SECRET_BYTES];
    uint64_t nodes;
    double bandwidth;
    double elapsed; /* seconds that it had run when this was made */
    double lead;
    double whole;
};

enum ps_request_kind {
    PS_REGISTER,
    PS_JOIN,
    PS_INFORM,
    PS_REPORT,
    PS_YIELDED,
    PS_RELEASE,
    PS_LEAVE,
    PS_BEAT
};

struct ps_request {
    enum ps_request_kind kind;
    uint64_t seq;
    uint64_t operation;
    uint64_t volume;
    uint64_t rounds;
    uint64_t moved;
    uint64_t follows; /* inform: bytes of the same phase that come after the operation */
    uint64_t grant;
    uint64_t application;
    double passed;                      /* register: seconds since the identity was made */
    const struct ps_identity *identity; /* register and join */
    const char *key;                    /* join */
};

/* Write the message as one line; returns its length, 0 if it does not fit. */
size_t ps_encode(const struct ps_request *request, char *line, size_t size);

enum ps_reply_kind {
    PS_REGISTERED,
    PS_GRANT,
    PS_LEFT,
    PS_FORGOTTEN,
    PS_WARNED,
    PS_ERROR,
    PS_BEATEN,
    PS_OTHER /* a message that this client does not ask for, or does not know */
};

/* Codes of errors that a client treats in its own way. */
enum ps_code { PS_CODE_OTHER, PS_CODE_VERSION, PS_CODE_DENIED, PS_CODE_TOO_MANY, PS_CODE_INVALID, PS_CODE_UNKNOWN };

struct ps_reply {
    enum ps_reply_kind kind;
    enum ps_code code;
    uint64_t seq;
    uint64_t application;
    uint64_t operation;
    uint64_t number;
    double lease;
    double rate;
    double longest_round; /* NaN: no limit */
    char key[PS_SECRET_BYTES];
    char policy[PS_POLICY_BYTES];
    char text[PS_TEXT_BYTES]; /* for people: reason of forgotten, text of warned, "code: text" of an error */
};

/* Read a message of the coordinator; false if the line is none. Members that are not known are ignored. */
bool ps_decode(const char *line, size_t length, struct ps_reply *reply);

#endif
