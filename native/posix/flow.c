#include "flow.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "connection.h"
#include "descriptors.h"
#include "record.h"
#include "settings.h"
#include "shim.h"

#define RETRY_SECONDS 1.0      /* between two looks for a coordinator that was not there */
#define HOLD_SECONDS 0.01      /* without I/O after which the turn is given up, though the phase goes on */
#define LONGEST_CALL 60.0      /* seconds after which a call that has not ended is taken to be lost */
#define EXIT_MILLISECONDS 100  /* to wait for a lock at exit */
#define PAGE ((uint64_t)4096)
#define FIRST_VOLUME ((uint64_t)16 << 20)
#define MOST_FIRST ((uint64_t)1 << 30) /* a call may name far more bytes than there are */

static struct {
    pthread_mutex_t lock; /* guards phases: opening, ending, joining; taken before the job's lock */
    pthread_mutex_t bell; /* guards `rung`; taken last */
    pthread_cond_t ringing;
    bool rung; /* the thread that ends phases must look again */
    pid_t pid;
    bool watched;         /* there is a thread that ends phases */
    _Atomic bool open;    /* there is a phase */
    _Atomic bool ended;   /* the program exits: only count */
    _Atomic double last;  /* of the last activity */
    _Atomic double retry; /* when to look for a coordinator again */
    _Atomic bool holding; /* an operation is announced */
    _Atomic int busy;     /* calls that have begun and not ended */
    _Atomic int aside;    /* jobs of the program's own */
    _Atomic uint64_t learned; /* bytes of the phase before; 0: none yet */
    _Atomic uint64_t others;  /* bytes of this phase that other processes moved in this one's turn */
    _Atomic uint64_t waited;  /* nanoseconds in this phase */
    _Atomic uint64_t offset;  /* nanoseconds from our clock to that of dates */
    bool coordinated;
} flow = {.lock = PTHREAD_MUTEX_INITIALIZER, .bell = PTHREAD_MUTEX_INITIALIZER, .ringing = PTHREAD_COND_INITIALIZER};

static _Thread_local double begun; /* when this thread was last allowed to move bytes */
static _Thread_local bool calling; /* this thread is inside a paced call and holds no lock */

static uint64_t nanoseconds(double seconds) { return seconds > 0.0 ? (uint64_t)(seconds * 1e9) : 0; }

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void add(ps_counter *counter, uint64_t count) {
    atomic_fetch_add_explicit(counter, count, memory_order_relaxed);
}

void ps_count(enum ps_direction direction, uint64_t bytes, uint64_t calls) {
    struct ps_record *record = ps_record;
    add(direction == PS_READ ? &record->read : &record->written, bytes);
    add(direction == PS_READ ? &record->open_read : &record->open_written, bytes);
    if (calls > 0)
        add(direction == PS_READ ? &record->read_calls : &record->write_calls, calls);
}

/* ---- Phases, with the lock ---- */

static uint64_t counted_in_phase(void) { return ps_record->open_read + ps_record->open_written; }

static uint64_t moved_in_phase(void) { return counted_in_phase() + flow.others; }

static void end_operation(void) {
    penstock_job *job = ps_job();
    if (job == NULL || !ps_job_trylock(job))
        return;
    if (job->link->session.operating)
        ps_job_end(job);
    flow.holding = false;
    ps_job_unlock(job);
}

static void end_phase(void) {
    end_operation();
    atomic_store(&flow.learned, moved_in_phase());
    atomic_store(&flow.open, false);
    if (counted_in_phase() > 0)
        ps_record_phase(atomic_exchange(&flow.waited, 0));
    flow.others = 0;
    ps_record->open_begin = ps_record->open_read = ps_record->open_written = 0;
}

/* Whether nothing has happened for so long. */
static bool is_quiet(double now, double seconds) {
    double quiet = now - atomic_load_explicit(&flow.last, memory_order_relaxed);
    return quiet >= seconds && (atomic_load(&flow.busy) == 0 || quiet > LONGEST_CALL + seconds);
}

/* When to look again. */
static struct timespec next_look(double now) {
    double wanted = flow.holding ? HOLD_SECONDS : ps_settings.gap;
    double seconds = flow.open ? flow.last + wanted - now : 1e6;
    double date = now + (seconds > 0.001 ? seconds : wanted);
    struct timespec until = {.tv_sec = (time_t)date};
    until.tv_nsec = (long)((date - (double)until.tv_sec) * 1e9);
    return until;
}

/* Have the watching thread look again: what it waits for has changed. Remembered if it does not wait yet. */
static void ring(void) {
    pthread_mutex_lock(&flow.bell);
    flow.rung = true;
    pthread_cond_signal(&flow.ringing);
    pthread_mutex_unlock(&flow.bell);
}

static void wait_for_ring(const struct timespec *until) {
    pthread_mutex_lock(&flow.bell);
    if (!flow.rung)
        pthread_cond_clockwait(&flow.ringing, &flow.bell, CLOCK_MONOTONIC, until);
    flow.rung = false;
    pthread_mutex_unlock(&flow.bell);
}

/* Gives turns up and ends phases while the program does something else, so that others need not wait for it: it may
 * itself wait for them, as in a pipeline. */
static void *watch(void *nothing) {
    (void)nothing;
    ps_depth = ps_ours = 1;
    while (!flow.ended) {
        pthread_mutex_lock(&flow.lock);
        double now = ps_clock();
        if (flow.holding && is_quiet(now, HOLD_SECONDS))
            end_operation();
        if (flow.open && is_quiet(now, ps_settings.gap))
            end_phase();
        struct timespec until = next_look(now);
        pthread_mutex_unlock(&flow.lock);
        wait_for_ring(&until);
    }
    return NULL;
}

static void start_watching(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (flow.watched)
        return;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    flow.watched = pthread_create(&thread, &attributes, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* The child of a vfork may not start threads, and what it does ends soon. */
static bool is_stranger(void) { return getpid() != flow.pid; }

bool ps_stands_aside(void) { return atomic_load_explicit(&flow.aside, memory_order_relaxed) > 0; }

void ps_stand_aside(int on) {
    int before = atomic_load(&flow.aside);
    if (on != 0) {
        atomic_fetch_add(&flow.aside, 1);
        ps_withdraw(false); /* the program's own operation would wait for ours */
        return;
    }
    while (before > 0 && !atomic_compare_exchange_weak(&flow.aside, &before, before - 1))
        continue;
}

static void look_for_coordinator(double now) {
    atomic_store(&flow.retry, now + RETRY_SECONDS);
    if (!ps_settings.observe && !ps_stands_aside() && !flow.ended && !is_stranger() && ps_job() == NULL && ps_join())
        start_watching();
}

static void open_phase(double now, bool speaks) {
    ps_record_open();
    flow.offset = ps_realtime() - nanoseconds(now);
    ps_record->open_begin = ps_record->last = flow.offset + nanoseconds(now);
    add(&ps_record->phases, 1);
    atomic_store(&flow.last, now);
    if (speaks && ps_job() == NULL)
        look_for_coordinator(now);
    atomic_store(&flow.open, true); /* last: other threads wait for the lock and then find the job */
    ring();
}

static void look_at_phase(double now, bool speaks) {
    pthread_mutex_lock(&flow.lock);
    if (flow.open && is_quiet(now, ps_settings.gap))
        end_phase();
    if (!flow.open)
        open_phase(now, speaks);
    else if (speaks && ps_job() == NULL && now >= flow.retry)
        look_for_coordinator(now);
    pthread_mutex_unlock(&flow.lock);
}

void ps_appear(void) {
    if (ps_depth > 0)
        return;
    ps_depth++;
    pthread_mutex_lock(&flow.lock);
    ps_record_open();
    pthread_mutex_unlock(&flow.lock);
    ps_depth--;
}

/* ---- The turn, with the job's lock ---- */

/* Announce bytes: as many as the phase before had, or else as many as this phase has moved so far. */
static void begin_operation(penstock_job *job, uint64_t size) {
    uint64_t moved = moved_in_phase(), known = ps_settings.volume > 0 ? ps_settings.volume : flow.learned;
    uint64_t volume = known > moved ? known - moved : moved > FIRST_VOLUME ? moved : FIRST_VOLUME;
    if (known <= moved && volume < size)
        volume = least(size, MOST_FIRST);
    (void)ps_job_begin(job, volume, known > 0 && known == volume ? ps_settings.rounds : 0, PS_EXPLICIT);
    flow.holding = true;
    ring();
}

/* Announce bytes of which a call of several processes has so many left, in rounds that it knows; more if the phase is
 * known to go on. */
static void begin_rounds(penstock_job *job, const struct ps_rounds *rounds) {
    uint64_t moved = moved_in_phase(), known = ps_settings.volume > 0 ? ps_settings.volume : flow.learned;
    uint64_t volume = rounds->left, count = rounds->count;
    if (known > moved && known - moved > volume) {
        uint64_t round = volume / count > 0 ? volume / count : 1;
        volume = known - moved;
        count = (volume + round - 1) / round;
    }
    (void)ps_job_begin(job, volume, least(count, PS_MOST_ROUNDS), PS_EXPLICIT);
    flow.holding = true;
    ring();
}

/* Seconds until the operation may move data, 0 or less if it may now. */
static double delay(penstock_job *job, double now) {
    if (ps_gate_settle(&job->link->gate, now))
        ps_link_send(job->link);
    return ps_gate_delay(&job->link->gate, now);
}

/* Note whether there is a coordinator, and when it was lost. */
static void note_coordinator(const struct ps_session *session, double now) {
    bool alone = ps_session_uncoordinated(session, now);
    if (alone && flow.coordinated)
        add(&ps_record->outages, 1);
    if (session->registered && !alone)
        atomic_fetch_or(&ps_record->flags, PS_COORDINATED);
    flow.coordinated = session->registered && !alone;
}

static void wait_for_change(penstock_job *job, double seconds) {
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* a thread that ends here would keep the lock */
    ps_link_wait(job->link, seconds);
    pthread_setcancelstate(cancel, NULL);
}

/* Take bytes out of the bucket now; what is not moved is given back. */
static void reserve(struct ps_gate *gate, uint64_t bytes, double now) {
    ps_gate_moved(gate, bytes, now, now);
}

/* How many bytes of `size` the open gate lets through: complete pages if not all, as O_DIRECT wants them. */
static uint64_t let_through(struct ps_gate *gate, uint64_t size, bool whole) {
    const struct ps_operation *operation = &gate->session->operation;
    if (!gate->session->operating)
        return size;
    uint64_t left = least(size, operation->volume - operation->moved), open = ps_gate_open(gate, left, whole);
    if (whole)
        return left; /* a round that is already begun is not cut */
    if (open < size)
        open = open >= PAGE ? open / PAGE * PAGE : least(size, PAGE);
    return open;
}

/* Wait until bytes may move; the date then. `rounds` is NULL for a call of this process alone. */
static double wait_for_turn(penstock_job *job, uint64_t size, double start, const struct ps_rounds *rounds) {
    struct ps_session *session = &job->link->session;
    for (double now = start;; now = ps_clock()) {
        if (session->operating && session->operation.moved >= session->operation.volume)
            ps_job_end(job);
        if (!session->operating && rounds != NULL)
            begin_rounds(job, rounds);
        else if (!session->operating)
            begin_operation(job, size);
        double seconds = delay(job, now);
        if (seconds <= 0.0 || flow.ended) {
            if (now > start) {
                add(&ps_record->waited, nanoseconds(now - start));
                atomic_fetch_add_explicit(&flow.waited, nanoseconds(now - start), memory_order_relaxed);
            }
            note_coordinator(session, now);
            return now;
        }
        wait_for_change(job, seconds);
        if (is_stranger()) /* a fork that we have not seen: nobody will wake us */
            return now;
    }
}

static uint64_t take_turn(penstock_job *job, uint64_t size, double now, const struct ps_rounds *rounds) {
    struct ps_session *session = &job->link->session;
    now = wait_for_turn(job, size, now, rounds);
    size = let_through(&job->link->gate, size, rounds != NULL);
    reserve(&job->link->gate, size, now);
    if (rounds != NULL)
        session->operation.between_rounds = true; /* a pause begins after this round, whatever rounds were announced */
    begun = now;
    return size;
}

/* Correct what was taken by what was moved. A report that is sent stays true. */
static void correct(penstock_job *job, uint64_t taken, uint64_t moved, double now) {
    struct ps_gate *gate = &job->link->gate;
    struct ps_operation *operation = &gate->session->operation;
    if (moved > taken) {
        reserve(gate, moved - taken, now);
    } else if (gate->session->operating && operation->moved - operation->reported >= taken - moved) {
        operation->moved -= taken - moved;
        gate->moved -= taken - moved;
    }
    if (moved < taken && isfinite(gate->pacer.rate))
        gate->pacer.due -= (double)(taken - moved) / gate->pacer.rate;
}

/* ---- Calls ---- */

static void look(double now, bool speaks) {
    if (!atomic_load_explicit(&flow.open, memory_order_relaxed) ||
        now - atomic_load_explicit(&flow.last, memory_order_relaxed) >= ps_settings.gap ||
        (speaks && now >= atomic_load_explicit(&flow.retry, memory_order_relaxed) && ps_job() == NULL))
        look_at_phase(now, speaks);
}

bool ps_enter(void) {
    if (ps_depth > 0)
        return false;
    ps_depth++;
    begun = ps_clock();
    look(begun, true);
    atomic_fetch_add_explicit(&flow.busy, 1, memory_order_relaxed);
    return true;
}

void ps_enter_together(bool speaks) {
    ps_depth++;
    look(ps_clock(), speaks);
}

void ps_begin_rounds(void) {
    begun = ps_clock();
    look(begun, true); /* the others may have come late */
    atomic_fetch_add_explicit(&flow.busy, 1, memory_order_relaxed);
}

void ps_end_rounds(void) { atomic_fetch_sub_explicit(&flow.busy, 1, memory_order_relaxed); }

/* The job whose turn a call must wait for, or NULL. */
static penstock_job *job_to_ask(void) {
    return atomic_load_explicit(&flow.ended, memory_order_relaxed) || ps_stands_aside() ? NULL : ps_job();
}

size_t ps_take(size_t size) {
    penstock_job *job = job_to_ask();
    if (job == NULL || !ps_job_trylock(job))
        return size;
    size = take_turn(job, size, begun, NULL);
    ps_job_unlock(job);
    return size;
}

double ps_turn(const struct ps_rounds *rounds) {
    penstock_job *job = job_to_ask();
    if (job == NULL || !ps_job_trylock(job))
        return INFINITY;
    wait_for_turn(job, rounds->left, ps_clock(), rounds);
    double rate = job->link->gate.pacer.rate;
    ps_job_unlock(job);
    return rate;
}

bool ps_take_round(uint64_t size, const struct ps_rounds *rounds) {
    penstock_job *job = job_to_ask();
    struct ps_rounds left = *rounds;
    if (job == NULL || !ps_job_trylock(job))
        return false;
    for (uint64_t taken = 0; taken < size; left.left = rounds->left - taken)
        taken += take_turn(job, size - taken, ps_clock(), &left);
    ps_job_unlock(job);
    return true;
}

void ps_round_moved(uint64_t taken, uint64_t moved, uint64_t own) {
    penstock_job *job = ps_job();
    double now = ps_clock();
    atomic_store_explicit(&flow.last, now, memory_order_relaxed);
    atomic_fetch_add(&flow.others, moved > own ? moved - own : 0);
    if (job != NULL && taken != moved && ps_job_trylock(job)) {
        correct(job, taken, moved, now);
        ps_job_unlock(job);
    }
}

size_t ps_take_all(size_t size) {
    for (size_t taken = 0; taken < size;) {
        size_t more = ps_take(size - taken);
        taken += more;
    }
    return size;
}

void ps_moved(enum ps_direction direction, size_t taken, size_t moved) {
    double now = ps_clock();
    penstock_job *job = ps_job();
    ps_count(direction, moved, 0);
    atomic_store_explicit(&flow.last, now, memory_order_relaxed);
    ps_record->last = flow.offset + nanoseconds(now);
    if (job != NULL && taken != moved && ps_job_trylock(job)) {
        correct(job, taken, moved, now);
        ps_job_unlock(job);
    }
    begun = now;
}

void ps_moved_besides(enum ps_direction direction, size_t moved) {
    if (calling)
        ps_moved(direction, 0, moved);
    else
        ps_count(direction, moved, 0);
}

void ps_leave(enum ps_direction direction) {
    atomic_fetch_sub_explicit(&flow.busy, 1, memory_order_relaxed);
    ps_leave_together(direction);
}

void ps_leave_together(enum ps_direction direction) {
    add(direction == PS_READ ? &ps_record->read_calls : &ps_record->write_calls, 1);
    ps_depth--;
}

ssize_t ps_move(enum ps_direction direction, size_t total, ps_mover call, void *context) {
    size_t done = 0, size;
    ssize_t moved;
    int before = errno;
    if (total == 0 || total > SSIZE_MAX)
        return call(context, 0, total);
    if (!ps_enter()) {
        moved = call(context, 0, total);
        ps_count(direction, moved > 0 ? (uint64_t)moved : 0, 1);
        return moved;
    }
    do {
        size = ps_take(total - done);
        errno = before;
        calling = true;
        moved = call(context, done, size);
        calling = false;
        int error = errno;
        ps_moved(direction, size, moved > 0 ? (size_t)moved : 0);
        errno = error;
        if (moved > 0)
            done += (size_t)moved;
    } while (moved > 0 && (size_t)moved == size && done < total);
    ps_leave(direction);
    return done > 0 ? (ssize_t)done : moved;
}

void ps_touch(void) {
    if (atomic_load_explicit(&flow.open, memory_order_relaxed))
        atomic_store_explicit(&flow.last, ps_clock(), memory_order_relaxed);
}

/* ---- Fork and exit ---- */

/* Threads, locks and the connection of the parent are not ours. */
static void forked(void) {
    ps_disown_all();
    pthread_mutex_init(&flow.lock, NULL);
    pthread_mutex_init(&flow.bell, NULL);
    pthread_cond_init(&flow.ringing, NULL);
    flow.rung = false;
    flow.pid = getpid();
    flow.watched = flow.coordinated = false;
    flow.open = flow.holding = false;
    flow.busy = flow.aside = 0;
    flow.waited = 0;
    ps_job_forked();
    ps_record_forked();
}

SHIM(pid_t, _Fork, (void)) {
    penstock_job *job = ps_job();
    struct ps_link *link = job != NULL ? job->link : NULL;
    pid_t child = real__Fork()();
    if (child == 0) {
        forked();
        ps_job_disconnect(link); /* no handler of libpenstock runs here */
    }
    return child;
}

void ps_withdraw(bool leaving) {
    penstock_job *job = ps_job();
    int before = errno;
    if (job == NULL || ps_depth > 0 || is_stranger() || pthread_mutex_trylock(&job->link->lock) != 0)
        return;
    ps_depth++;
    ps_job_end(job);
    flow.holding = false;
    if (leaving) {
        ps_session_leave(&job->link->session);
        ps_link_send(job->link);
    }
    ps_job_unlock(job);
    ps_depth--;
    errno = before;
}

__attribute__((constructor)) static void begin(void) {
    flow.pid = getpid();
    if (getenv("PENSTOCK_MOUNTS") != NULL)
        pthread_atfork(NULL, NULL, forked);
}

/* What is still in buffers of streams is written after this. */
void ps_end_streams(void);

__attribute__((destructor)) static void finish(void) {
    struct timespec until;
    int before = errno;
    if (is_stranger())
        return;
    ps_depth++;
    ps_end_streams();
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += EXIT_MILLISECONDS * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (flow.open && pthread_mutex_timedlock(&flow.lock, &until) == 0) {
        end_phase();
        flow.ended = true;
        pthread_mutex_unlock(&flow.lock);
    }
    flow.ended = true;
    ps_depth--;
    errno = before;
}
