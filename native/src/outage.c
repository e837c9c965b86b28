#include "outage.h"

#include <math.h>
#include <string.h>

#include "penstock.h"
#include "text.h"

#define SHORTEST_OUTAGE 0.5 /* seconds of silence on an open connection that are no outage yet, whatever the patience */
#define ASKS 3.0            /* times in its patience that a client with an operation asks for a sign of life */
#define DEAD_SECONDS 5.0    /* seconds of silence, at least, after which a connection is closed */

static double larger(double a, double b) { return a > b ? a : b; }

void ps_notify(struct ps_notices *notices, int level, const char *text) {
    if (notices->count == PS_NOTICES)
        return;
    struct ps_notice *notice = &notices->list[notices->count++];
    notice->level = level;
    struct ps_text copy = ps_text(notice->text, sizeof notice->text);
    ps_put(&copy, text);
}

/* Say one line: before, the address, between, why, after. */
static void say(struct ps_outage *outage, int level, const char *before, const char *between, const char *why,
                const char *after) {
    char line[PS_NOTICE_BYTES], plain[PS_TEXT_BYTES];
    struct ps_text text = ps_text(line, sizeof line);
    ps_one_line(plain, sizeof plain, why);
    ps_put(&text, before);
    ps_put(&text, outage->where);
    ps_put(&text, between);
    ps_put(&text, plain);
    ps_put(&text, after);
    ps_notify(outage->notices, level, line);
}

void ps_outage_init(struct ps_outage *outage, struct ps_notices *notices, double patience, const char *where,
                    double now) {
    memset(outage, 0, sizeof *outage);
    outage->notices = notices;
    outage->patience = patience;
    outage->since = now;
    struct ps_text text = ps_text(outage->where, sizeof outage->where);
    ps_put(&text, where);
}

double ps_outage_ask_after(const struct ps_outage *outage) {
    return larger(outage->patience, SHORTEST_OUTAGE) / ASKS;
}

void ps_outage_start_silent(struct ps_outage *outage, double now, double last_heard) {
    if (isinf(outage->since))
        outage->since = larger(last_heard < now ? last_heard : now, now - ps_outage_ask_after(outage));
}

void ps_outage_start(struct ps_outage *outage, double now) { ps_outage_start_silent(outage, now, now); }

void ps_outage_failed(struct ps_outage *outage, const char *why, double now) {
    ps_outage_start(outage, now);
    ps_one_line(outage->why, sizeof outage->why, why);
}

void ps_outage_connected(struct ps_outage *outage) { outage->why[0] = '\0'; }

void ps_outage_in_step(struct ps_outage *outage) {
    if (outage->announced)
        say(outage, PENSTOCK_INFO, "penstock: coordinated by ", " again", "", "");
    outage->announced = outage->gave_up = false;
    outage->since = INFINITY;
}

void ps_outage_operation_refused(struct ps_outage *outage, const char *text) {
    if (!outage->complained)
        say(outage, PENSTOCK_WARNING, "penstock: the coordinator at ", " refuses I/O (", text,
            "); going on uncoordinated");
    outage->complained = true;
}

void ps_outage_operation_granted(struct ps_outage *outage) { outage->complained = false; }

void ps_outage_warned(struct ps_outage *outage, const char *text) {
    say(outage, PENSTOCK_WARNING, "penstock: the coordinator at ", " warns: ", text, "");
}

double ps_outage_from(const struct ps_outage *outage, bool in_step) {
    if (outage->gave_up)
        return -INFINITY;
    return outage->since + (in_step ? larger(outage->patience, SHORTEST_OUTAGE) : outage->patience);
}

double ps_outage_close_from(const struct ps_outage *outage, double last_heard) {
    if (isinf(outage->since))
        return INFINITY;
    return larger(outage->since, last_heard) + larger(DEAD_SECONDS, 2.0 * outage->patience);
}

double ps_outage_announce_from(const struct ps_outage *outage, bool in_step) {
    if (outage->announced)
        return INFINITY;
    double date = ps_outage_from(outage, in_step);
    if (isinf(outage->since) || outage->why[0] != '\0')
        return date;
    return larger(date, outage->since + SHORTEST_OUTAGE);
}

void ps_outage_announce(struct ps_outage *outage) {
    char silent[64];
    struct ps_text text = ps_text(silent, sizeof silent);
    ps_put(&text, "no answer for ");
    ps_put_number(&text, larger(outage->patience, SHORTEST_OUTAGE));
    ps_put(&text, " s");
    outage->announced = true;
    say(outage, PENSTOCK_WARNING, "penstock: no coordinator at ", " (", outage->why[0] != '\0' ? outage->why : silent,
        "); going on uncoordinated");
}
