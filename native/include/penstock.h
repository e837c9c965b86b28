/* libpenstock: the I/O of an application, coordinated with that of others.
 *
 * A program opens a job, announces its I/O operations and moves its data through the paced calls, or asks before each
 * step. `penstock serve` tells it how fast it may go. Without a coordinator, or with one that fails, the same program
 * goes on by itself: no call fails for that reason, and none waits for longer than the job's patience.
 *
 * Volumes are bytes, rates bytes/s, times seconds. A function that can fail returns a negative number: one of the codes
 * below, or -errno of a file. `penstock_strerror` explains both. All functions may be called from any thread; a job
 * must not be used after `penstock_close`. The library installs no signal handler and allocates memory in
 * `penstock_open` only. After a fork the child is uncoordinated until it opens a job of its own.
 *
 * The six calls are those of CALCioM (Dorier et al., IPDPS 2014, section III.C).
 */
#ifndef PENSTOCK_H
#define PENSTOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PENSTOCK_API __attribute__((visibility("default")))
#else
#define PENSTOCK_API
#endif

#define PENSTOCK_VERSION "0.2.0"

enum penstock_code {
    PENSTOCK_E_RANGE = -4001,        /* an argument is out of range */
    PENSTOCK_E_ADDRESS = -4002,      /* the address of the coordinator cannot be used */
    PENSTOCK_E_TOKEN = -4003,        /* the token file cannot be used */
    PENSTOCK_E_BUSY = -4004,         /* an operation of this job is under way */
    PENSTOCK_E_NO_OPERATION = -4005, /* no operation is under way */
    PENSTOCK_E_ENDED = -4006,        /* the operation was ended while the call waited */
    PENSTOCK_E_NO_STEP = -4007,      /* no step is informed of */
    PENSTOCK_E_STEP = -4008,         /* the step informed of before is not released */
    PENSTOCK_E_NO_VOLUME = -4009,    /* no level of the stack has a volume */
    PENSTOCK_E_NOT_PREPARED = -4010, /* nothing is prepared */
    PENSTOCK_E_DEPTH = -4011         /* the stack of prepare is full */
};

/* What a code says, in one line. The text is valid until the same thread calls this again. */
PENSTOCK_API const char *penstock_strerror(int code);

/* The version of the library that runs, as "0.2.0". */
PENSTOCK_API const char *penstock_version(void);

/* ---- A job: an application from its registration to its end ---- */

typedef struct penstock_job penstock_job;

enum { PENSTOCK_INFO = 1, PENSTOCK_WARNING = 2 };

/* Is given what people should read, as one line without a newline. A thread of the library may call it; it must not call
 * the library. */
typedef void (*penstock_notice)(void *context, int level, const char *text);

/* How to open a job. Begin with PENSTOCK_OPTIONS_INIT and set what you know. */
typedef struct penstock_options {
    size_t size;            /* sizeof(penstock_options), so that later versions may add members */
    const char *name;       /* 1 to 200 characters; NULL: of the Slurm job, else of the program */
    const char *address;    /* a path, or host:port; NULL: PENSTOCK_SOCKET, else the default socket */
    const char *token_file; /* for host:port; NULL: PENSTOCK_TOKEN_FILE */
    int64_t nodes;          /* 0: of the Slurm job, else 1 */
    double bandwidth;       /* the most that it can use, bytes/s; negative: by its nodes */
    double lead;            /* seconds from now on that belong to no iteration */
    double whole;           /* seconds of its complete run with the I/O system to itself; negative: not known */
    double patience;        /* seconds to wait for a coordinator that does not answer; negative:
                               PENSTOCK_PATIENCE, else 5 */
    penstock_notice notice; /* NULL: warnings go to standard error */
    void *context;          /* is handed to notice */
} penstock_options;

#define PENSTOCK_OPTIONS_INIT {sizeof(penstock_options), NULL, NULL, NULL, 0, -1.0, 0.0, -1.0, -1.0, NULL, NULL}

/* Open a job. Returns 0 or a code; fails only for wrong arguments and want of memory. options may be NULL. */
PENSTOCK_API int penstock_open(penstock_job **job, const penstock_options *options);

/* End the job, and its operation if it has one. Waits for the coordinator for a second at most. NULL is allowed. */
PENSTOCK_API int penstock_close(penstock_job *job);

typedef struct penstock_state {
    int coordinated;     /* 1 while the job follows a coordinator */
    double rate;         /* bytes/s that it may use now: 0 while it waits, infinite if nothing limits it */
    double waited;       /* seconds for which it has waited for its turn so far */
    uint64_t moved;      /* bytes moved so far */
    int64_t application; /* its number at the coordinator; -1 before it has one */
    char policy[64];     /* the policy of the coordinator; empty before it is registered */
} penstock_state;

/* How the job is doing now. */
PENSTOCK_API int penstock_get_state(penstock_job *job, penstock_state *state);

/* ---- Operations, and calls that move data at the rate that is granted ---- */

/* Announce an operation of so many bytes, which can be paused between two of its rounds. rounds 0: rounds of 16 MiB.
 * Does not wait. A job has one operation at a time. */
PENSTOCK_API int penstock_begin(penstock_job *job, uint64_t volume, uint64_t rounds);

/* End the operation, complete or not. */
PENSTOCK_API int penstock_end(penstock_job *job);

/* As write, read, pwrite and pread, but wait for the turn, keep to the rate and go on until all is moved, the file ends
 * or an error occurs. Return the bytes moved, or a negative code if none were. Without an operation, the call is
 * an operation of its own. */
PENSTOCK_API ssize_t penstock_write(penstock_job *job, int file, const void *data, size_t size);
PENSTOCK_API ssize_t penstock_read(penstock_job *job, int file, void *data, size_t size);
PENSTOCK_API ssize_t penstock_write_at(penstock_job *job, int file, const void *data, size_t size, off_t at);
PENSTOCK_API ssize_t penstock_read_at(penstock_job *job, int file, void *data, size_t size, off_t at);

/* Moves `size` bytes from position `at` of the whole on; returns how many it has moved, 0 at the end of the file, or
 * a negative code. */
typedef int64_t (*penstock_mover)(void *context, uint64_t at, size_t size);

enum { PENSTOCK_WHOLE_ROUNDS = 1 /* do not cut rounds into slices: one call a round */ };

/* Move bytes by a function of your own. Returns as penstock_write. */
PENSTOCK_API int64_t penstock_move(penstock_job *job, uint64_t total, penstock_mover call, void *context,
                                   unsigned flags);

/* ---- The same without waiting, for event loops ---- */

/* A descriptor that is readable when something has changed: then, and when the time to wait is over, ask again. It
 * belongs to the job. Returns -1 where nothing will ever change, because coordination is off. */
PENSTOCK_API int penstock_fd(penstock_job *job);

/* How many of `left` bytes may be moved now. 0: none yet; ask again after *seconds, or when penstock_fd is readable.
 * Tell with penstock_moved how many were moved, also if none were. */
PENSTOCK_API int64_t penstock_ready(penstock_job *job, uint64_t left, double *seconds);

/* Count bytes that were moved since penstock_ready allowed them. */
PENSTOCK_API int penstock_moved(penstock_job *job, uint64_t bytes);

/* One call on the file, of as many bytes as may be moved now. Return the bytes moved, 0 with *seconds above 0 if it is
 * not yet time, 0 with *seconds 0 at the end of the file, or a negative code. */
PENSTOCK_API ssize_t penstock_try_write(penstock_job *job, int file, const void *data, size_t size, double *seconds);
PENSTOCK_API ssize_t penstock_try_read(penstock_job *job, int file, void *data, size_t size, double *seconds);
PENSTOCK_API ssize_t penstock_try_write_at(penstock_job *job, int file, const void *data, size_t size, off_t at,
                                           double *seconds);
PENSTOCK_API ssize_t penstock_try_read_at(penstock_job *job, int file, void *data, size_t size, off_t at,
                                          double *seconds);

/* ---- The six calls of CALCioM, for middleware that moves its data itself ---- */

/* What is known about the next I/O; negative: not known. */
typedef struct penstock_info {
    int64_t volume; /* bytes */
    int64_t rounds; /* steps between which it can be paused */
    int64_t files;  /* each of so many rounds */
} penstock_info;

#define PENSTOCK_INFO_INIT {-1, -1, -1}

/* Push what is known onto a stack of 32 levels. An inner level describes one part of the level around it: its volume is its
 * share of that if it gives none, and what outer levels have to move after it is announced, too. */
PENSTOCK_API int penstock_prepare(penstock_job *job, const penstock_info *info);

/* Announce the operation that the stack and info (which may be NULL) describe, or that its next step starts. When the
 * operation of an inner level is moved and the outer levels have more, this announces the next part. */
PENSTOCK_API int penstock_inform(penstock_job *job, const penstock_info *info);

/* 1 if the step may access the I/O system now, 0 if not yet, or a code. */
PENSTOCK_API int penstock_check(penstock_job *job);

/* Wait until it may, for so many seconds at most; negative: without limit. 1 if it may, 0 if not yet, or a code. */
PENSTOCK_API int penstock_wait(penstock_job *job, double seconds);

/* End the step, which has moved so many bytes; negative: a round, or everything if it is the only step. */
PENSTOCK_API int penstock_release(penstock_job *job, int64_t moved);

/* Pop a level off the stack, and end the operation if it was announced at this level or below. */
PENSTOCK_API int penstock_complete(penstock_job *job);

#ifdef __cplusplus
}
#endif

#endif
