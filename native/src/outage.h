/* When a client stops waiting for its coordinator and goes on without it.
 *
 * It waits from the moment the coordinator owes it a reply or the connection is lost, until both are in step again: it
 * is registered and, if it has an operation, has a grant for it. Waiting for `patience` seconds is an outage, which
 * is said once. A client that is refused, or that finds nothing to connect to when it starts, does not wait.
 *
 * While it has an operation, it asks for a sign of life `ps_outage_ask_after` seconds after the last message. The
 * silence counts from that message on, so a coordinator that dies at any moment holds an application for at most its
 * patience, whatever the lease.
 */
#ifndef PS_OUTAGE_H
#define PS_OUTAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol.h"

enum { PS_WHERE_BYTES = 320, PS_NOTICE_BYTES = PS_TEXT_BYTES + PS_WHERE_BYTES + 128, PS_NOTICES = 4 };

/* For people. */
struct ps_notice {
    int level;
    char text[PS_NOTICE_BYTES];
};

/* Notices that nobody has read yet; what does not fit is dropped. */
struct ps_notices {
    size_t count;
    struct ps_notice list[PS_NOTICES];
};

void ps_notify(struct ps_notices *notices, int level, const char *text);

struct ps_outage {
    double patience;
    double since; /* infinite while it does not wait */
    bool gave_up; /* nobody to wait for: the coordinator refuses this client, or there was none when it started */
    bool announced;
    bool complained;
    char where[PS_WHERE_BYTES];
    char why[PS_TEXT_BYTES];
    struct ps_notices *notices;
};

void ps_outage_init(struct ps_outage *outage, struct ps_notices *notices, double patience, const char *where,
                    double now);
/* Start waiting, unless it waits already: the coordinator owes a reply. */
void ps_outage_start(struct ps_outage *outage, double now);
/* The same, but the silence counts from `last_heard` on. No more than `ps_outage_ask_after` seconds count: the rest is
 * the client's own delay. */
void ps_outage_start_silent(struct ps_outage *outage, double now, double last_heard);
/* Seconds without a message after which a client with an operation asks for a sign of life. */
double ps_outage_ask_after(const struct ps_outage *outage);
/* The connection is lost, or could not be made. */
void ps_outage_failed(struct ps_outage *outage, const char *why, double now);
/* There is a connection; whether anybody answers on it is not known yet. */
void ps_outage_connected(struct ps_outage *outage);
/* Stop waiting: client and coordinator are in step. */
void ps_outage_in_step(struct ps_outage *outage);
void ps_outage_operation_refused(struct ps_outage *outage, const char *text);
void ps_outage_operation_granted(struct ps_outage *outage);
void ps_outage_warned(struct ps_outage *outage, const char *text);
/* The date from which there is an outage. */
double ps_outage_from(const struct ps_outage *outage, bool in_step);
/* The date from which to close a connection on which the coordinator was last heard then. */
double ps_outage_close_from(const struct ps_outage *outage, double last_heard);
/* The date from which to announce the outage; infinite if it is announced. */
double ps_outage_announce_from(const struct ps_outage *outage, bool in_step);
void ps_outage_announce(struct ps_outage *outage);

#endif
