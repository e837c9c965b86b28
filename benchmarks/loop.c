/* The event loop of 000 §3.1.2 as one would write it first: arrays over all applications, linear scans, no heap, no kept
 * order. It states what the engine computes for the case b_i = B and release 0, with the same roundings and ties, so that both
 * agree to the last digits on a short window.
 *
 * One turn: let the policy set the rates if an operation was posted or completed, or a periodic decision is due; scan all
 * applications for the next date (end of work, completion, periodic decision, end of the window); scan them again to move the
 * transfers and to apply all that happens then. Seconds and bytes.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { WORK = 0 };                                       /* kinds of phases; all others are I/O */
enum { WORKING, ACTIVE, ENDED };                         /* status of an application */
enum { MIN_YIELD, TRANSFERRED, EVENTS, RESULTS };        /* positions of the results */
enum { /* policies, numbered as in foreign.py */
    FAIR_SHARE,
    FCFS,
    GREEDY_COM,
    GREEDY_YIELD,
    PERIODIC_GREEDY_YIELD, /* as the one before; what differs is delta */
    DUE_YIELD,
    SET_10,
    LOOK_AHEAD_GREEDY_YIELD
};

static const double COMPLETE = 1e-12, YIELD_GRAIN = 1e12, TIME_GRAIN = 1e9, MOMENT = 1e-9, IMPROVEMENT = 1e-12;
static const double DUE = 2.0; /* c of due-yield */

typedef struct {
    int64_t size;
    const int64_t *first; /* phases of application i: first[i] to first[i + 1] */
    const uint8_t *kinds;
    const double *amounts;
    double bandwidth, now;
    double delta, ticks; /* seconds between periodic decisions, 0 for none; how many there were */
    int policy;
    int64_t events;
    uint8_t *status;
    int64_t *cursor;
    double *work_end, *work_length; /* work_end is infinite unless working */
    double *remaining, *volume, *rate, *posted;
    double *done, *moved; /* by finished phases: progress in seconds, bytes */
    double *since_operation, *in_iterations, *iterations, *set; /* of set-10; the set is that of the posted operation */
    double *scratch;
    int64_t *order; /* of some active applications */
} Loop;

typedef struct {
    double date, seconds; /* the next date and the seconds until then */
    int64_t finisher;     /* whose completion it is, or -1 */
    int ticking;          /* whether it is a periodic decision, too */
} Step;

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
    if (policy == DUE_YIELD) {
        double due = progress(s, i) + DUE * s->remaining[i] / s->bandwidth;
        return rint(due / (s->now > MOMENT ? s->now : MOMENT) * YIELD_GRAIN);
    }
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

/* The earliest posted of each set, the lowest set first, into `order`; returns how many. */
static int64_t first_of_sets(Loop *s)
{
    int64_t sets = 0;
    for (int64_t i = 0; i < s->size; i++) {
        if (s->status[i] != ACTIVE)
            continue;
        int64_t place = sets;
        while (place > 0 && s->set[s->order[place - 1]] >= s->set[i])
            place--;
        if (place < sets && s->set[s->order[place]] == s->set[i]) {
            if (s->posted[i] < s->posted[s->order[place]])
                s->order[place] = i;
        } else {
            for (int64_t j = sets++; j > place; j--)
                s->order[j] = s->order[j - 1];
            s->order[place] = i;
        }
    }
    return sets;
}

/* The sets share the link by priority, 10^-n for set n; as b_i = B the first of a set has all of its share. */
static void share_by_sets(Loop *s)
{
    int64_t sets = first_of_sets(s);
    double total = 0.0;
    for (int64_t i = 0; i < s->size; i++)
        s->rate[i] = 0.0;
    for (int64_t j = 0; j < sets; j++)
        total += s->scratch[j] = pow(10.0, s->set[s->order[0]] - s->set[s->order[j]]);
    for (int64_t j = 0; j < sets; j++)
        s->rate[s->order[j]] = s->bandwidth * s->scratch[j] / total;
}

/* All active applications by their yields into `order`; returns how many. */
static int64_t sort_by_yield(Loop *s)
{
    int64_t active = 0;
    for (int64_t i = 0; i < s->size; i++) {
        if (s->status[i] != ACTIVE)
            continue;
        double mine = s->scratch[i] = key(s, GREEDY_YIELD, i);
        int64_t place = active++;
        for (; place > 0; place--) {
            int64_t before = s->order[place - 1];
            if (s->scratch[before] < mine || (s->scratch[before] == mine && s->posted[before] <= s->posted[i]))
                break;
            s->order[place] = before;
        }
        s->order[place] = i;
    }
    return active;
}

/* The lowest yield when the candidate, served first, is complete; some value up to `to_beat` if it does not pass that. */
static double score(const Loop *s, int64_t candidate, int64_t active, double to_beat)
{
    double horizon = s->remaining[candidate] / s->bandwidth;
    double lowest = (progress(s, candidate) + horizon) / (s->now + horizon);
    for (int64_t j = 0; j < active && lowest > to_beat; j++) {
        double waiting = progress(s, s->order[j]) / (s->now + horizon);
        if (s->order[j] != candidate && waiting < lowest)
            lowest = waiting;
    }
    return lowest;
}

static void look_ahead(Loop *s)
{
    int64_t active = sort_by_yield(s), best = -1;
    double best_score = -INFINITY;
    for (int64_t j = 0; j < active; j++) {
        double mine = score(s, s->order[j], active, best_score + IMPROVEMENT);
        if (best < 0 || mine > best_score + IMPROVEMENT) {
            best = s->order[j];
            best_score = mine;
        }
    }
    for (int64_t i = 0; i < s->size; i++)
        s->rate[i] = 0.0;
    if (best >= 0)
        s->rate[best] = s->bandwidth;
}

static void decide(Loop *s, int policy)
{
    if (policy == FAIR_SHARE)
        share_fairly(s);
    else if (policy == SET_10)
        share_by_sets(s);
    else if (policy == LOOK_AHEAD_GREEDY_YIELD)
        look_ahead(s);
    else
        serve_first(s, policy);
}

static Step next_step(const Loop *s, double end)
{
    Step step = {.finisher = -1};
    double wait = INFINITY, work_end = INFINITY;
    for (int64_t i = 0; i < s->size; i++)
        work_end = s->work_end[i] < work_end ? s->work_end[i] : work_end;
    for (int64_t i = 0; i < s->size; i++) {
        if (s->rate[i] > 0.0) {
            double left = s->remaining[i] / s->rate[i];
            if (left < wait) {
                wait = left;
                step.finisher = i;
            }
        }
    }
    step.date = s->now + wait;
    if (work_end < step.date) {
        step.date = work_end;
        step.finisher = -1;
    }
    if (s->delta > 0.0) {
        double tick = (s->ticks + 1.0) * s->delta;
        if (tick < step.date) {
            step.date = tick;
            step.finisher = -1;
        }
        step.ticking = tick <= step.date;
    }
    if (step.date > end) {
        step.date = end;
        step.finisher = -1;
        step.ticking = 0;
    }
    step.seconds = step.finisher < 0 ? step.date - s->now : wait;
    return step;
}

/* n of the set that the application is in: by its mean iteration, 0 before it has finished one. */
static double set_number(const Loop *s, int64_t i)
{
    return s->iterations[i] > 0.0 ? floor(log10(s->in_iterations[i] / s->iterations[i]) + 0.5) : 0.0;
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
        s->since_operation[i] += s->amounts[at];
    } else {
        s->status[i] = ACTIVE;
        s->volume[i] = s->remaining[i] = s->amounts[at];
        s->posted[i] = rint(s->now * TIME_GRAIN) / TIME_GRAIN;
        if (s->policy == SET_10)
            s->set[i] = set_number(s, i);
        s->events++;
    }
}

static void complete(Loop *s, int64_t i)
{
    double alone = s->volume[i] / s->bandwidth;
    s->done[i] += alone;
    s->moved[i] += s->volume[i];
    s->rate[i] = 0.0;
    if (s->iterations[i] > 0.0 || s->since_operation[i] > 0.0) {
        s->in_iterations[i] += s->since_operation[i] + alone;
        s->iterations[i]++;
    }
    s->since_operation[i] = 0.0;
    s->events++;
    next_phase(s, i);
}

/* Move every transfer on, then apply all that happens at the date. */
static void move_and_apply(Loop *s, Step step)
{
    s->now = step.date;
    for (int64_t i = 0; i < s->size; i++) {
        if (s->rate[i] > 0.0) {
            double left = s->remaining[i] - s->rate[i] * step.seconds;
            s->remaining[i] = i == step.finisher || left < 0.0 ? 0.0 : left;
            if (s->remaining[i] <= COMPLETE * s->volume[i])
                complete(s, i);
        }
        while (s->work_end[i] <= s->now) {
            s->done[i] += s->work_length[i];
            next_phase(s, i);
        }
    }
    if (step.ticking) {
        s->ticks++;
        s->events++;
    }
}

static void begin(Loop *s, const double *lead)
{
    for (int64_t i = 0; i < s->size; i++) {
        s->cursor[i] = s->first[i];
        s->status[i] = WORKING;
        s->work_length[i] = s->work_end[i] = lead[i];
        s->done[i] = s->moved[i] = s->rate[i] = 0.0;
        s->since_operation[i] = s->in_iterations[i] = s->iterations[i] = 0.0;
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

/* Run all applications from 0 to `end` under the policy, deciding also every `delta` seconds unless that is 0; returns 0, or 1
 * without memory.
 */
int run(int64_t size, const int64_t *first, const uint8_t *kinds, const double *amounts, const double *lead, double bandwidth,
        double end, double delta, int policy, double *results)
{
    Loop s = {.size = size, .first = first, .kinds = kinds, .amounts = amounts, .bandwidth = bandwidth};
    double **columns[] = {&s.work_end, &s.work_length,     &s.remaining,     &s.volume,     &s.rate, &s.posted, &s.done,
                          &s.moved,    &s.since_operation, &s.in_iterations, &s.iterations, &s.set,  &s.scratch};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    size_t n = (size_t)size;
    double *block = malloc(n * (COLUMNS * sizeof(double) + 2 * sizeof(int64_t) + 1));
    if (block == NULL)
        return 1;
    for (int c = 0; c < COLUMNS; c++)
        *columns[c] = block + (size_t)c * n;
    s.cursor = (int64_t *)(block + COLUMNS * n);
    s.order = s.cursor + n;
    s.status = (uint8_t *)(s.order + n);
    s.delta = delta;
    s.policy = policy;
    begin(&s, lead);
    int64_t decided = 0;
    while (s.now < end) {
        if (s.events != decided)
            decide(&s, policy);
        decided = s.events;
        move_and_apply(&s, next_step(&s, end));
    }
    measure(&s, results);
    free(block);
    return 0;
}
