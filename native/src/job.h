/* A job: its link, and who began the operation under way. The link's lock guards it. */
#ifndef PS_JOB_H
#define PS_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "levels.h"
#include "link.h"
#include "penstock.h"

enum ps_owner {
    PS_NOBODY,
    PS_SIX_CALLS, /* penstock_inform */
    PS_EXPLICIT,  /* penstock_begin */
    PS_ONE_CALL   /* a call that is an operation of its own */
};

struct penstock_job {
    struct ps_link *link;
    double patience;
    enum ps_owner owner;
    double begun; /* when penstock_ready allowed bytes */
    struct ps_levels levels; /* of prepare */
    int announced;           /* how deep they were when inform announced the operation; -1: it did not */
    bool stepping;           /* a step is informed of and not released */
    pid_t aside;             /* the process in which a preloaded library stands aside for this job; 0: none */
};

void ps_job_lock(penstock_job *job);
void ps_job_unlock(penstock_job *job);
/* A thread that is cancelled in the middle of a wait would keep the lock: it is cancelled after the call. */
int ps_job_no_cancel(void);
void ps_job_restore_cancel(int state);
/* With the lock: begin an operation (rounds 0: the default), which is a part of what is prepared, or end it. */
int ps_job_begin(penstock_job *job, uint64_t volume, uint64_t rounds, enum ps_owner owner);
int ps_job_announce(penstock_job *job, const struct ps_announcement *announced, enum ps_owner owner);
void ps_job_end(penstock_job *job);

#endif
