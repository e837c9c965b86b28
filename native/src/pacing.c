#include "pacing.h"

#include <math.h>
#include <string.h>

#define SLICE 0.01  /* seconds of data that are moved at once */
#define SLACK 0.02  /* seconds that a late transfer may catch up on */
#define LONGEST 1e9 /* seconds; a rate near 0 puts the date no farther off, so that it stays finite */
#define MOST_BYTES 1e18 /* more are as good as no limit */
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

uint64_t ps_pages_in(double bytes) {
    if (bytes < (double)PAGE)
        return PAGE;
    return bytes > MOST_BYTES ? (uint64_t)MOST_BYTES : (uint64_t)bytes / PAGE * PAGE;
}

uint64_t ps_slice_bytes(double rate) { return ps_pages_in(rate * SLICE); }

uint64_t ps_longest_bytes(double rate, double seconds) {
    if (isinf(rate) || isinf(seconds) || rate * seconds > MOST_BYTES)
        return PS_NO_LIMIT;
    uint64_t bytes = (uint64_t)(rate * seconds);
    return bytes > PAGE ? bytes : PAGE;
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

static uint64_t next_boundary(const struct ps_operation *operation) {
    uint64_t end = PS_NO_BOUNDARY;
    if (operation->volume == 0)
        return PS_NO_BOUNDARY;
    if (operation->moved < operation->volume) {
        uint64_t k = next_round(operation);
        if (k < operation->rounds)
            end = end_of_round(operation, k);
    }
    if (operation->longest == PS_NO_LIMIT)
        return end;
    uint64_t limit = operation->began + operation->longest, page = operation->moved + PAGE;
    limit = limit > page ? limit : page;
    return end < limit ? end : limit;
}

static void cut(struct ps_operation *operation) {
    uint64_t step = operation->volume % operation->rounds == 0 ? operation->volume / operation->rounds : 0;
    operation->step = step <= operation->longest ? step : 0;
    operation->boundary = next_boundary(operation);
}

void ps_operation_begin(struct ps_operation *operation, uint64_t number, uint64_t volume, uint64_t rounds) {
    memset(operation, 0, sizeof *operation);
    operation->number = number;
    operation->volume = volume;
    operation->rounds = rounds;
    operation->refused = volume == 0;
    operation->reports_from = -INFINITY;
    operation->pause_by = INFINITY;
    operation->between_rounds = true;
    operation->longest = PS_NO_LIMIT;
    cut(operation);
}

void ps_operation_limit(struct ps_operation *operation, uint64_t longest) {
    if (longest == operation->longest)
        return;
    operation->longest = longest;
    cut(operation);
}

uint64_t ps_operation_grant(struct ps_operation *operation, uint64_t number, double rate, double used) {
    if (rate < used || (operation->granted && rate < operation->latest) || operation->must_acknowledge)
        operation->unacknowledged = number;
    operation->must_acknowledge = false;
    operation->latest = rate;
    operation->granted = true;
    if (rate <= 0.0 && operation->in_round) {
        ps_operation_pause(operation, used);
        return 0;
    }
    operation->rate = rate;
    operation->pausing = false;
    return ps_operation_take_acknowledgement(operation);
}

void ps_operation_pause(struct ps_operation *operation, double used) {
    operation->rate = used;
    operation->pausing = true;
}

bool ps_operation_round_ended(struct ps_operation *operation) {
    operation->in_round = false;
    operation->between_rounds = true;
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

void ps_operation_cut_round(struct ps_operation *operation) {
    if (operation->stepping)
        return;
    operation->between_rounds = true;
    operation->began = operation->moved;
    operation->boundary = next_boundary(operation);
}

void ps_operation_begin_step(struct ps_operation *operation) {
    ps_operation_limit(operation, PS_NO_LIMIT);
    operation->stepping = true;
    operation->between_rounds = false;
}

void ps_operation_end_step(struct ps_operation *operation) {
    operation->stepping = false;
    operation->between_rounds = true;
}

void ps_operation_advance(struct ps_operation *operation, uint64_t count) {
    bool ends = false;
    if (count == 0)
        return;
    operation->moved += count;
    if (operation->moved >= operation->boundary) {
        ends = operation->moved == operation->boundary ||
               (operation->step > 0 && operation->moved % operation->step == 0);
        operation->began = operation->moved;
        operation->boundary = next_boundary(operation);
    }
    operation->between_rounds = (ends || operation->moved == operation->volume) && !operation->stepping;
}
