#include "library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

_Static_assert(sizeof(ps_word) == 8, "a 64-bit system, on which arguments are passed as words");

static union symbol {
    void *object;
    ps_call function;
} none;

/* The library itself, also where a module of Python has loaded it for its own use, out of sight of RTLD_NEXT. */
static void *find_library(void) {
    for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next) {
        void *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        void *function = handle != NULL ? dlsym(handle, "PMPI_Comm_rank") : NULL;
        Dl_info found;
        if (handle != NULL)
            dlclose(handle); /* the program keeps it */
        if (function != NULL && dladdr(function, &found) != 0)
            return dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }
    return NULL;
}

static void *in_library(const char *name) {
    static _Atomic(void *) library;
    if (library == NULL)
        library = find_library();
    return library != NULL ? dlsym(library, name) : NULL;
}

static void *symbol(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    return found != NULL ? found : in_library(name);
}

ps_call ps_next(const char *name) {
    union symbol next = none;
    next.object = symbol(name);
    return next.function;
}

/* ---- What we use ourselves ---- */

static struct ps_mpi mpi;
static bool usable;

#if defined(OPEN_MPI)
enum { FAMILY = 'O' };
#elif defined(MPI_ABI)
enum { FAMILY = 'A' };
#else
enum { FAMILY = 'M' };
#endif

/* Open MPI, the standard ABI of MPI 5, or MPICH and what has its ABI. */
static int family(void) {
    Dl_info found;
    if (symbol("ompi_mpi_comm_world") != NULL)
        return 'O';
    bool standard = dladdr(symbol("PMPI_Comm_rank"), &found) != 0 && strstr(found.dli_fname, "libmpi_abi") != NULL;
    return standard ? 'A' : 'M';
}

#if defined(OPEN_MPI)
/* An object may have moved into the program (copy relocation). */
static void *object(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL ? found : in_library(name);
}

#define HANDLE(type, ours, theirs) ((type)object(theirs))
#else
#define HANDLE(type, ours, theirs) (ours)
#endif

static void find_handles(void) {
    mpi.byte = HANDLE(MPI_Datatype, MPI_BYTE, "ompi_mpi_byte");
    mpi.number = HANDLE(MPI_Datatype, MPI_INT64_T, "ompi_mpi_int64_t");
    mpi.no_datatype = HANDLE(MPI_Datatype, MPI_DATATYPE_NULL, "ompi_mpi_datatype_null");
    mpi.most = HANDLE(MPI_Op, MPI_MAX, "ompi_mpi_op_max");
    mpi.sum = HANDLE(MPI_Op, MPI_SUM, "ompi_mpi_op_sum");
    mpi.no_comm = HANDLE(MPI_Comm, MPI_COMM_NULL, "ompi_mpi_comm_null");
    mpi.no_info = HANDLE(MPI_Info, MPI_INFO_NULL, "ompi_mpi_info_null");
}

#define FIND(name, parameters)                                                                                         \
    {                                                                                                                  \
        void *found = symbol("PMPI_" #name);                                                                           \
        memcpy(&mpi.name, &found, sizeof found);                                                                       \
        usable = usable && found != NULL;                                                                              \
    }

static void find_functions(void) {
    usable = symbol("PMPI_Comm_rank") != NULL && family() == FAMILY;
    if (!usable)
        return;
    PS_USED(FIND)
    find_handles();
}

const struct ps_mpi *ps_mpi(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_functions);
    return usable ? &mpi : NULL;
}
