/* The six calls of CALCioM (003 III.C). */
#include "job.h"

static const penstock_info UNKNOWN = PENSTOCK_INFO_INIT;

int penstock_prepare(penstock_job *job, const penstock_info *info) {
    ps_job_lock(job);
    int code = ps_levels_push(&job->levels, info != NULL ? info : &UNKNOWN);
    ps_job_unlock(job);
    return code;
}

static int announce(penstock_job *job, const penstock_info *info) {
    struct ps_announcement announced;
    int code = ps_levels_announce(&job->levels, info != NULL ? info : &UNKNOWN, &announced);
    if (code == 0)
        code = ps_job_announce(job, &announced, PS_SIX_CALLS);
    if (code == 0)
        job->announced = job->levels.depth;
    return code;
}

/* Whether the operation of the innermost level is moved, and the levels around it have more. */
static bool has_next_part(const penstock_job *job) {
    const struct ps_operation *operation = &job->link->session.operation;
    return job->announced == job->levels.depth && operation->moved >= operation->volume && operation->follows > 0;
}

int penstock_inform(penstock_job *job, const penstock_info *info) {
    ps_job_lock(job);
    int code = job->stepping ? PENSTOCK_E_STEP : 0;
    if (code == 0 && has_next_part(job))
        ps_job_end(job);
    if (code == 0 && job->announced < 0)
        code = announce(job, info);
    if (code == 0) {
        job->stepping = true;
        ps_operation_begin_step(&job->link->session.operation);
    }
    ps_job_unlock(job);
    return code;
}

/* Whether the step may access now; if so it is in a round. */
static bool take_turn(penstock_job *job) {
    bool turn = ps_gate_turn(&job->link->gate, ps_clock());
    if (turn)
        job->link->session.operation.in_round = true;
    return turn;
}

int penstock_check(penstock_job *job) {
    ps_job_lock(job);
    int result = PENSTOCK_E_NO_STEP;
    if (job->stepping) {
        result = take_turn(job);
        ps_gate_stop_waiting(&job->link->gate, ps_clock());
    }
    ps_job_unlock(job);
    return result;
}

int penstock_wait(penstock_job *job, double seconds) {
    struct ps_gate *gate = &job->link->gate;
    int cancel = ps_job_no_cancel();
    ps_job_lock(job);
    uint64_t number = job->link->session.operation.number;
    int result = job->stepping ? 0 : PENSTOCK_E_NO_STEP;
    double end = ps_clock() + seconds;
    while (result == 0) {
        if (!job->stepping || job->link->session.operation.number != number) {
            result = PENSTOCK_E_ENDED;
        } else if (take_turn(job)) {
            result = 1;
        } else {
            double now = ps_clock(), delay = ps_gate_delay(gate, now);
            if (seconds >= 0.0 && now >= end)
                break;
            ps_link_wait(job->link, seconds >= 0.0 && end - now < delay ? end - now : delay);
        }
    }
    ps_gate_stop_waiting(gate, ps_clock());
    ps_job_unlock(job);
    ps_job_restore_cancel(cancel);
    return result;
}

/* Bytes of a step that does not say how many it has moved. */
static uint64_t usual_bytes(const penstock_job *job) {
    const struct ps_operation *operation = &job->link->session.operation;
    uint64_t rest = operation->volume > operation->moved ? operation->volume - operation->moved : 0;
    if (job->announced == 0 || operation->boundary == PS_NO_BOUNDARY)
        return rest;
    uint64_t round = operation->boundary - operation->moved;
    return round < rest ? round : rest;
}

static void end_step(penstock_job *job, uint64_t moved) {
    struct ps_link *link = job->link;
    double now = ps_clock();
    ps_gate_stop_waiting(&link->gate, now);
    ps_operation_end_step(&link->session.operation);
    ps_operation_advance(&link->session.operation, moved);
    link->gate.moved += moved;
    ps_session_round_ended(&link->session, now);
    job->stepping = false;
    if (job->announced == 0)
        ps_job_end(job);
    ps_link_send(link);
}

int penstock_release(penstock_job *job, int64_t moved) {
    ps_job_lock(job);
    int code = job->stepping ? 0 : PENSTOCK_E_NO_STEP;
    if (code == 0 && moved > (int64_t)PS_MOST_COUNT)
        code = PENSTOCK_E_RANGE;
    if (code == 0)
        end_step(job, moved >= 0 ? (uint64_t)moved : usual_bytes(job));
    ps_job_unlock(job);
    return code;
}

int penstock_complete(penstock_job *job) {
    ps_job_lock(job);
    int code = job->levels.depth > 0 ? 0 : PENSTOCK_E_NOT_PREPARED;
    if (code == 0) {
        if (job->announced >= job->levels.depth)
            ps_job_end(job);
        ps_levels_pop(&job->levels);
    }
    ps_job_unlock(job);
    return code;
}
