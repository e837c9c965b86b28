/* The job of this process at the coordinator: made with the first watched byte, and only if there is a coordinator. */
#ifndef PS_CONNECTION_H
#define PS_CONNECTION_H

#include "job.h"

/* The job; NULL if there is none. */
penstock_job *ps_job(void);
/* Connect if there is a coordinator, without waiting for it. Whether there is a job now. */
bool ps_join(void);
/* The job is the parent's. */
void ps_job_forked(void);
/* After a _Fork, which runs no handlers: let go of the parent's connection for good. NULL is allowed. */
void ps_job_disconnect(struct ps_link *link);
/* Lock the job; false if that takes so long that the lock must be lost. */
bool ps_job_trylock(penstock_job *job);

#endif
