/* POSIX asynchronous I/O: paced when it is submitted, counted when its result is fetched. */
#include <aio.h>
#include <errno.h>
#include <stdbool.h>

#include "descriptors.h"
#include "flow.h"
#include "shim.h"

/* Wait for the turn of a request; the bytes are counted by its result. */
static void pace(const struct aiocb *request, enum ps_direction direction) {
    int before = errno;
    if (request != NULL && ps_watched(request->aio_fildes) && request->aio_nbytes > 0 && ps_enter()) {
        ps_moved(direction, ps_take_all(request->aio_nbytes), 0);
        ps_leave(direction);
    }
    errno = before;
}

#define SUBMIT(name, direction)                                                                                        \
    SHIM(int, name, (struct aiocb * request)) {                                                                        \
        pace(request, direction);                                                                                      \
        return real_##name()(request);                                                                                 \
    }

SUBMIT(aio_read, PS_READ)
SUBMIT(aio_read64, PS_READ)
SUBMIT(aio_write, PS_WRITE)
SUBMIT(aio_write64, PS_WRITE)

static bool is_write(const struct aiocb *request) { return (request->aio_lio_opcode & 127) == LIO_WRITE; }

#define SUBMIT_LIST(name)                                                                                              \
    SHIM(int, name, (int mode, struct aiocb *const *list, int count, struct sigevent *event)) {                        \
        for (int i = 0; i < count && list != NULL; i++)                                                                \
            if (list[i] != NULL && list[i]->aio_lio_opcode != LIO_NOP)                                                 \
                pace(list[i], is_write(list[i]) ? PS_WRITE : PS_READ);                                                 \
        return real_##name()(mode, list, count, event);                                                                \
    }

SUBMIT_LIST(lio_listio)
SUBMIT_LIST(lio_listio64)

#define FETCH(name)                                                                                                    \
    SHIM(ssize_t, name, (struct aiocb * request)) {                                                                    \
        ssize_t moved = real_##name()(request);                                                                        \
        if (moved > 0 && ps_watched(request->aio_fildes))                                                              \
            ps_count(is_write(request) ? PS_WRITE : PS_READ, (uint64_t)moved, 0);                                      \
        return moved;                                                                                                  \
    }

FETCH(aio_return)
FETCH(aio_return64)
