/* The event loop of 000 §3.1.2 as one would write it first: arrays over all applications, linear scans, no heap, no kept
 * order. It states what the engine computes for the case b_i = B and release 0, with the same roundings and ties, so that both
 * agree to the last digits on a short window.
 *
 * One turn: let the policy set the rates if an operation was posted or completed; scan all applications for the next date (end of
 * work, completion, end of the window); scan them again to move the transfers and to apply all that happens then. Seconds and
 * bytes.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { WORK = 0 };                                       /* kinds of phases; all others are I/O */
enum { WORKING, ACTIVE, ENDED };                         /* status of an application */
enum { FAIR_SHARE, FCFS, GREEDY_COM, GREEDY_YIELD };     /* policies, numbered as in c_loop.py */
enum { MIN_YIELD, TRANSFERRED, EVENTS, RESULTS };        /* positions of the results */

static const double COMPLETE = 1e-12, YIELD_GRAIN = 1e12, TIME_GRAIN = 1e9;

typedef struct {
    int64_t size;
    const int64_t *first; /* phases of application i: first[i] to first[i + 1] */
    const uint8_t *kinds;
    const double *amounts;
    double bandwidth, now;
    int64_t events;
    uint8_t *status;
    int64_t *cursor;
    double *work_end, *work_length; /* work_end is infinite unless working */
    double *remaining, *volume, *rate, *posted;
    double *done, *moved; /* by finished phases: progress in seconds, bytes */
} Loop;

static double progress(const Loop *s, int64_t i)
{
    return s->done[i] + (s->volume[i] - s->remaining[i]) / s->bandwidth;
}

/* What the policy orders by, lowest first. */
static double key(const Loop *s, int policy, int64_t i)
{
    if (policy == FCFS)
        return s->posted[i];
    if (policy == GREEDY_COM)
        return rint(s->remaining[i] / s->bandwidth * TIME_GRAIN);
    return rint((s->now > 0.0 ? progress(s, i) / s->now : 1.0) * YIELD_GRAIN);
}

static void share_fairly(Loop *s)
{
    int64_t active = 0;
    for (int64_t i = 0; i < s->size; i++)
        active += s->status[i] == ACTIVE;
    double rate = active > 0 ? s->bandwidth / (double)active : 0.0;
    for (int64_t i = 0; i < s->size; i++)
        s->rate[i] = s->status[i] == ACTIVE ? rate : 0.0;
}

/* As b_i = B the first in order has the whole link; ties go to the earlier posting, then to the lower index. */
static void serve_first(Loop *s, int policy)
{
    int64_t leader = -1;
    double lowest = INFINITY;
    for (int64_t i = 0; i < s->size; i++) {
        s->rate[i] = 0.0;
        if (s->status[i] != ACTIVE)
            continue;
        double mine = key(s, policy, i);
        if (leader < 0 || mine < lowest || (mine == lowest && s->posted[i] < s->posted[leader])) {
            leader = i;
            lowest = mine;
        }
    }
    if (leader >= 0)
        s->rate[leader] = s->bandwidth;
}

static void decide(Loop *s, int policy)
{
    if (policy == FAIR_SHARE)
        share_fairly(s);
    else
        serve_first(s, policy);
}

/* The next date, the seconds until then, and whose completion it is, or -1. */
static double next_date(const Loop *s, double end, double *seconds, int64_t *finisher)
{
    double wait = INFINITY, work_end = INFINITY;
    *finisher = -1;
    for (int64_t i = 0; i < s->size; i++)
        work_end = s->work_end[i] < work_end ? s->work_end[i] : work_end;
    for (int64_t i = 0; i < s->size; i++) {
        if (s->rate[i] > 0.0) {
            double left = s->remaining[i] / s->rate[i];
            if (left < wait) {
                wait = left;
                *finisher = i;
            }
        }
    }
    double date = s->now + wait;
    if (work_end < date) {
        date = work_end;
        *finisher = -1;
    }
    if (date > end) {
        date = end;
        *finisher = -1;
    }
    *seconds = *finisher < 0 ? date - s->now : wait;
    return date;
}

static void next_phase(Loop *s, int64_t i)
{
    int64_t at = s->cursor[i];
    while (at < s->first[i + 1] && s->kinds[at] != WORK && s->amounts[at] == 0.0)
        at++;
    s->cursor[i] = at + 1;
    s->work_end[i] = INFINITY;
    if (at == s->first[i + 1]) {
        s->status[i] = ENDED;
    } else if (s->kinds[at] == WORK) {
        s->status[i] = WORKING;
        s->work_length[i] = s->amounts[at];
        s->work_end[i] = s->now + s->amounts[at];
    } else {
        s->status[i] = ACTIVE;
        s->volume[i] = s->remaining[i] = s->amounts[at];
        s->posted[i] = rint(s->now * TIME_GRAIN) / TIME_GRAIN;
        s->events++;
    }
}

static void complete(Loop *s, int64_t i)
{
    s->done[i] += s->volume[i] / s->bandwidth;
    s->moved[i] += s->volume[i];
    s->rate[i] = 0.0;
    s->events++;
    next_phase(s, i);
}

/* Move every transfer on, then apply all that happens at the date, which `now` already is. */
static void move_and_apply(Loop *s, double seconds, int64_t finisher)
{
    for (int64_t i = 0; i < s->size; i++) {
        if (s->rate[i] > 0.0) {
            double left = s->remaining[i] - s->rate[i] * seconds;
            s->remaining[i] = i == finisher || left < 0.0 ? 0.0 : left;
            if (s->remaining[i] <= COMPLETE * s->volume[i])
                complete(s, i);
        }
        while (s->work_end[i] <= s->now) {
            s->done[i] += s->work_length[i];
            next_phase(s, i);
        }
    }
}

static void begin(Loop *s, const double *lead)
{
    for (int64_t i = 0; i < s->size; i++) {
        s->cursor[i] = s->first[i];
        s->status[i] = WORKING;
        s->work_length[i] = s->work_end[i] = lead[i];
        s->done[i] = s->moved[i] = s->rate[i] = 0.0;
    }
}

static void measure(const Loop *s, double *results)
{
    results[MIN_YIELD] = INFINITY;
    results[TRANSFERRED] = 0.0;
    results[EVENTS] = (double)s->events;
    for (int64_t i = 0; i < s->size; i++) {
        double progressed = s->done[i], moved = s->moved[i];
        if (s->status[i] == WORKING)
            progressed += s->work_length[i] - (s->work_end[i] - s->now);
        if (s->status[i] == ACTIVE) {
            progressed = progress(s, i);
            moved += s->volume[i] - s->remaining[i];
        }
        if (progressed / s->now < results[MIN_YIELD])
            results[MIN_YIELD] = progressed / s->now;
        results[TRANSFERRED] += moved;
    }
}

/* Run all applications from 0 to `end` under the policy; returns 0, or 1 without memory. */
int run(int64_t size, const int64_t *first, const uint8_t *kinds, const double *amounts, const double *lead, double bandwidth,
        double end, int policy, double *results)
{
    Loop s = {.size = size, .first = first, .kinds = kinds, .amounts = amounts, .bandwidth = bandwidth};
    double **columns[] = {&s.work_end, &s.work_length, &s.remaining, &s.volume, &s.rate, &s.posted, &s.done, &s.moved};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    size_t n = (size_t)size;
    double *block = malloc(n * (COLUMNS * sizeof(double) + sizeof(int64_t) + 1));
    if (block == NULL)
        return 1;
    for (int c = 0; c < COLUMNS; c++)
        *columns[c] = block + (size_t)c * n;
    s.cursor = (int64_t *)(block + COLUMNS * n);
    s.status = (uint8_t *)(s.cursor + n);
    begin(&s, lead);
    int64_t decided = 0;
    while (s.now < end) {
        double seconds;
        int64_t finisher;
        if (s.events != decided)
            decide(&s, policy);
        decided = s.events;
        s.now = next_date(&s, end, &seconds, &finisher);
        move_and_apply(&s, seconds, finisher);
    }
    measure(&s, results);
    free(block);
    return 0;
}
