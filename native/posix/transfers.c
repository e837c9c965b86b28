/* Calls that read and write. A call is cut into slices only if the rate demands it. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "descriptors.h"
#include "flow.h"
#include "shim.h"

/* ---- One buffer ---- */

struct buffer {
    int file;
    char *data;
    off_t at;
    size_t room; /* of a fortified call */
};

/* Defines SHIM name(file, data, size, further parameters), and the function that moves one slice of it. In `slice` the
 * call's parameters are those of the slice. */
#define BUFFER(name, direction, parameters, position, limit, slice)                                              \
    REAL(ssize_t, name, parameters)                                                                                    \
    static ssize_t slice_##name(void *context, size_t from, size_t size) {                                             \
        const struct buffer *whole = context;                                                                          \
        int file = whole->file;                                                                                        \
        char *data = whole->data + from;                                                                               \
        off_t at = whole->at + (off_t)from;                                                                            \
        size_t room = whole->room - from;                                                                              \
        (void)at, (void)room;                                                                                          \
        return real_##name() slice;                                                                                    \
    }                                                                                                                  \
    DEFINE(ssize_t, name, parameters) {                                                                                \
        if (!ps_watched(file))                                                                                         \
            return real_##name() slice;                                                                                \
        struct buffer whole = {file, (char *)(uintptr_t)data, position, limit};                                        \
        return ps_move(direction, size, slice_##name, &whole);                                                         \
    }

BUFFER(read, PS_READ, (int file, void *data, size_t size), 0, 0, (file, data, size))
BUFFER(write, PS_WRITE, (int file, const void *data, size_t size), 0, 0, (file, data, size))
BUFFER(pread, PS_READ, (int file, void *data, size_t size, off_t at), at, 0, (file, data, size, at))
BUFFER(pread64, PS_READ, (int file, void *data, size_t size, off_t at), at, 0, (file, data, size, at))
BUFFER(pwrite, PS_WRITE, (int file, const void *data, size_t size, off_t at), at, 0, (file, data, size, at))
BUFFER(pwrite64, PS_WRITE, (int file, const void *data, size_t size, off_t at), at, 0,
       (file, data, size, at))
BUFFER(__read, PS_READ, (int file, void *data, size_t size), 0, 0, (file, data, size))
BUFFER(__write, PS_WRITE, (int file, const void *data, size_t size), 0, 0, (file, data, size))
BUFFER(__pread64, PS_READ, (int file, void *data, size_t size, off_t at), at, 0, (file, data, size, at))
BUFFER(__pwrite64, PS_WRITE, (int file, const void *data, size_t size, off_t at), at, 0, (file, data, size, at))
BUFFER(__read_chk, PS_READ, (int file, void *data, size_t size, size_t room), 0, room, (file, data, size, room))
BUFFER(__pread_chk, PS_READ, (int file, void *data, size_t size, off_t at, size_t room), at, room,
       (file, data, size, at, room))
BUFFER(__pread64_chk, PS_READ, (int file, void *data, size_t size, off_t at, size_t room), at, room,
       (file, data, size, at, room))

/* ---- Several buffers ---- */

struct vector {
    int file;
    const struct iovec *parts;
    int count;
    off_t at; /* -1: the position of the file */
    int flags;
};

static size_t length(const struct iovec *parts, int count) {
    size_t all = 0;
    for (int i = 0; i < count && i < IOV_MAX; i++) {
        if (parts[i].iov_len > SSIZE_MAX - all)
            return SIZE_MAX; /* the kernel says what is wrong */
        all += parts[i].iov_len;
    }
    return all;
}

/* The bytes from `from` on, so many; returns how many parts they are. */
static int cut(const struct vector *whole, size_t from, size_t size, struct iovec slice[IOV_MAX]) {
    int count = 0;
    for (int i = 0; i < whole->count && size > 0; i++) {
        size_t part = whole->parts[i].iov_len;
        if (from >= part) {
            from -= part;
            continue;
        }
        slice[count].iov_base = (char *)whole->parts[i].iov_base + from;
        slice[count].iov_len = part - from < size ? part - from : size;
        size -= slice[count++].iov_len;
        from = 0;
    }
    return count;
}

#define VECTOR(name, direction, parameters, position, how, slice)                                                      \
    REAL(ssize_t, name, parameters)                                                                                    \
    static ssize_t slice_##name(void *context, size_t from, size_t size) {                                             \
        const struct vector *whole = context;                                                                          \
        struct iovec parts[IOV_MAX];                                                                                   \
        int file = whole->file, count = cut(whole, from, size, parts), flags = whole->flags;                           \
        off_t at = whole->at < 0 ? whole->at : whole->at + (off_t)from;                                                \
        (void)at, (void)flags;                                                                                         \
        return real_##name() slice;                                                                                    \
    }                                                                                                                  \
    DEFINE(ssize_t, name, parameters) {                                                                                \
        if (!ps_watched(file) || count <= 0 || count > IOV_MAX || length(parts, count) > SSIZE_MAX)                    \
            return real_##name() slice;                                                                                \
        struct vector whole = {file, parts, count, position, how};                                                     \
        return ps_move(direction, length(parts, count), slice_##name, &whole);                                         \
    }

#define PARTS int file, const struct iovec *parts, int count
#define FOUR (file, parts, count, at)
#define FIVE (file, parts, count, at, flags)

VECTOR(readv, PS_READ, (PARTS), -1, 0, (file, parts, count))
VECTOR(writev, PS_WRITE, (PARTS), -1, 0, (file, parts, count))
VECTOR(preadv, PS_READ, (PARTS, off_t at), at, 0, FOUR)
VECTOR(preadv64, PS_READ, (PARTS, off_t at), at, 0, FOUR)
VECTOR(pwritev, PS_WRITE, (PARTS, off_t at), at, 0, FOUR)
VECTOR(pwritev64, PS_WRITE, (PARTS, off_t at), at, 0, FOUR)
VECTOR(preadv2, PS_READ, (PARTS, off_t at, int flags), at, flags, FIVE)
VECTOR(preadv64v2, PS_READ, (PARTS, off_t at, int flags), at, flags, FIVE)
VECTOR(pwritev2, PS_WRITE, (PARTS, off_t at, int flags), at, flags, FIVE)
VECTOR(pwritev64v2, PS_WRITE, (PARTS, off_t at, int flags), at, flags, FIVE)

/* ---- Printing to a descriptor: how much shows afterwards, before it is taken for a line ---- */

enum { LINE = 128 };

#define PRINT(name, parameters, arguments)                                                                             \
    SHIM(int, name, parameters) {                                                                                      \
        int before = errno;                                                                                            \
        if (!ps_watched(file))                                                                                         \
            return real_##name() arguments;                                                                            \
        bool entered = ps_enter();                                                                                     \
        size_t taken = entered ? ps_take_all(LINE) : 0;                                                                \
        errno = before;                                                                                                \
        int moved = real_##name() arguments, error = errno;                                                            \
        if (entered) {                                                                                                 \
            ps_moved(PS_WRITE, taken, moved > 0 ? (size_t)moved : 0);                                                  \
            ps_leave(PS_WRITE);                                                                                        \
        } else {                                                                                                       \
            ps_count(PS_WRITE, moved > 0 ? (uint64_t)moved : 0, 1);                                                    \
        }                                                                                                              \
        errno = error;                                                                                                 \
        return moved;                                                                                                  \
    }

PRINT(vdprintf, (int file, const char *format, va_list list), (file, format, list))
PRINT(__vdprintf_chk, (int file, int flag, const char *format, va_list list), (file, flag, format, list))

DEFINE(int, dprintf, (int file, const char *format, ...)) {
    va_list list;
    va_start(list, format);
    int moved = shim_vdprintf(file, format, list);
    va_end(list);
    return moved;
}

DEFINE(int, __dprintf_chk, (int file, int flag, const char *format, ...)) {
    va_list list;
    va_start(list, format);
    int moved = shim___vdprintf_chk(file, flag, format, list);
    va_end(list);
    return moved;
}
