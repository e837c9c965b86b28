#include "files.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUND_BYTES ((uint64_t)16 << 20) /* of a node, where the library does not tell its buffers */
#define AWAKE 0.0002                     /* seconds for which a rank that waits polls without sleeping */
#define ASLEEP 0.002                     /* the longest sleep between two polls after that */
#define PART 0.02                        /* the longest sleep as a part of the time waited so far, which bounds the delay */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ps_file *files;
static _Atomic int64_t nodes_known; /* of the largest communicator of a file so far; 0: not counted yet */
static _Atomic int ranks_counted;   /* in that */
static const struct ps_layer *layer;

static void find_layer(void) {
    const struct ps_layer *(*find)(unsigned);
    void *found = dlsym(RTLD_DEFAULT, "penstock_posix_layer");
    memcpy(&find, &found, sizeof found);
    layer = found != NULL ? find(PS_LAYER_VERSION) : NULL;
}

const struct ps_layer *ps_layer(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_layer);
    return layer;
}

/* ---- Opening ---- */

/* A name may begin with the kind of its file system, as in "ufs:/scratch/out". */
static const char *without_kind(const char *name) {
    const char *at = name;
    while (isalnum((unsigned char)*at))
        at++;
    return at > name + 1 && *at == ':' ? at + 1 : name;
}

/* Open MPI's launcher gives no variables to other nodes unless told, so ranks there may lack this library and never answer.
 * Whoever tells it to says so. */
static bool may_be_missing(void) {
    const char *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), *all = getenv("OMPI_COMM_WORLD_SIZE");
    return here != NULL && all != NULL && strcmp(here, all) != 0 && getenv("PENSTOCK_ALL_RANKS") == NULL;
}

enum { UNCOUNTED = 1, UNWATCHED = 2 }; /* what a rank says of a file: the largest counts */

/* Ranks that share memory are on one node. */
static void count_nodes(MPI_Comm comm, int size) {
    const struct ps_mpi *mpi = ps_mpi();
    MPI_Comm node;
    int rank = 1;
    if (mpi->Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, mpi->no_info, &node) == MPI_SUCCESS) {
        mpi->Comm_rank(node, &rank);
        mpi->Comm_free(&node);
    }
    int64_t first = rank == 0, nodes = 0;
    mpi->Allreduce(&first, &nodes, 1, mpi->number, mpi->sum, comm);
    nodes_known = nodes > 0 ? nodes : 1;
    ranks_counted = size;
}

bool ps_files_agree(MPI_Comm theirs, const char *name, MPI_Comm *ours) {
    const struct ps_mpi *mpi = ps_mpi();
    int inter = 1, rank = 0, size = 0;
    if (may_be_missing() || theirs == mpi->no_comm || mpi->Comm_test_inter(theirs, &inter) != MPI_SUCCESS || inter ||
        mpi->Comm_rank(theirs, &rank) != MPI_SUCCESS || mpi->Comm_size(theirs, &size) != MPI_SUCCESS)
        return false;
    bool watched = ps_layer() != NULL && (rank != 0 || (name != NULL && ps_layer()->watches(without_kind(name))));
    int64_t mine = !watched ? UNWATCHED : size > ranks_counted ? UNCOUNTED : 0, most = UNWATCHED;
    if (mpi->Allreduce(&mine, &most, 1, mpi->number, mpi->most, theirs) != MPI_SUCCESS || most == UNWATCHED ||
        mpi->Comm_dup(theirs, ours) != MPI_SUCCESS)
        return false;
    if (most == UNCOUNTED)
        count_nodes(*ours, size);
    return true;
}

static uint64_t hint(MPI_Info info, const char *key) {
    char text[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    if (info == ps_mpi()->no_info || ps_mpi()->Info_get(info, key, MPI_MAX_INFO_VAL, text, &found) != MPI_SUCCESS || !found)
        return 0;
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && value <= (uint64_t)1 << 53 ? value : 0;
}

/* A round fills the buffers of collective I/O once, if the library tells them (ROMIO does). */
static uint64_t buffers(MPI_File handle) {
    MPI_Info info = ps_mpi()->no_info;
    uint64_t count = 0, size = 0;
    if (ps_mpi()->File_get_info(handle, &info) == MPI_SUCCESS && info != ps_mpi()->no_info) {
        count = hint(info, "cb_nodes");
        size = hint(info, "cb_buffer_size");
        ps_mpi()->Info_free(&info);
    }
    return count > 0 && size > 0 ? count * size : (uint64_t)nodes_known * ROUND_BYTES;
}

void ps_files_add(MPI_File handle, MPI_Comm comm, MPI_Info info) {
    const struct ps_mpi *mpi = ps_mpi();
    struct ps_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        abort(); /* the other ranks would wait for this one for ever */
    file->handle = handle;
    file->comm = comm;
    file->etype = 1;
    file->native = true;
    mpi->Comm_rank(comm, &file->rank);
    mpi->Comm_size(comm, &file->size);
    ps_layer()->is_rank(nodes_known, file->rank == 0);
    file->rounds = hint(info, "penstock_rounds");
    file->round_bytes = hint(info, "penstock_round_bytes");
    if (file->round_bytes == 0)
        file->round_bytes = ps_layer()->round_bytes();
    if (file->round_bytes == 0)
        file->round_bytes = buffers(handle);
    pthread_mutex_lock(&lock);
    file->next = files;
    files = file;
    pthread_mutex_unlock(&lock);
}

struct ps_file *ps_files_find(MPI_File handle) {
    pthread_mutex_lock(&lock);
    struct ps_file *file = files;
    while (file != NULL && file->handle != handle)
        file = file->next;
    pthread_mutex_unlock(&lock);
    return file;
}

void ps_files_remove(struct ps_file *file) {
    ps_started_settle(file, true);
    pthread_mutex_lock(&lock);
    struct ps_file **at = &files;
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    pthread_mutex_unlock(&lock);
    ps_mpi()->Comm_free(&file->comm);
    free(file);
}

/* ---- Messages ---- */

double ps_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Libraries poll while they wait, and keep a core busy that the rank may need which is waited for. */
static void wait_for(MPI_Request *request) {
    double begun = ps_seconds();
    int done = 0;
    while (ps_mpi()->Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        double waited = ps_seconds() - begun, sleep = PART * waited < ASLEEP ? PART * waited : ASLEEP;
        struct timespec pause = {0, (long)(sleep * 1e9)};
        if (waited < AWAKE)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
}

struct ps_sums ps_sum_to_first(const struct ps_file *file, int64_t bytes, int64_t other) {
    int64_t mine[] = {bytes, other}, all[] = {0, 0};
    MPI_Request request;
    if (ps_mpi()->Ireduce(mine, all, 2, ps_mpi()->number, ps_mpi()->sum, 0, file->comm, &request) == MPI_SUCCESS)
        wait_for(&request);
    return (struct ps_sums){all[0], all[1]};
}

int64_t ps_from_first(const struct ps_file *file, int64_t number) {
    ps_mpi()->Bcast(&number, 1, ps_mpi()->number, 0, file->comm);
    return number;
}

void ps_tell(const struct ps_file *file, int64_t range[PS_TOLD]) {
    MPI_Request request;
    if (ps_mpi()->Ibcast(range, PS_TOLD, ps_mpi()->number, 0, file->comm, &request) != MPI_SUCCESS)
        return;
    if (file->rank == 0)
        ps_mpi()->Wait(&request, MPI_STATUS_IGNORE);
    else
        wait_for(&request);
}

/* ---- Non-blocking calls of all ranks ---- */

void ps_started(struct ps_file *file, int64_t own, uint64_t taken) {
    struct ps_started **at = &file->started, *one = calloc(1, sizeof *one);
    if (one == NULL)
        abort(); /* as above */
    one->own = own;
    one->taken = taken;
    ps_mpi()->Ireduce(&one->own, &one->total, 1, ps_mpi()->number, ps_mpi()->sum, 0, file->comm, &one->request);
    while (*at != NULL)
        at = &(*at)->next;
    *at = one;
}

void ps_started_settle(struct ps_file *file, bool all) {
    struct ps_started *one;
    while ((one = file->started) != NULL) {
        int done = 1;
        if (all)
            ps_mpi()->Wait(&one->request, MPI_STATUS_IGNORE);
        else
            ps_mpi()->Test(&one->request, &done, MPI_STATUS_IGNORE);
        if (!done)
            return;
        if (file->rank == 0 && one->taken > 0)
            ps_layer()->round_moved(one->taken, (uint64_t)one->total, (uint64_t)one->own);
        file->started = one->next;
        free(one);
    }
}
