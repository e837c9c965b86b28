#include "link.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "connect.h"

#define FIRST_RETRY 0.05
#define LAST_RETRY 1.0

enum { LINKS = 256 };

/* The links of this process, for fork and exit. */
static _Atomic(struct ps_link *) links[LINKS];

double ps_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double later(double a, double b) { return a > b ? a : b; }
static double sooner(double a, double b) { return a < b ? a : b; }

void ps_link_speak(struct ps_link *link) {
    struct ps_notices notices;
    pthread_mutex_lock(&link->lock);
    notices.count = link->session.notices.count;
    memcpy(notices.list, link->session.notices.list, notices.count * sizeof notices.list[0]);
    link->session.notices.count = 0;
    pthread_mutex_unlock(&link->lock);
    for (size_t i = 0; i < notices.count; i++)
        ps_voice_say(&link->voice, &notices.list[i]);
}

static void tell(struct ps_link *link) {
    pthread_cond_broadcast(&link->changed);
    ps_bell_ring(&link->changes);
}

/* ---- Sending, with the lock ---- */

static bool is_over(const struct ps_link *link) {
    const struct ps_session *session = &link->session;
    return session->leaving && (session->left || !session->connected || ps_clock() >= link->deadline);
}

static double due(const struct ps_link *link) {
    return sooner(ps_session_due(&link->session, ps_clock()), link->deadline);
}

static void fill(struct ps_link *link) {
    struct ps_request request;
    if (link->out_from == link->out_end)
        link->out_from = link->out_end = 0;
    while (sizeof link->out - link->out_end >= PS_MESSAGE_BYTES && ps_session_next(&link->session, ps_clock(), &request))
        link->out_end += ps_encode(&request, link->out + link->out_end, sizeof link->out - link->out_end);
}

/* Send as far as the socket takes it. The thread notices when the connection is lost. */
static void flush(struct ps_link *link) {
    while (!link->session.hang_up) {
        fill(link);
        if (link->out_from == link->out_end)
            return;
        int number = ps_descriptor_number(&link->connection);
        ssize_t sent = number < 0 ? -1
                                  : send(number, link->out + link->out_from, link->out_end - link->out_from,
                                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0)
            link->out_from += (size_t)sent;
        else if (number < 0 || errno != EINTR)
            return;
    }
}

void ps_link_send(struct ps_link *link) {
    if (link->finished)
        return;
    if (link->connection.number >= 0)
        flush(link);
    if (link->out_from < link->out_end || link->session.hang_up || is_over(link) || due(link) < link->sleeps_until)
        ps_bell_ring(&link->bell);
}

void ps_link_wait(struct ps_link *link, double seconds) {
    struct timespec until;
    double date = ps_clock() + later(0.0, sooner(seconds, 1e6));
    until.tv_sec = (time_t)date;
    until.tv_nsec = (long)((date - (double)until.tv_sec) * 1e9);
    pthread_cond_timedwait(&link->changed, &link->lock, &until);
}

/* ---- The thread ---- */

/* Wait for data, room for data (if writing), the bell or the time; whether there are data. Without the lock. */
static bool listen_for(struct ps_link *link, int connection, bool writing, double seconds) {
    int ear = ps_descriptor_number(&link->bell.ear);
    struct pollfd waits[2] = {{ear, POLLIN, 0}, {connection, (short)(writing ? POLLIN | POLLOUT : POLLIN), 0}};
    double most = ear < 0 ? 0.1 : 60.0; /* nobody can wake a thread whose ear was closed */
    int milliseconds = (int)(sooner(later(seconds, 0.0), most) * 1000.0) + 1;
    if (poll(waits, 2, milliseconds) <= 0)
        return false;
    if (waits[0].revents != 0)
        ps_bell_silence(&link->bell);
    return connection >= 0 && (waits[1].revents & ~POLLOUT) != 0;
}

/* Apply the lines that are complete; NULL, or why the connection must end. */
static const char *apply_lines(struct ps_link *link) {
    size_t from = 0;
    for (;;) {
        struct ps_reply reply;
        char *newline = memchr(link->in + from, '\n', link->in_end - from);
        if (newline == NULL)
            break;
        if (!ps_decode(link->in + from, (size_t)(newline - link->in) - from, &reply))
            return "what it says is no message";
        from = (size_t)(newline - link->in) + 1;
        ps_session_receive(&link->session, &reply, ps_clock());
        if (link->session.registered)
            link->retry = FIRST_RETRY;
    }
    memmove(link->in, link->in + from, link->in_end - from);
    link->in_end -= from;
    return link->in_end == sizeof link->in ? "what it says is no message" : NULL;
}

static const char *reason(int error) {
    switch (error) {
    case ENOENT:
        return "no such file or directory";
    case ENOTDIR:
        return "not a directory";
    case ECONNREFUSED:
        return "connection refused";
    case EACCES:
        return "permission denied";
    case EPERM:
        return "the folder of the socket belongs to another user";
    case ETIMEDOUT:
        return "timed out";
    case EHOSTUNREACH:
        return "no route to host";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    default:
        return "connection closed";
    }
}

/* Whether it says at once that there is nothing to connect to, or nothing that this user may connect to. */
static bool is_absent(int error) {
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM || error == ECONNREFUSED;
}

/* NULL, or why the connection has ended. */
static const char *hear(struct ps_link *link) {
    int number = ps_descriptor_number(&link->connection);
    if (number < 0)
        return "connection closed";
    ssize_t got = recv(number, link->in + link->in_end, sizeof link->in - link->in_end, MSG_DONTWAIT);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? NULL : reason(errno);
    if (got == 0)
        return "connection closed";
    link->in_end += (size_t)got;
    const char *why = apply_lines(link);
    tell(link);
    return why;
}

static void speak_unlocked(struct ps_link *link) {
    if (link->session.notices.count == 0)
        return;
    pthread_mutex_unlock(&link->lock);
    ps_link_speak(link);
    pthread_mutex_lock(&link->lock);
}

/* Exchange messages until the connection ends; why it does. */
static const char *converse(struct ps_link *link) {
    const char *why = NULL;
    while (why == NULL) {
        double now = ps_clock();
        if (ps_session_check_patience(&link->session, now))
            tell(link);
        flush(link);
        bool unsent = link->out_from < link->out_end;
        link->sleeps_until = later(due(link), now + (unsent ? 0.1 : 0.001));
        speak_unlocked(link);
        if (link->session.hang_up || is_over(link))
            return "hung up";
        int number = link->connection.number;
        double seconds = link->sleeps_until - now;
        pthread_mutex_unlock(&link->lock);
        bool data = listen_for(link, number, unsent, seconds);
        pthread_mutex_lock(&link->lock);
        if (data)
            why = hear(link);
    }
    return why;
}

/* Connect and converse until the connection ends; the seconds to wait, at least, before the next one. */
static double converse_once(struct ps_link *link) {
    struct ps_descriptor made = PS_NO_DESCRIPTOR;
    pthread_mutex_unlock(&link->lock);
    int error = ps_connect(&link->address, &made);
    pthread_mutex_lock(&link->lock);
    const char *why = reason(error);
    double wish = 0.0;
    if (error == 0) {
        link->connection = made;
        link->in_end = link->out_from = link->out_end = 0;
        ps_session_connect(&link->session, ps_clock());
        why = converse(link);
        wish = link->session.hang_up ? link->session.hang_up_wait : 0.0;
        ps_descriptor_close(&link->connection);
        link->out_from = link->out_end = 0;
    }
    if (is_absent(error))
        ps_session_absent(&link->session, why, ps_clock());
    else
        ps_session_lost(&link->session, why, ps_clock());
    tell(link);
    return wish;
}

/* Wait before the next connection, but notice when patience ends. */
static void rest(struct ps_link *link, double seconds) {
    double until = ps_clock() + seconds;
    while (!is_over(link)) {
        double now = ps_clock();
        ps_session_check_patience(&link->session, now);
        link->sleeps_until = later(now + 0.001, sooner(until, due(link)));
        speak_unlocked(link);
        if (now >= until)
            return;
        double pause = link->sleeps_until - now;
        pthread_mutex_unlock(&link->lock);
        listen_for(link, -1, false, pause);
        pthread_mutex_lock(&link->lock);
    }
}

/* Let go of the link, with the lock; the last holder frees it. */
static void let_go(struct ps_link *link) {
    bool last = --link->holders == 0;
    pthread_mutex_unlock(&link->lock);
    if (!last)
        return;
    ps_bell_close(&link->bell);
    ps_bell_close(&link->changes);
    ps_descriptor_close(&link->connection);
    pthread_cond_destroy(&link->changed);
    pthread_mutex_destroy(&link->lock);
    pthread_mutex_destroy(&link->moving);
    free(link);
}

static void *run(void *argument) {
    struct ps_link *link = argument;
    if (link->on_thread != NULL)
        link->on_thread();
    pthread_mutex_lock(&link->lock);
    while (!is_over(link)) {
        double wish = converse_once(link);
        speak_unlocked(link);
        rest(link, later(link->retry, wish));
        link->retry = sooner(2.0 * link->retry, LAST_RETRY);
    }
    link->finished = true;
    tell(link);
    let_go(link);
    return NULL;
}

/* ---- Fork: the connection and the thread are the parent's ---- */

static void init_locks(struct ps_link *link) {
    pthread_condattr_t attributes;
    pthread_mutex_init(&link->lock, NULL);
    pthread_mutex_init(&link->moving, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&link->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void abandon(struct ps_link *link) {
    init_locks(link); /* a thread that is not here may have held them */
    ps_session_disable(&link->session, ps_clock());
    link->session.notices.count = 0;
    link->finished = true;
    link->holders = 1;
    ps_bell_close(&link->bell);
    ps_bell_close(&link->changes);
    ps_descriptor_close(&link->connection);
}

static void abandon_all(void) {
    for (size_t i = 0; i < LINKS; i++) {
        struct ps_link *link = atomic_load(&links[i]);
        if (link != NULL)
            abandon(link);
    }
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, abandon_all); }

/* ---- Start and end ---- */

struct ps_link *ps_link_new(const struct ps_identity *identity, double patience, const struct ps_address *address,
                            const char *where) {
    static const struct ps_bell no_bell = PS_NO_BELL;
    static const struct ps_descriptor no_descriptor = PS_NO_DESCRIPTOR;
    struct ps_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    init_locks(link);
    ps_session_init(&link->session, identity, patience, where, ps_clock());
    ps_gate_init(&link->gate, &link->session);
    link->bell = link->changes = no_bell;
    link->connection = no_descriptor;
    link->deadline = link->sleeps_until = INFINITY;
    link->retry = FIRST_RETRY;
    link->finished = true;
    link->holders = 1;
    ps_voice_init(&link->voice);
    if (address != NULL)
        link->address = *address;
    else
        ps_session_disable(&link->session, ps_clock());
    return link;
}

static bool remember(struct ps_link *link) {
    for (size_t i = 0; i < LINKS; i++) {
        struct ps_link *expected = NULL;
        if (atomic_compare_exchange_strong(&links[i], &expected, link))
            return true;
    }
    return false;
}

static void forget(struct ps_link *link) {
    for (size_t i = 0; i < LINKS; i++) {
        struct ps_link *expected = link;
        atomic_compare_exchange_strong(&links[i], &expected, NULL);
    }
}

/* Signals are for the application's own threads. */
static int start_thread(struct ps_link *link) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, run, link);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

void ps_link_start(struct ps_link *link) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    bool remembered = remember(link);
    if (link->session.disabled)
        return;
    if (ps_absent(&link->address))
        ps_session_absent(&link->session, reason(ENOENT), ps_clock());
    if (remembered && ps_bell_make(&link->bell)) {
        link->holders = 2;
        link->finished = false;
        if (start_thread(link) == 0)
            return;
        link->holders = 1;
        link->finished = true;
    }
    ps_notify(&link->session.notices, PENSTOCK_WARNING,
              "penstock: no thread or descriptor for the coordinator; going on uncoordinated");
    ps_session_disable(&link->session, ps_clock());
}

static void begin_leaving(struct ps_link *link, double seconds) {
    ps_session_leave(&link->session);
    link->deadline = sooner(link->deadline, ps_clock() + seconds);
    ps_link_send(link);
}

static void wait_until_finished(struct ps_link *link, double until) {
    while (!link->finished && ps_clock() < until)
        ps_link_wait(link, until - ps_clock());
}

void ps_link_leave(struct ps_link *link, double seconds) {
    forget(link); /* before another holder can free it */
    pthread_mutex_lock(&link->lock);
    begin_leaving(link, seconds);
    wait_until_finished(link, ps_clock() + seconds);
    pthread_mutex_unlock(&link->lock);
    ps_link_speak(link);
    pthread_mutex_lock(&link->lock);
    let_go(link);
}

/* A thread that ended in the middle of a change may hold a lock for ever, so each is tried for a limited time. */
static bool lock_by(struct ps_link *link, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    double date = (double)until.tv_nsec * 1e-9 + later(0.0, seconds);
    until.tv_sec += (time_t)date;
    until.tv_nsec = (long)((date - (double)(time_t)date) * 1e9);
    return pthread_mutex_timedlock(&link->lock, &until) == 0;
}

void ps_link_leave_all(double seconds) {
    double until = ps_clock() + seconds;
    for (int pass = 0; pass < 2; pass++) /* all begin to leave before the first is waited for */
        for (size_t i = 0; i < LINKS; i++) {
            struct ps_link *link = atomic_load(&links[i]);
            if (link == NULL || !lock_by(link, until - ps_clock()))
                continue;
            if (pass == 0) {
                begin_leaving(link, later(0.0, until - ps_clock()));
            } else {
                wait_until_finished(link, until);
                ps_session_disable(&link->session, ps_clock()); /* what still does I/O in this process need not wait */
                pthread_cond_broadcast(&link->changed);
            }
            pthread_mutex_unlock(&link->lock);
        }
}
