/* The connection of an application to its coordinator: a thread that owns the socket and reconnects when it is lost.
 *
 * Only this thread reads the socket and watches the time. The application's threads take `lock` to change the session and
 * its gate, wait for the coordinator with `ps_link_wait`, and call `ps_link_send` when there is something to send; what
 * the socket does not take at once, the thread sends. After `ps_link_new` nothing allocates memory, except the
 * resolver if the coordinator is a host:port.
 */
#ifndef PS_LINK_H
#define PS_LINK_H

#include <pthread.h>
#include <stdbool.h>

#include "descriptor.h"
#include "environment.h"
#include "gate.h"
#include "session.h"
#include "voice.h"

struct ps_link {
    pthread_mutex_t lock;   /* guards all that follows, but for `moving` */
    pthread_mutex_t moving; /* one thread at a time moves data */
    pthread_cond_t changed;
    struct ps_session session;
    struct ps_gate gate;
    struct ps_address address;
    struct ps_voice voice;
    void (*on_thread)(void); /* is called first in the thread; may be NULL */
    struct ps_bell bell;    /* wakes the thread */
    struct ps_bell changes; /* rings for the application, once it has asked for it */
    struct ps_descriptor connection;
    double deadline; /* the date at which the thread ends in any case */
    double retry;    /* seconds before the next connection */
    double sleeps_until;
    bool finished; /* the thread has ended, or was never there */
    int holders;   /* the application and the thread; the last one frees the memory */
    size_t out_from;
    size_t out_end;
    size_t in_end;
    char out[2 * PS_MESSAGE_BYTES]; /* what the connection has not taken yet */
    char in[PS_MESSAGE_BYTES];      /* the line that is not complete yet */
};

/* Seconds, never going back. */
double ps_clock(void);

/* A link without a thread; NULL if there is no memory. Its session is disabled if `address` is NULL. */
struct ps_link *ps_link_new(const struct ps_identity *identity, double patience, const struct ps_address *address,
                            const char *where);
/* Start the thread, which connects, unless the session is disabled. If that is not possible, the link goes on without a
 * coordinator. */
void ps_link_start(struct ps_link *link);
/* Send what there is, as far as the socket takes it; wake the thread if it would wake up too late. With the lock. */
void ps_link_send(struct ps_link *link);
/* Wait for a change, or for so many seconds. With the lock. */
void ps_link_wait(struct ps_link *link, double seconds);
/* Pass the session's notices on. Without the lock. */
void ps_link_speak(struct ps_link *link);
/* End the application, wait for the coordinator for so many seconds at most, and let go of the link. */
void ps_link_leave(struct ps_link *link, double seconds);
/* End all applications of this process within so many seconds: it exits. */
void ps_link_leave_all(double seconds);

#endif
