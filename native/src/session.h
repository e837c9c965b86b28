/* One application as its client sees it: replies in, requests out, and the rate that it may use now.
 *
 * A session has no socket, no clock and no thread, and allocates nothing: its holder tells it what happened and when
 * (seconds, never going back) and asks it what to send. A grant above 0 takes effect at once. A pause takes effect
 * between two rounds: the current round goes on at the rate it had. A lower grant is acknowledged once, when it has
 * taken effect. When the coordinator is lost, the client keeps its rate until its patience ends (outage.h). A pause
 * from a live coordinator has no limit.
 */
#ifndef PS_SESSION_H
#define PS_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "outage.h"
#include "pacing.h"
#include "protocol.h"

enum { PS_OUTBOX = 64, PS_QUESTIONS = 8 };

/* The requests to send on one connection, and those that may be refused. */
struct ps_outbox {
    struct ps_request waiting[PS_OUTBOX];
    size_t first;
    size_t count;
    uint64_t seq;
    struct ps_question {
        uint64_t seq; /* 0: none */
        enum ps_request_kind kind;
        uint64_t operation;
    } questions[PS_QUESTIONS];
    size_t next_question;
};

struct ps_session {
    struct ps_identity identity;
    bool disabled;
    bool connected;
    bool ever_connected;
    bool registered;
    bool leaving;
    bool left;
    bool hang_up;         /* the connection must be closed */
    double hang_up_wait;  /* then: the seconds to wait, at least, before the next one */
    bool operating;       /* there is an operation */
    bool known;           /* it has a number at the coordinator */
    uint64_t application; /* that number */
    uint64_t changes;     /* counts what may have changed the rate */
    struct ps_operation operation;
    struct ps_notices notices;
    char policy[PS_POLICY_BYTES];
    char key[PS_SECRET_BYTES];
    struct ps_outage outage;
    struct ps_outbox outbox;
    double born;
    double last_heard;
    double last_warned;
    double beats; /* seconds between two signs of life without an operation */
    double last_beat;
    double longest_round; /* seconds that a round may take at the granted rate; infinite: no limit */
    uint64_t operations;
    uint64_t joined_with; /* the operation that the last join told of */
    bool must_release;    /* that operation has ended before the answer to the join: `release` follows it */
    struct ps_request release;
    uint64_t grant;
};

/* `where` is the address of the coordinator, for messages to people. The identity is copied. */
void ps_session_init(struct ps_session *session, const struct ps_identity *identity, double patience,
                     const char *where, double now);

/* Bytes/s that the operation may use now: 0 means wait, infinite means uncoordinated. */
double ps_session_rate(const struct ps_session *session, double now);
/* Whether the client goes on without the coordinator. */
bool ps_session_uncoordinated(const struct ps_session *session, double now);
/* The date from which it goes on uncoordinated, if nothing happens before. */
double ps_session_outage_from(const struct ps_session *session);

/* The application's side. */

/* Start an operation, after which so many bytes of the same phase follow; there must be none. The coordinator is told as
 * soon as there is one, except about 0 bytes. */
void ps_session_begin(struct ps_session *session, uint64_t volume, uint64_t rounds, uint64_t follows, double now);
/* The round has ended; whether a pause was waiting for that, which then is acknowledged. */
bool ps_session_round_ended(struct ps_session *session, double now);
/* End the operation, complete or not. */
void ps_session_end(struct ps_session *session);
/* End the application. */
void ps_session_leave(struct ps_session *session);
/* Go on without a coordinator for good. */
void ps_session_disable(struct ps_session *session, double now);

/* The connection's side. */

/* There is a new connection: register on it, or join. */
void ps_session_connect(struct ps_session *session, double now);
/* The connection is lost, or could not be made. */
void ps_session_lost(struct ps_session *session, const char *why, double now);
/* There is nothing at the address to connect to. A client that was never connected goes on at once. */
void ps_session_absent(struct ps_session *session, const char *why, double now);
/* The next request to send now, with its number; false if there is none. Its pointers are valid until the next call. */
bool ps_session_next(struct ps_session *session, double now, struct ps_request *request);
/* Apply a message from the coordinator. */
void ps_session_receive(struct ps_session *session, const struct ps_reply *reply, double now);
/* The date at which `ps_session_next` or `ps_session_check_patience` has something to do, if nothing happens before. */
double ps_session_due(const struct ps_session *session, double now);
/* Note an outage that begins, and have a dead connection closed; whether an outage begins. */
bool ps_session_check_patience(struct ps_session *session, double now);

#endif
