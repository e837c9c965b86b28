/* When a client stops waiting for its coordinator and goes on without it.
 *
 * It waits from the moment the coordinator owes it a reply or the connection is lost, until both are in step again: it
 * is registered and, if it has an operation, has a grant for it. Waiting for `patience` seconds is an outage, which
 * is said once. A client that is refused, or that finds no coordinator at its start, does not wait.
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
    bool refused; /* do not wait: there is no coordinator, or it does not accept this client */
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
