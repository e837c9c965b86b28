/* Calls that make, copy and close descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "descriptors.h"
#include "flow.h"
#include "shim.h"
#include "unseen.h"

/* A new descriptor, or -1. */
static int made(int file) {
    if (file >= 0) {
        ps_disown(file);
        ps_reset(file);
        ps_unseen_use(file);
    }
    return file;
}

/* ---- open ---- */

static bool has_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if (has_mode(flags)) {                                                                                             \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode = va_arg(arguments, mode_t);                                                                              \
        va_end(arguments);                                                                                             \
    }

#define OPEN(name)                                                                                                     \
    SHIM(int, name, (const char *path, int flags, ...)) {                                                              \
        MODE(flags)                                                                                                    \
        return made(real_##name()(path, flags, mode));                                                                 \
    }

#define OPEN_AT(name)                                                                                                  \
    SHIM(int, name, (int folder, const char *path, int flags, ...)) {                                                  \
        MODE(flags)                                                                                                    \
        return made(real_##name()(folder, path, flags, mode));                                                         \
    }

/* Names that begin with two underlines are those by which other libraries of the system call libc. */
OPEN(open)
OPEN(open64)
OPEN(__open)
OPEN(__open64)
OPEN_AT(openat)
OPEN_AT(openat64)

SHIM(int, __open_2, (const char *path, int flags)) { return made(real___open_2()(path, flags)); }
SHIM(int, __open64_2, (const char *path, int flags)) { return made(real___open64_2()(path, flags)); }
SHIM(int, __openat_2, (int folder, const char *path, int flags)) {
    return made(real___openat_2()(folder, path, flags));
}
SHIM(int, __openat64_2, (int folder, const char *path, int flags)) {
    return made(real___openat64_2()(folder, path, flags));
}
SHIM(int, creat, (const char *path, mode_t mode)) { return made(real_creat()(path, mode)); }
SHIM(int, creat64, (const char *path, mode_t mode)) { return made(real_creat64()(path, mode)); }
SHIM(int, mkstemp, (char *path)) { return made(real_mkstemp()(path)); }
SHIM(int, mkstemp64, (char *path)) { return made(real_mkstemp64()(path)); }
SHIM(int, mkstemps, (char *path, int ending)) { return made(real_mkstemps()(path, ending)); }
SHIM(int, mkstemps64, (char *path, int ending)) { return made(real_mkstemps64()(path, ending)); }
SHIM(int, mkostemp, (char *path, int flags)) { return made(real_mkostemp()(path, flags)); }
SHIM(int, mkostemp64, (char *path, int flags)) { return made(real_mkostemp64()(path, flags)); }
SHIM(int, mkostemps, (char *path, int ending, int flags)) { return made(real_mkostemps()(path, ending, flags)); }
SHIM(int, mkostemps64, (char *path, int ending, int flags)) { return made(real_mkostemps64()(path, ending, flags)); }

/* ---- dup ---- */

SHIM(int, dup, (int file)) { return made(real_dup()(file)); }
#define DUPLICATE(name)                                                                                                \
    SHIM(int, name, (int file, int wanted)) {                                                                          \
        int copy = real_##name()(file, wanted);                                                                        \
        return file == wanted ? copy : made(copy);                                                                     \
    }

DUPLICATE(dup2)
DUPLICATE(__dup2)
SHIM(int, dup3, (int file, int wanted, int flags)) { return made(real_dup3()(file, wanted, flags)); }

/* Any argument of fcntl is as wide as a pointer, or narrower. */
#define CONTROL(name)                                                                                                  \
    SHIM(int, name, (int file, int order, ...)) {                                                                      \
        va_list arguments;                                                                                             \
        va_start(arguments, order);                                                                                    \
        void *argument = va_arg(arguments, void *);                                                                    \
        va_end(arguments);                                                                                             \
        int result = real_##name()(file, order, argument);                                                             \
        if (order != F_DUPFD && order != F_DUPFD_CLOEXEC)                                                              \
            return result;                                                                                             \
        if (ps_ours > 0)                                                                                               \
            ps_own(result);                                                                                            \
        else                                                                                                           \
            made(result);                                                                                              \
        return result;                                                                                                 \
    }

CONTROL(fcntl)
CONTROL(fcntl64)
CONTROL(__fcntl)

/* ---- close ---- */

/* Whether the program may close it: as far as it knows, ours is not open. */
static bool closes(int file) {
    if ((unsigned)file >= PS_FILES)
        return true;
    if (atomic_load_explicit(&ps_files[file], memory_order_relaxed) == PS_OURS) {
        if (ps_ours == 0) {
            errno = EBADF;
            return false;
        }
        ps_disown(file);
    }
    ps_unseen_use(file);
    atomic_store_explicit(&ps_files[file], PS_UNKNOWN, memory_order_relaxed);
    return true;
}

SHIM(int, close, (int file)) { return closes(file) ? real_close()(file) : -1; }
SHIM(int, __close, (int file)) { return closes(file) ? real___close()(file) : -1; }

static void forget(unsigned first, unsigned last) {
    for (unsigned file = first; file <= last && file < PS_FILES && file < 65536; file++)
        if (atomic_load_explicit(&ps_files[file], memory_order_relaxed) != PS_OURS)
            atomic_store_explicit(&ps_files[file], PS_UNKNOWN, memory_order_relaxed);
}

SHIM(int, close_range, (unsigned first, unsigned last, int flags)) {
    int result = 0, own;
    forget(first, last);
    while (result == 0 && (own = ps_first_own(first, last)) >= 0) {
        if ((unsigned)own > first)
            result = real_close_range()(first, (unsigned)own - 1, flags);
        first = (unsigned)own + 1;
    }
    return result == 0 && first <= last ? real_close_range()(first, last, flags) : result;
}

SHIM(void, closefrom, (int lowest)) {
    unsigned first = lowest > 0 ? (unsigned)lowest : 0;
    int own;
    forget(first, INT_MAX);
    while ((own = ps_first_own(first, INT_MAX)) >= 0) {
        if ((unsigned)own > first && real_close_range()(first, (unsigned)own - 1, 0) != 0)
            for (int file = (int)first; file < own; file++)
                real_close()(file);
        first = (unsigned)own + 1;
    }
    real_closefrom()((int)first);
}

/* ---- fsync: the phase goes on ---- */

#define SYNCING(name)                                                                                                  \
    SHIM(int, name, (int file)) {                                                                                      \
        if (!ps_watched(file))                                                                                         \
            return real_##name()(file);                                                                                \
        int result = real_##name()(file), error = errno;                                                               \
        ps_touch();                                                                                                    \
        errno = error;                                                                                                 \
        return result;                                                                                                 \
    }

SYNCING(fsync)
SYNCING(fdatasync)
