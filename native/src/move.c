/* The calls that move data: slice by slice, when there is a turn and at the rate that is granted. */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "job.h"

/* ---- Waiting, with the lock ---- */

/* Seconds until the operation may move data, 0 or less if it may now. */
static double delay(penstock_job *job, double now) {
    struct ps_gate *gate = &job->link->gate;
    if (ps_gate_settle(gate, now))
        ps_link_send(job->link);
    return ps_gate_delay(gate, now);
}

/* Wait until the operation of that number may move data; how many bytes, or PENSTOCK_E_ENDED. */
static int64_t take_turn(penstock_job *job, uint64_t number, uint64_t left, bool whole_rounds) {
    while (job->owner != PS_NOBODY && job->link->session.operations == number) {
        double now = ps_clock(), seconds = delay(job, now);
        if (seconds <= 0.0) {
            job->begun = now;
            return (int64_t)ps_gate_open(&job->link->gate, left, whole_rounds);
        }
        ps_link_wait(job->link, seconds);
    }
    return PENSTOCK_E_ENDED;
}

/* Count what was moved since the turn was taken; `left` more will be moved by the same call. */
static void count(penstock_job *job, uint64_t number, uint64_t bytes, uint64_t left) {
    struct ps_gate *gate = &job->link->gate;
    const struct ps_operation *operation = &gate->session->operation;
    if (!gate->session->operating || operation->number != number) {
        gate->moved += bytes;
        return;
    }
    double now = ps_clock();
    ps_gate_moved(gate, bytes, job->begun, now);
    if (left == 0 && ps_gate_settle(gate, now))
        ps_link_send(job->link);
}

static int64_t move_all(penstock_job *job, uint64_t total, penstock_mover call, void *context, bool whole_rounds) {
    uint64_t number = job->link->session.operations, done = 0;
    int64_t size, moved;
    do {
        size = moved = take_turn(job, number, total - done, whole_rounds);
        if (size < 0)
            break;
        ps_job_unlock(job);
        moved = call(context, done, (size_t)size);
        ps_job_lock(job);
        if (moved > 0)
            done += (uint64_t)moved;
        count(job, number, moved > 0 ? (uint64_t)moved : 0, moved > 0 ? total - done : 0);
    } while (moved > 0 && done < total);
    return done > 0 || moved >= 0 ? (int64_t)done : moved;
}

int64_t penstock_move(penstock_job *job, uint64_t total, penstock_mover call, void *context, unsigned flags) {
    if (total > PS_MOST_COUNT || call == NULL)
        return PENSTOCK_E_RANGE;
    if (total == 0)
        return 0;
    int cancel = ps_job_no_cancel();
    pthread_mutex_lock(&job->link->moving);
    ps_job_lock(job);
    int64_t result = 0;
    if (job->owner != PS_EXPLICIT)
        result = ps_job_begin(job, total, 0, PS_ONE_CALL);
    if (result == 0)
        result = move_all(job, total, call, context, (flags & PENSTOCK_WHOLE_ROUNDS) != 0);
    if (job->owner == PS_ONE_CALL)
        ps_job_end(job);
    ps_job_unlock(job);
    pthread_mutex_unlock(&job->link->moving);
    ps_job_restore_cancel(cancel);
    return result;
}

/* ---- Files ---- */

struct transfer {
    int file;
    char *data;
    const char *source; /* not NULL: write from here */
    off_t at;           /* -1: at the position of the file */
};

static int64_t one_call(void *context, uint64_t from, size_t size) {
    const struct transfer *transfer = context;
    off_t at = transfer->at + (off_t)from;
    ssize_t moved;
    do {
        if (transfer->source != NULL)
            moved = transfer->at < 0 ? write(transfer->file, transfer->source + from, size)
                                     : pwrite(transfer->file, transfer->source + from, size, at);
        else
            moved = transfer->at < 0 ? read(transfer->file, transfer->data + from, size)
                                     : pread(transfer->file, transfer->data + from, size, at);
    } while (moved < 0 && errno == EINTR);
    return moved < 0 ? -errno : moved;
}

static ssize_t move_file(penstock_job *job, struct transfer transfer, size_t size) {
    if (transfer.at < -1)
        return PENSTOCK_E_RANGE;
    return (ssize_t)penstock_move(job, size, one_call, &transfer, 0);
}

ssize_t penstock_write(penstock_job *job, int file, const void *data, size_t size) {
    struct transfer transfer = {file, NULL, data, -1};
    return move_file(job, transfer, size);
}

ssize_t penstock_read(penstock_job *job, int file, void *data, size_t size) {
    struct transfer transfer = {file, data, NULL, -1};
    return move_file(job, transfer, size);
}

ssize_t penstock_write_at(penstock_job *job, int file, const void *data, size_t size, off_t at) {
    struct transfer transfer = {file, NULL, data, at < 0 ? -2 : at};
    return move_file(job, transfer, size);
}

ssize_t penstock_read_at(penstock_job *job, int file, void *data, size_t size, off_t at) {
    struct transfer transfer = {file, data, NULL, at < 0 ? -2 : at};
    return move_file(job, transfer, size);
}

/* ---- Without waiting ---- */

int penstock_fd(penstock_job *job) {
    struct ps_link *link = job->link;
    ps_job_lock(job);
    if (!link->session.disabled && link->changes.ear.number < 0)
        (void)ps_bell_make(&link->changes);
    int number = link->changes.ear.number;
    ps_job_unlock(job);
    return number;
}

int64_t penstock_ready(penstock_job *job, uint64_t left, double *seconds) {
    int64_t size = 0;
    ps_job_lock(job);
    ps_bell_silence(&job->link->changes);
    double now = ps_clock(), waits = job->owner == PS_EXPLICIT ? delay(job, now) : 0.0;
    if (job->owner != PS_EXPLICIT) {
        size = PENSTOCK_E_NO_OPERATION;
    } else if (waits <= 0.0 && left > 0) {
        uint64_t open = ps_gate_open(&job->link->gate, left, false);
        size = open > INT64_MAX ? INT64_MAX : (int64_t)open;
        job->begun = now;
    }
    if (seconds != NULL)
        *seconds = waits > 0.0 ? waits : 0.0;
    ps_job_unlock(job);
    return size;
}

int penstock_moved(penstock_job *job, uint64_t bytes) {
    int code = PENSTOCK_E_NO_OPERATION;
    ps_job_lock(job);
    if (job->owner == PS_EXPLICIT && bytes <= PS_MOST_COUNT) {
        count(job, job->link->session.operations, bytes, 0);
        code = 0;
    } else if (job->owner == PS_EXPLICIT) {
        code = PENSTOCK_E_RANGE;
    }
    ps_job_unlock(job);
    return code;
}

static ssize_t try_file(penstock_job *job, struct transfer transfer, size_t size, double *seconds) {
    if (transfer.at < -1)
        return PENSTOCK_E_RANGE;
    int64_t ready = penstock_ready(job, size, seconds);
    if (ready <= 0)
        return (ssize_t)ready;
    int64_t moved = one_call(&transfer, 0, (size_t)ready);
    int code = penstock_moved(job, moved > 0 ? (uint64_t)moved : 0);
    return (ssize_t)(moved == 0 && code < 0 ? code : moved);
}

ssize_t penstock_try_write(penstock_job *job, int file, const void *data, size_t size, double *seconds) {
    struct transfer transfer = {file, NULL, data, -1};
    return try_file(job, transfer, size, seconds);
}

ssize_t penstock_try_read(penstock_job *job, int file, void *data, size_t size, double *seconds) {
    struct transfer transfer = {file, data, NULL, -1};
    return try_file(job, transfer, size, seconds);
}

ssize_t penstock_try_write_at(penstock_job *job, int file, const void *data, size_t size, off_t at, double *seconds) {
    struct transfer transfer = {file, NULL, data, at < 0 ? -2 : at};
    return try_file(job, transfer, size, seconds);
}

ssize_t penstock_try_read_at(penstock_job *job, int file, void *data, size_t size, off_t at, double *seconds) {
    struct transfer transfer = {file, data, NULL, at < 0 ? -2 : at};
    return try_file(job, transfer, size, seconds);
}
