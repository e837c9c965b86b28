/* The open files whose calls are coordinated, and what the ranks of a file tell each other.
 *
 * Rank 0 of a file's communicator speaks to the coordinator. The ranks agree when the file is opened that all of them have
 * this library and that rank 0 watches the file; all else follows from calls that the program makes on all ranks. Messages
 * go over a communicator of our own.
 */
#ifndef PS_FILES_H
#define PS_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "layer.h"
#include "library.h"

/* A non-blocking call of all ranks, whose bytes rank 0 does not know yet. */
struct ps_started {
    MPI_Request request;
    int64_t own;
    int64_t total;
    uint64_t taken;
    struct ps_started *next;
};

struct ps_file {
    MPI_File handle;
    MPI_Comm comm;
    int rank;
    int size;
    uint64_t round_bytes; /* of all ranks */
    uint64_t rounds;      /* of each call, if the program says so; else 0 */
    int64_t etype;        /* bytes */
    bool native;          /* data are represented in the file as in memory */
    bool begun;           /* a split call has moved its data already */
    MPI_Status moved;     /* by that */
    double speed;         /* rank 0: bytes/s of all ranks in the last rounds, waiting included; 0: not known */
    struct ps_started *started;
    struct ps_file *next;
};

/* The layer below; NULL if nothing is watched in this process. */
const struct ps_layer *ps_layer(void);

/* A call on all ranks, before the file is opened: whether it will be coordinated, then with its communicator. */
bool ps_files_agree(MPI_Comm theirs, const char *name, MPI_Comm *ours);
/* The file is open. */
void ps_files_add(MPI_File handle, MPI_Comm comm, MPI_Info info);
/* The file, or NULL if its calls are not ours. */
struct ps_file *ps_files_find(MPI_File handle);
/* It will be closed, which all ranks do. */
void ps_files_remove(struct ps_file *file);

/* Seconds, never going back. */
double ps_seconds(void);
/* Sums of two numbers over all ranks; on rank 0 only, 0 elsewhere. */
struct ps_sums {
    int64_t bytes;
    int64_t other;
};
struct ps_sums ps_sum_to_first(const struct ps_file *file, int64_t bytes, int64_t other);
/* Rank 0's number on all ranks, at once. */
int64_t ps_from_first(const struct ps_file *file, int64_t number);
/* Rank 0 tells which range of an operation all move next; the others wait for that, which may take long. */
enum { PS_TOLD = 3 };
void ps_tell(const struct ps_file *file, int64_t range[PS_TOLD]);
/* The bytes of a non-blocking call are known to rank 0 when all ranks have made it. */
void ps_started(struct ps_file *file, int64_t own, uint64_t taken);
/* Correct what was taken by what is known now; `all`: wait for it. */
void ps_started_settle(struct ps_file *file, bool all);

#endif
