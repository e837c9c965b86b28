/* The gate of one application: how long to wait, and then how many bytes to move in one go. No clock, no lock. */
#ifndef PS_GATE_H
#define PS_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "pacing.h"
#include "session.h"

struct ps_gate {
    struct ps_session *session;
    struct ps_pacer pacer;
    uint64_t moved;     /* bytes so far */
    uint64_t rated;     /* bytes of a slice at the granted rate; 0: wait */
    uint64_t slice;     /* bytes to move at once: the same, but no more than a quarter of a second takes; 0: wait */
    double speed;       /* bytes/s at which the last bytes were moved; infinite if none were */
    uint64_t seen;      /* the session's `changes` at the last look */
    double until;       /* the date at which to look again */
    double waited;      /* seconds */
    double waits_since; /* infinite: it does not wait */
};

void ps_gate_init(struct ps_gate *gate, struct ps_session *session);
/* Look at the grant again; whether data may move now. If not, waiting time counts from now on. */
bool ps_gate_turn(struct ps_gate *gate, double now);
/* Stop counting: the application has its turn, or gives it up. */
void ps_gate_stop_waiting(struct ps_gate *gate, double now);
/* Seconds spent waiting for its turn. */
double ps_gate_waited(const struct ps_gate *gate, double now);
/* Seconds until data may move, 0 or less if they may; then, and whenever something changes, ask again. */
double ps_gate_delay(struct ps_gate *gate, double now);
/* How many of the bytes left to move in one go, once the delay is over: a slice, or a round if whole_rounds. */
uint64_t ps_gate_open(struct ps_gate *gate, uint64_t left, bool whole_rounds);
/* Count bytes that were moved since `begun`. With a `now` that is no later, nothing is learned of the speed. A round that
 * a pause waits for too long ends here. */
void ps_gate_moved(struct ps_gate *gate, uint64_t count, double begun, double now);
/* While no data move: start a pause that waited for the end of the round. Whether there is now a message to send. */
bool ps_gate_settle(struct ps_gate *gate, double now);

#endif
