#include "gate.h"

#include <math.h>

#define LONGEST_WAIT 1.0     /* seconds after which a waiting thread looks again, whatever it was told */
#define LONGEST_SLICE 0.25   /* seconds that a slice takes at most at the speed of the last bytes */
#define FIRST_SLICE 1048576  /* bytes of the first slice of a job, at most: how fast it is, is not known yet */
#define SHORTEST_ROUND 1e-6  /* seconds: no round is taken to be faster */

static double sooner(double a, double b) { return a < b ? a : b; }

static uint64_t fewer(uint64_t a, uint64_t b) { return a < b ? a : b; }

void ps_gate_init(struct ps_gate *gate, struct ps_session *session) {
    struct ps_gate fresh = {.session = session, .seen = UINT64_MAX, .until = -INFINITY, .waits_since = INFINITY, .speed = INFINITY};
    *gate = fresh;
    ps_pacer_init(&gate->pacer);
}

double ps_gate_waited(const struct ps_gate *gate, double now) {
    return gate->waited + (isinf(gate->waits_since) ? 0.0 : now - gate->waits_since);
}

void ps_gate_stop_waiting(struct ps_gate *gate, double now) {
    gate->waited = ps_gate_waited(gate, now);
    gate->waits_since = INFINITY;
}

/* Let no slice take too long at the speed of the last bytes. Without a granted rate there is no limit. */
static void size_slices(struct ps_gate *gate) {
    double most = isinf(gate->speed) ? FIRST_SLICE : gate->speed * LONGEST_SLICE;
    gate->slice = gate->rated;
    if (!isinf(gate->pacer.rate) && most < (double)gate->rated)
        gate->slice = ps_pages_in(most);
}

/* Bytes of the longest round at this rate, or at the speed of the last bytes. */
static uint64_t longest_bytes(const struct ps_gate *gate, double rate) {
    if (isinf(rate))
        return PS_NO_LIMIT;
    return ps_longest_bytes(sooner(rate, gate->speed), gate->session->longest_round);
}

bool ps_gate_turn(struct ps_gate *gate, double now) {
    struct ps_session *session = gate->session;
    ps_session_check_patience(session, now);
    double rate = ps_session_rate(session, now), outage = ps_session_outage_from(session);
    gate->seen = session->changes;
    gate->until = outage > now ? outage : INFINITY;
    if (rate <= 0.0) {
        gate->rated = gate->slice = 0;
        if (isinf(gate->waits_since))
            gate->waits_since = now;
        return false;
    }
    ps_pacer_set(&gate->pacer, rate, now);
    gate->rated = ps_slice_bytes(rate);
    size_slices(gate);
    if (session->operating && !session->operation.stepping) /* cut rounds that would take too long */
        ps_operation_limit(&session->operation, longest_bytes(gate, rate));
    ps_gate_stop_waiting(gate, now);
    return true;
}

double ps_gate_delay(struct ps_gate *gate, double now) {
    if (gate->seen != gate->session->changes || now >= gate->until)
        ps_gate_turn(gate, now);
    if (gate->slice > 0)
        return sooner(LONGEST_WAIT, gate->pacer.due - now);
    double left = gate->until - now;
    return sooner(LONGEST_WAIT, left > 0.001 ? left : 0.001);
}

uint64_t ps_gate_open(struct ps_gate *gate, uint64_t left, bool whole_rounds) {
    struct ps_operation *operation = &gate->session->operation;
    if (!gate->session->operating)
        return left;
    operation->in_round = true;
    if (operation->boundary != PS_NO_BOUNDARY)
        left = fewer(left, operation->boundary - operation->moved);
    return whole_rounds ? left : fewer(left, gate->slice);
}

void ps_gate_moved(struct ps_gate *gate, uint64_t count, double begun, double now) {
    gate->moved += count;
    if (count > 0 && now > begun) {
        gate->speed = (double)count / (now - begun > SHORTEST_ROUND ? now - begun : SHORTEST_ROUND);
        size_slices(gate);
    }
    ps_pacer_moved(&gate->pacer, count, begun);
    if (!gate->session->operating)
        return;
    ps_operation_advance(&gate->session->operation, count);
    if (gate->session->operation.pausing && count > 0 && now >= gate->session->operation.pause_by)
        ps_operation_cut_round(&gate->session->operation);
}

bool ps_gate_settle(struct ps_gate *gate, double now) {
    struct ps_operation *operation = &gate->session->operation;
    if (!gate->session->operating)
        return false;
    operation->in_round = !operation->between_rounds;
    return operation->pausing && !operation->in_round && ps_session_round_ended(gate->session, now);
}
