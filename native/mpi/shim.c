/* The functions of MPI-IO that this library stands in for, by both of their names: Fortran's bindings of Open MPI call
 * PMPI_File_… inside. What is called from inside a call of ours, in the same thread, is passed on. */
#include <limits.h>
#include <string.h>

#include "calls.h"
#include "files.h"
#include "moves.h"

#define WORDS ps_word a, ps_word b, ps_word c, ps_word d, ps_word e, ps_word f
#define ALL (a, b, c, d, e, f)

static _Thread_local int depth;

/* The next definition, by the name it was called by. One that is missing may have a smaller sibling. */
static ps_call find(_Atomic(ps_call) *kept, const char *name) {
    if (*kept == NULL)
        *kept = ps_next(name);
    return *kept;
}

/* The blocking call of a split one. */
static ps_call find_whole(_Atomic(ps_call) *kept, const char *name) {
    char whole[64];
    const char *begin = strstr(name, "_begin");
    if (*kept != NULL || begin == NULL)
        return *kept;
    size_t length = (size_t)(begin - name);
    memcpy(whole, name, length);
    strcpy(whole + length, begin + strlen("_begin"));
    return find(kept, whole);
}

/* A call with a large count, of a library that has none such. */
static int call_small(const char *name, const ps_word words[6], bool at) {
    char small[64] = "";
    ps_word count = words[at ? 3 : 2];
    size_t length = strlen(name);
    if (length > 2 && length < sizeof small && strcmp(name + length - 2, "_c") == 0 && count <= INT_MAX) {
        memcpy(small, name, length - 2);
        ps_call call = ps_next(small);
        if (call != NULL)
            return call(words[0], words[1], words[2], words[3], words[4], words[5]);
    }
    return MPI_ERR_OTHER;
}

/* A call on a file that may be ours. */
static int make(struct ps_request *request, _Atomic(ps_call) *kept, _Atomic(ps_call) *kept_whole) {
    const ps_word *w = request->words;
    request->call = find(kept, request->name);
    if (request->call == NULL)
        return call_small(request->name, w, request->at);
    struct ps_file *file = depth == 0 && ps_mpi() != NULL ? ps_files_find((MPI_File)w[0]) : NULL;
    if (file == NULL)
        return request->call(w[0], w[1], w[2], w[3], w[4], w[5]);
    if (request->scheme == PS_BEGUN || request->scheme == PS_BEGUN_ORDERED)
        request->whole = find_whole(kept_whole, request->name);
    depth++;
    int code = ps_carry_out(file, request);
    depth--;
    return code;
}

#define EXPORT(name)                                                                                                   \
    __attribute__((visibility("default"))) int ps_shim_##name(WORDS) __asm__(#name);                                   \
    int ps_shim_##name(WORDS)

#define CALL(symbol, direction, at, scheme)                                                                            \
    EXPORT(symbol) {                                                                                                   \
        static _Atomic(ps_call) kept, whole;                                                                           \
        struct ps_request request = {#symbol, direction, scheme, at, {a, b, c, d, e, f}, NULL, NULL};                  \
        return make(&request, &kept, &whole);                                                                          \
    }

#define BOTH(name, direction, at, scheme)                                                                              \
    CALL(MPI_File_##name, direction, at, scheme)                                                                       \
    CALL(PMPI_File_##name, direction, at, scheme)
#define LARGE(name, direction, at, scheme)                                                                             \
    CALL(MPI_File_##name##_c, direction, at, scheme)                                                                   \
    CALL(PMPI_File_##name##_c, direction, at, scheme)

PS_CALLS(BOTH)
PS_ENDS(BOTH)
#if MPI_VERSION >= 4
PS_CALLS(LARGE)
#endif

/* ---- Files ---- */

static int open_file(ps_call call, WORDS) {
    MPI_Comm ours;
    if (depth > 0 || ps_mpi() == NULL)
        return call ALL;
    depth++;
    bool watched = ps_files_agree((MPI_Comm)a, (const char *)b, &ours);
    if (watched)
        ps_layer()->hide(1);
    int code = call ALL;
    if (watched) {
        ps_layer()->hide(0);
        if (code == MPI_SUCCESS)
            ps_files_add(*(MPI_File *)e, ours, (MPI_Info)d);
        else
            ps_mpi()->Comm_free(&ours);
    }
    depth--;
    return code;
}

static int close_file(ps_call call, WORDS) {
    struct ps_file *file = depth == 0 && ps_mpi() != NULL && a != 0 ? ps_files_find(*(MPI_File *)a) : NULL;
    if (file == NULL)
        return call ALL;
    depth++;
    ps_files_remove(file);
    ps_layer()->hide(1);
    int code = call ALL;
    ps_layer()->hide(0);
    depth--;
    return code;
}

static int set_view(ps_call call, WORDS) {
    struct ps_file *file = depth == 0 && ps_mpi() != NULL ? ps_files_find((MPI_File)a) : NULL;
    MPI_Count size = 1;
    depth++;
    int code = call ALL;
    if (file != NULL && code == MPI_SUCCESS && ps_mpi()->Type_size_x((MPI_Datatype)c, &size) == MPI_SUCCESS) {
        file->etype = (int64_t)size;
        file->native = strcmp((const char *)e, "native") == 0;
    }
    depth--;
    return code;
}

static int make_quietly(ps_call call, WORDS) {
    bool ours = depth == 0 && ps_mpi() != NULL && ps_files_find((MPI_File)a) != NULL;
    depth++;
    if (ours)
        ps_layer()->hide(1);
    int code = call ALL;
    if (ours)
        ps_layer()->hide(0);
    depth--;
    return code;
}

#define FILE_CALL(symbol, by)                                                                                          \
    EXPORT(symbol) {                                                                                                   \
        static _Atomic(ps_call) kept;                                                                                  \
        ps_call call = find(&kept, #symbol);                                                                           \
        return call != NULL ? by(call, a, b, c, d, e, f) : MPI_ERR_OTHER;                                              \
    }

FILE_CALL(MPI_File_open, open_file)
FILE_CALL(PMPI_File_open, open_file)
FILE_CALL(MPI_File_close, close_file)
FILE_CALL(PMPI_File_close, close_file)
FILE_CALL(MPI_File_set_view, set_view)
FILE_CALL(PMPI_File_set_view, set_view)

#define QUIET(name)                                                                                                    \
    FILE_CALL(MPI_File_##name, make_quietly)                                                                           \
    FILE_CALL(PMPI_File_##name, make_quietly)

PS_QUIET(QUIET)
