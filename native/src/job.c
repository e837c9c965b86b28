#include "job.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define SHORTLY 0.2 /* seconds that a program which ends without penstock_close waits for the coordinator */

const char *penstock_version(void) { return PENSTOCK_VERSION; }

const char *penstock_strerror(int code) {
    static _Thread_local char text[128];
    switch (code) {
    case 0:
        return "no error";
    case PENSTOCK_E_RANGE:
        return "an argument is out of range";
    case PENSTOCK_E_ADDRESS:
        return "the address is none; expected a path of at most 107 bytes, or host:port";
    case PENSTOCK_E_TOKEN:
        return "the token file cannot be used; expected one line of at most 512 characters, mode 0600";
    case PENSTOCK_E_BUSY:
        return "an operation of this job is under way; expected its end first, or another job";
    case PENSTOCK_E_NO_OPERATION:
        return "no operation is under way; expected penstock_begin first";
    case PENSTOCK_E_ENDED:
        return "the operation was ended while the call waited";
    case PENSTOCK_E_NO_STEP:
        return "no step is informed of; expected penstock_inform first";
    case PENSTOCK_E_STEP:
        return "the step informed of before is not released; expected penstock_release first";
    case PENSTOCK_E_NO_VOLUME:
        return "no volume; expected one in penstock_prepare or penstock_inform";
    case PENSTOCK_E_NOT_PREPARED:
        return "nothing is prepared; expected penstock_prepare first";
    case PENSTOCK_E_DEPTH:
        return "the stack of penstock_prepare is full; expected at most 32 levels";
    default:
        break;
    }
    const char *known = code < 0 && code > -4000 ? strerror_r(-code, text, sizeof text) : "unknown error";
    return known;
}

void ps_job_lock(penstock_job *job) { pthread_mutex_lock(&job->link->lock); }

void ps_job_unlock(penstock_job *job) { pthread_mutex_unlock(&job->link->lock); }

int ps_job_no_cancel(void) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

void ps_job_restore_cancel(int state) { pthread_setcancelstate(state, NULL); }

int ps_job_announce(penstock_job *job, const struct ps_announcement *announced, enum ps_owner owner) {
    if (job->owner != PS_NOBODY)
        return PENSTOCK_E_BUSY;
    job->owner = owner;
    ps_session_begin(&job->link->session, announced->volume, announced->rounds, announced->follows, ps_clock());
    ps_link_send(job->link);
    return 0;
}

int ps_job_begin(penstock_job *job, uint64_t volume, uint64_t rounds, enum ps_owner owner) {
    penstock_info told = PENSTOCK_INFO_INIT;
    struct ps_announcement announced;
    if (volume > PS_MOST_COUNT || rounds > PS_MOST_ROUNDS)
        return PENSTOCK_E_RANGE;
    told.volume = (int64_t)volume;
    told.rounds = rounds > 0 ? (int64_t)rounds : -1;
    int code = ps_levels_announce_inside(&job->levels, &told, &announced);
    return code != 0 ? code : ps_job_announce(job, &announced, owner);
}

void ps_job_end(penstock_job *job) {
    if (job->link->session.operating)
        ps_levels_count(&job->levels, job->link->session.operation.moved);
    job->owner = PS_NOBODY;
    job->announced = -1;
    job->stepping = false;
    ps_gate_stop_waiting(&job->link->gate, ps_clock());
    ps_session_end(&job->link->session);
    ps_link_send(job->link);
    pthread_cond_broadcast(&job->link->changed); /* calls that wait for this operation */
}

/* ---- Opening ---- */

struct setup {
    struct ps_identity identity;
    struct ps_address address;
    struct ps_notices notices;
    char where[PS_WHERE_BYTES];
    double patience;
    bool disabled;
};

/* What the environment says wrongly never makes an application fail: it goes on uncoordinated and is told once. */
static void give_up(struct setup *setup, int code) {
    char line[PS_NOTICE_BYTES];
    struct ps_text text = ps_text(line, sizeof line);
    ps_put(&text, code == PENSTOCK_E_TOKEN ? "penstock: PENSTOCK_TOKEN_FILE: " : "penstock: PENSTOCK_SOCKET: ");
    ps_put(&text, penstock_strerror(code));
    ps_put(&text, "; going on uncoordinated");
    ps_notify(&setup->notices, PENSTOCK_WARNING, line);
    setup->disabled = true;
}

static int find_coordinator(struct setup *setup, const penstock_options *options) {
    int code = ps_find_address(options->address, &setup->address, setup->where);
    if (code != 0 && options->address != NULL)
        return code;
    if (code == 0) {
        code = ps_find_token(options->token_file, &setup->address, setup->identity.token);
        if (code != 0 && options->token_file != NULL)
            return code;
    }
    if (code != 0)
        give_up(setup, code);
    return 0;
}

static int set_up(struct setup *setup, const penstock_options *options) {
    memset(setup, 0, sizeof *setup);
    setup->disabled = ps_disabled();
    int code = ps_identify(&setup->identity, options->name, options->nodes, options->bandwidth, options->lead,
                           options->whole);
    if (code != 0 || setup->disabled)
        return code;
    code = ps_find_patience(options->patience, &setup->patience, &setup->notices);
    return code != 0 ? code : find_coordinator(setup, options);
}

/* Bytes must not wait for two turns, where libpenstock-posix is preloaded. */
static void stand_aside(int on) {
    void (*tell)(int);
    void *found = dlsym(RTLD_DEFAULT, "penstock_posix_stand_aside");
    memcpy(&tell, &found, sizeof found);
    if (tell != NULL)
        tell(on);
}

static penstock_job *make(const struct setup *setup, const penstock_options *options) {
    penstock_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return NULL;
    const struct ps_address *address = setup->disabled ? NULL : &setup->address;
    job->link = ps_link_new(&setup->identity, setup->patience, address, setup->where);
    if (job->link == NULL) {
        free(job);
        return NULL;
    }
    job->patience = setup->patience;
    job->announced = -1;
    job->link->voice.notice = options->notice;
    job->link->voice.context = options->context;
    job->link->session.notices = setup->notices;
    job->aside = getpid();
    stand_aside(1);
    ps_link_start(job->link);
    ps_link_speak(job->link);
    return job;
}

int penstock_open(penstock_job **job, const penstock_options *options) {
    const penstock_options standard = PENSTOCK_OPTIONS_INIT;
    if (job == NULL)
        return PENSTOCK_E_RANGE;
    *job = NULL;
    if (options == NULL)
        options = &standard;
    if (options->size != sizeof *options)
        return PENSTOCK_E_RANGE;
    struct setup *setup = malloc(sizeof *setup);
    if (setup == NULL)
        return -ENOMEM;
    int code = set_up(setup, options);
    if (code == 0) {
        *job = make(setup, options);
        code = *job != NULL ? 0 : -ENOMEM;
    }
    free(setup);
    return code;
}

int penstock_close(penstock_job *job) {
    if (job == NULL)
        return 0;
    double seconds = job->patience < 1.0 ? job->patience : 1.0;
    ps_link_leave(job->link, seconds > SHORTLY ? seconds : SHORTLY);
    if (job->aside == getpid())
        stand_aside(0); /* in a forked child it does not stand aside */
    free(job);
    return 0;
}

__attribute__((destructor)) static void leave_at_exit(void) { ps_link_leave_all(SHORTLY); }

/* ---- Operations ---- */

int penstock_begin(penstock_job *job, uint64_t volume, uint64_t rounds) {
    ps_job_lock(job);
    int code = ps_job_begin(job, volume, rounds, PS_EXPLICIT);
    ps_job_unlock(job);
    return code;
}

int penstock_end(penstock_job *job) {
    ps_job_lock(job);
    bool begun = job->owner == PS_EXPLICIT;
    if (begun)
        ps_job_end(job);
    ps_job_unlock(job);
    return begun ? 0 : PENSTOCK_E_NO_OPERATION;
}

int penstock_get_state(penstock_job *job, penstock_state *state) {
    const struct ps_session *session = &job->link->session;
    if (state == NULL)
        return PENSTOCK_E_RANGE;
    ps_job_lock(job);
    double now = ps_clock();
    state->coordinated = session->registered && !ps_session_uncoordinated(session, now);
    state->rate = ps_session_rate(session, now);
    state->waited = ps_gate_waited(&job->link->gate, now);
    state->moved = job->link->gate.moved;
    state->application = session->known ? (int64_t)session->application : -1;
    memcpy(state->policy, session->policy, sizeof state->policy);
    ps_job_unlock(job);
    return 0;
}
