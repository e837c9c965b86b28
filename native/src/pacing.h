/* One I/O operation: when it may move data and how many bytes, by turn, rounds and rate. No clock, no I/O.
 *
 * An operation of V bytes in R rounds can be paused where floor(k V / R) bytes are moved, k = 1 ... R - 1: only between
 * two rounds (003 III.C). Bytes beyond the announced volume belong to the last round. A coordinator may limit the
 * seconds of a round; then rounds that would take longer at the granted rate are cut. A step of the six calls is one
 * round, whatever it moves.
 *
 * A token bucket keeps a transfer to its rate; its state is the date from which the next byte may be moved. Data are
 * moved in slices of 10 ms at the rate. A slice of n bytes moves the date by n / rate; a transfer that is late may catch
 * up on at most 20 ms. So in any time t at most rate (t + 30 ms) bytes are moved: 3 % over the rate in a second.
 */
#ifndef PS_PACING_H
#define PS_PACING_H

#include <stdbool.h>
#include <stdint.h>

/* A token bucket. */
struct ps_pacer {
    double rate;
    double due; /* the date from which the next byte may be moved */
};

void ps_pacer_init(struct ps_pacer *pacer);
/* Set the rate for what follows. A wait that is left stays as long, or gets shorter if the rate is higher. */
void ps_pacer_set(struct ps_pacer *pacer, double rate, double now);
/* Count bytes, moved since the date `begun`. */
void ps_pacer_moved(struct ps_pacer *pacer, uint64_t count, double begun);
/* The complete pages in so many bytes, at least one: files opened past the page cache take nothing else. */
uint64_t ps_pages_in(double bytes);
/* Bytes that are moved at once at this rate: complete pages, at least one. */
uint64_t ps_slice_bytes(double rate);
/* Bytes that a round may have at this rate, at least a page; seconds may be infinite. */
uint64_t ps_longest_bytes(double rate, double seconds);

#define PS_NO_BOUNDARY UINT64_MAX
#define PS_NO_LIMIT UINT64_MAX

struct ps_operation {
    uint64_t number;
    uint64_t volume;
    uint64_t rounds;
    uint64_t moved;
    uint64_t follows;        /* bytes of the same phase that come after it */
    uint64_t longest;        /* bytes of a round, at most; or PS_NO_LIMIT */
    uint64_t step;           /* bytes of a round where all are equal, else 0 */
    uint64_t began;          /* bytes moved when the round began */
    uint64_t boundary;       /* bytes moved when the round ends; PS_NO_BOUNDARY in the last one if that has no limit */
    bool between_rounds;     /* no round is begun */
    bool stepping;           /* a step of the six calls is under way: the round ends with its release */
    bool in_round;           /* a round is being moved; a pause waits for its end */
    bool pausing;            /* a pause waits for the end of the round */
    double pause_by;         /* the date from which it waits no longer than for the end of a slice */
    bool granted;            /* the coordinator has granted it a rate on this connection */
    bool refused;            /* the coordinator refuses it, or need not know of it since there is nothing to move */
    bool informed;           /* announced on this connection */
    bool known;              /* announced on this connection or an earlier one */
    bool must_acknowledge;   /* the last acknowledgement may be lost: acknowledge the next grant, lower or not */
    double rate;             /* bytes/s that it keeps to */
    double latest;           /* bytes/s of the last grant; differs from rate while a pause waits */
    uint64_t unacknowledged; /* the last of the lower grants that it does not keep to yet; 0: none */
    uint64_t reported;       /* bytes in the last report */
    double reports_from;     /* no report before this date */
};

/* How many rounds an operation has where the application does not say: none exceeds 16 MiB. */
uint64_t ps_default_rounds(uint64_t volume);
void ps_operation_begin(struct ps_operation *operation, uint64_t number, uint64_t volume, uint64_t rounds);
/* Let no round have more than so many bytes. The present one ends then, or after a page if it has more. */
void ps_operation_limit(struct ps_operation *operation, uint64_t longest);
/* Apply a grant while `used` bytes/s are in use. A pause inside a round takes effect at its end. Returns the number of
 * the grant to acknowledge now, which covers all before it; 0: none. */
uint64_t ps_operation_grant(struct ps_operation *operation, uint64_t number, double rate, double used);
/* Go on at the rate in use to the end of the round, then pause. */
void ps_operation_pause(struct ps_operation *operation, double used);
/* The round has ended; whether a pause starts now. */
bool ps_operation_round_ended(struct ps_operation *operation);
/* The round ends here, unless it is a step. */
void ps_operation_cut_round(struct ps_operation *operation);
/* A step of the six calls begins, which is one round; or has ended. */
void ps_operation_begin_step(struct ps_operation *operation);
void ps_operation_end_step(struct ps_operation *operation);
/* The number of the grant to acknowledge, which is acknowledged with this call; 0: none. */
uint64_t ps_operation_take_acknowledgement(struct ps_operation *operation);
/* The coordinator is lost; the rate stays in force. */
void ps_operation_cut_off(struct ps_operation *operation);
/* Count more bytes. */
void ps_operation_advance(struct ps_operation *operation, uint64_t count);

#endif
