/* Calls that copy between two descriptors inside the kernel: bytes of each watched side count. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "descriptors.h"
#include "flow.h"
#include "shim.h"

struct copy {
    int from;
    int to;
    off_t *from_at;
    off_t *to_at;
    unsigned flags;
    bool both; /* both sides are watched */
};

/* The bytes that there are: programs ask for as many as fit into a number. */
static size_t to_copy(int from, const off_t *from_at, size_t size) {
    struct stat status;
    int before = errno;
    if (fstat(from, &status) == 0 && S_ISREG(status.st_mode)) {
        off_t at = from_at != NULL ? *from_at : lseek(from, 0, SEEK_CUR);
        if (at >= 0 && at < status.st_size && (uint64_t)(status.st_size - at) < size)
            size = (size_t)(status.st_size - at);
    }
    errno = before;
    return size;
}

/* Bytes of the side that ps_move does not count; the next call waits for their sake. */
static ssize_t other_side(const struct copy *copy, ssize_t moved) {
    int error = errno;
    if (copy->both && moved > 0)
        ps_moved_besides(PS_READ, (size_t)moved);
    errno = error;
    return moved;
}

#define COPY(name, parameters, size, from_at, to_at, how, slice, whole)                                                \
    REAL(ssize_t, name, parameters)                                                                                    \
    static ssize_t slice_##name(void *context, size_t done, size_t size) {                                             \
        const struct copy *copy = context;                                                                             \
        (void)done; /* the kernel moves the positions */                                                               \
        return other_side(copy, real_##name() slice);                                                                  \
    }                                                                                                                  \
    DEFINE(ssize_t, name, parameters) {                                                                                \
        bool reads = ps_watched(from), writes = ps_watched(to);                                                        \
        if (!reads && !writes)                                                                                         \
            return real_##name() whole;                                                                                \
        struct copy copy = {from, to, from_at, to_at, how, reads && writes};                                           \
        return ps_move(writes ? PS_WRITE : PS_READ, to_copy(from, from_at, size), slice_##name, &copy);                                        \
    }

COPY(sendfile, (int to, int from, off_t *at, size_t size), size, at, NULL, 0,
     (copy->to, copy->from, copy->from_at, size), (to, from, at, size))
COPY(sendfile64, (int to, int from, off_t *at, size_t size), size, at, NULL, 0,
     (copy->to, copy->from, copy->from_at, size), (to, from, at, size))
COPY(copy_file_range, (int from, off_t *from_at, int to, off_t *to_at, size_t size, unsigned flags), size, from_at,
     to_at, flags, (copy->from, copy->from_at, copy->to, copy->to_at, size, copy->flags),
     (from, from_at, to, to_at, size, flags))
COPY(splice, (int from, off_t *from_at, int to, off_t *to_at, size_t size, unsigned flags), size, from_at, to_at, flags,
     (copy->from, copy->from_at, copy->to, copy->to_at, size, copy->flags), (from, from_at, to, to_at, size, flags))
