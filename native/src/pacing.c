#include "pacing.h"

#include <math.h>
#include <string.h>

#define SLICE 0.01  /* seconds of data that are moved at once */
#define SLACK 0.02  /* seconds that a late transfer may catch up on */
#define LONGEST 1e9 /* seconds; a rate near 0 puts the date no farther off, so that it stays finite */
#define PAGE ((uint64_t)4096)
#define ROUND_BYTES ((uint64_t)16 << 20)

void ps_pacer_init(struct ps_pacer *pacer) {
    pacer->rate = INFINITY;
    pacer->due = -INFINITY;
}

void ps_pacer_set(struct ps_pacer *pacer, double rate, double now) {
    if (pacer->due > now) {
        double factor = isinf(rate) ? 0.0 : pacer->rate / rate;
        pacer->due = now + (pacer->due - now) * (factor < 1.0 ? factor : 1.0);
    }
    pacer->rate = rate;
}

void ps_pacer_moved(struct ps_pacer *pacer, uint64_t count, double begun) {
    if (isinf(pacer->rate))
        return;
    double seconds = (double)count / pacer->rate, earliest = begun - SLACK;
    pacer->due = (pacer->due > earliest ? pacer->due : earliest) + (seconds < LONGEST ? seconds : LONGEST);
}

uint64_t ps_slice_bytes(double rate) {
    double bytes = rate * SLICE;
    if (bytes < (double)PAGE)
        return PAGE;
    return bytes > 1e18 ? (uint64_t)1e18 : (uint64_t)bytes / PAGE * PAGE;
}

uint64_t ps_default_rounds(uint64_t volume) {
    uint64_t rounds = volume / ROUND_BYTES + (volume % ROUND_BYTES > 0);
    return rounds > 0 ? rounds : 1;
}

/* floor(k V / R), without a product that overflows: with V = q R + r it is k q + floor(k r / R), and k r < 2^60. */
static uint64_t end_of_round(const struct ps_operation *operation, uint64_t k) {
    return k * (operation->volume / operation->rounds) +
           k * (operation->volume % operation->rounds) / operation->rounds;
}

/* The first round that ends beyond the bytes moved: k = ceil((moved + 1) R / V). The estimate in doubles is off by less
 * than one. */
static uint64_t next_round(const struct ps_operation *operation) {
    double estimate = (double)(operation->moved + 1) * ((double)operation->rounds / (double)operation->volume);
    uint64_t k = estimate < 3.0 ? 1 : (uint64_t)estimate - 1;
    while (k < operation->rounds && end_of_round(operation, k) <= operation->moved)
        k++;
    return k;
}

static void place(struct ps_operation *operation) {
    operation->boundary = PS_NO_BOUNDARY;
    operation->between_rounds = operation->moved == operation->volume || operation->moved == 0;
    if (operation->moved >= operation->volume)
        return;
    uint64_t k = next_round(operation);
    if (k < operation->rounds)
        operation->boundary = end_of_round(operation, k);
    operation->between_rounds |= end_of_round(operation, k - 1) == operation->moved;
}

void ps_operation_begin(struct ps_operation *operation, uint64_t number, uint64_t volume, uint64_t rounds) {
    memset(operation, 0, sizeof *operation);
    operation->number = number;
    operation->volume = volume;
    operation->rounds = rounds;
    operation->refused = volume == 0;
    operation->reports_from = -INFINITY;
    operation->pause_by = INFINITY;
    place(operation);
}

uint64_t ps_operation_grant(struct ps_operation *operation, uint64_t number, double rate, double used,
                            double pause_by) {
    if (rate < used || (operation->granted && rate < operation->latest) || operation->must_acknowledge)
        operation->unacknowledged = number;
    operation->must_acknowledge = false;
    operation->latest = rate;
    operation->granted = true;
    if (rate <= 0.0 && operation->in_round) {
        ps_operation_pause(operation, used, pause_by);
        return 0;
    }
    operation->rate = rate;
    operation->pausing = false;
    return ps_operation_take_acknowledgement(operation);
}

void ps_operation_pause(struct ps_operation *operation, double used, double pause_by) {
    operation->rate = used;
    if (!operation->pausing || pause_by < operation->pause_by)
        operation->pause_by = pause_by;
    operation->pausing = true;
}

bool ps_operation_round_ended(struct ps_operation *operation) {
    operation->in_round = false;
    if (!operation->pausing)
        return false;
    operation->rate = operation->latest;
    operation->pausing = false;
    return true;
}

uint64_t ps_operation_take_acknowledgement(struct ps_operation *operation) {
    uint64_t number = operation->unacknowledged;
    operation->unacknowledged = 0;
    return number;
}

void ps_operation_cut_off(struct ps_operation *operation) {
    operation->must_acknowledge = operation->must_acknowledge || operation->granted;
    operation->informed = operation->granted = false;
    operation->refused = operation->volume == 0;
    operation->unacknowledged = 0;
}

void ps_operation_advance(struct ps_operation *operation, uint64_t count) {
    operation->moved += count;
    if (operation->moved >= operation->boundary || operation->boundary == PS_NO_BOUNDARY)
        place(operation);
    else if (count > 0)
        operation->between_rounds = false;
}
