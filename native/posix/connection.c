#include "connection.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "connect.h"
#include "settings.h"
#include "shim.h"
#include "text.h"

#define LOCK_SECONDS 5

static struct penstock_job job;
static struct ps_link *abandoned; /* of the parent */
static _Atomic bool joined;

penstock_job *ps_job(void) { return atomic_load_explicit(&joined, memory_order_acquire) ? &job : NULL; }

/* What the link's thread does is ours. */
static void mark_thread(void) { ps_depth = ps_ours = 1; }

/* The hub of the job, which `penstock run` is; NULL if this process has none, or runs on another node. */
static const char *hub(void) {
    char folder[PATH_MAX];
    const char *path = getenv("PENSTOCK_JOB_SOCKET"), *slash = path != NULL ? strrchr(path, '/') : NULL;
    struct ps_text text = ps_text(folder, sizeof folder);
    if (slash == NULL)
        return NULL;
    ps_put_bytes(&text, path, (size_t)(slash - path) + 1);
    return !text.full && access(folder, F_OK) == 0 ? path : NULL;
}

static struct ps_link *make_link(void) {
    /* Too large for a thread's stack, and used under the lock of the flow only. */
    static struct ps_identity identity;
    static struct ps_notices notices;
    struct ps_address address;
    char where[PS_WHERE_BYTES];
    if (ps_disabled() || ps_find_address(hub(), &address, where) != 0 || ps_absent(&address))
        return NULL;
    const char *name = ps_settings.name[0] != '\0' ? ps_settings.name : NULL;
    if (ps_identify(&identity, name, ps_settings.nodes, ps_settings.bandwidth, 0.0, -1.0) != 0 ||
        ps_find_patience(-1.0, &job.patience, &notices) != 0 || ps_find_token(NULL, &address, identity.token) != 0)
        return NULL;
    struct ps_link *link = ps_link_new(&identity, job.patience, &address, where);
    if (link == NULL)
        return NULL;
    link->on_thread = mark_thread;
    ps_link_start(link);
    return link;
}

bool ps_join(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a handler's descriptors are not ours */
    ps_ours++;
    if (abandoned != NULL)
        ps_link_leave(abandoned, 0.0);
    abandoned = NULL;
    struct ps_link *link = make_link();
    if (link != NULL) {
        job.link = link;
        job.announced = -1;
        atomic_store_explicit(&joined, true, memory_order_release);
    }
    ps_ours--;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return link != NULL;
}

void ps_job_forked(void) {
    if (atomic_load(&joined))
        abandoned = job.link;
    memset(&job, 0, sizeof job);
    atomic_store(&joined, false);
}

bool ps_job_trylock(penstock_job *locked) {
    if (pthread_mutex_trylock(&locked->link->lock) == 0)
        return true;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOCK_SECONDS;
    return pthread_mutex_timedlock(&locked->link->lock, &until) == 0;
}

void ps_job_disconnect(struct ps_link *link) {
    abandoned = NULL;
    if (link == NULL)
        return;
    ps_descriptor_close(&link->connection);
    ps_bell_close(&link->bell);
    ps_bell_close(&link->changes);
}
