/* What this process did, for `penstock run`: counters in a file that is mapped, and a line for each phase that has ended.
 *
 * src/penstock/native/records.py reads both. Shared memory keeps what a process counted before it was killed.
 */
#ifndef PS_RECORD_H
#define PS_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { PS_RECORD_VERSION = 1, PS_COORDINATED = 1, PS_RANK = 2 /* of an MPI program */ };

typedef _Atomic uint64_t ps_counter;

struct ps_record {
    char magic[8];
    uint32_t version;
    uint32_t pid;
    uint32_t parent;
    _Atomic uint32_t flags;
    uint64_t begin; /* of the program; dates are nanoseconds since 1970 */
    ps_counter read;
    ps_counter written;
    ps_counter read_calls;
    ps_counter write_calls;
    ps_counter phases;
    ps_counter waited; /* nanoseconds */
    ps_counter mapped;
    ps_counter rings;
    ps_counter submissions;
    ps_counter outages;
    ps_counter open_begin; /* of the open phase; 0: none */
    ps_counter open_read;
    ps_counter open_written;
    ps_counter last; /* the last activity */
    char program[112];
};

/* The counters of this process: in the file once that is open, in memory before. */
extern _Atomic(struct ps_record *) ps_record;

uint64_t ps_realtime(void);
/* Open the file of this process, if PENSTOCK_RECORD tells so and it is not open. */
void ps_record_open(void);
/* A child begins with counters of its own. */
void ps_record_forked(void);
/* The open phase has ended at the last activity: append its line. */
void ps_record_phase(uint64_t waited);

#endif
