#include "gate.h"

#include <math.h>

#define LONGEST_WAIT 1.0 /* seconds after which a waiting thread looks again, whatever it was told */

static double sooner(double a, double b) { return a < b ? a : b; }

static uint64_t fewer(uint64_t a, uint64_t b) { return a < b ? a : b; }

void ps_gate_init(struct ps_gate *gate, struct ps_session *session) {
    struct ps_gate fresh = {.session = session, .seen = UINT64_MAX, .until = -INFINITY, .waits_since = INFINITY};
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

bool ps_gate_turn(struct ps_gate *gate, double now) {
    struct ps_session *session = gate->session;
    ps_session_check_patience(session, now);
    double rate = ps_session_rate(session, now), outage = ps_session_outage_from(session);
    gate->seen = session->changes;
    gate->until = outage > now ? outage : INFINITY;
    if (rate <= 0.0) {
        gate->slice = 0;
        if (isinf(gate->waits_since))
            gate->waits_since = now;
        return false;
    }
    ps_pacer_set(&gate->pacer, rate, now);
    gate->slice = ps_slice_bytes(rate);
    if (session->operating && !session->operation.stepping) /* cut rounds that would take too long at this rate */
        ps_operation_limit(&session->operation, ps_longest_bytes(rate, session->longest_round));
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

void ps_gate_moved(struct ps_gate *gate, uint64_t count, double begun) {
    gate->moved += count;
    ps_pacer_moved(&gate->pacer, count, begun);
    if (gate->session->operating)
        ps_operation_advance(&gate->session->operation, count);
}

bool ps_gate_settle(struct ps_gate *gate, double now) {
    struct ps_operation *operation = &gate->session->operation;
    if (!gate->session->operating)
        return false;
    operation->in_round = !operation->between_rounds;
    return operation->pausing && !operation->in_round && ps_session_round_ended(gate->session, now);
}
