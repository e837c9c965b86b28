#include "unseen.h"

#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "descriptors.h"
#include "flow.h"
#include "record.h"
#include "settings.h"
#include "shim.h"

static _Atomic(const char *) hides; /* a way of this process that we do not see; NULL: none */

static void say_once(const char *text) {
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        ps_say(text);
}

void ps_unseen_use(int file) {
    const char *what = atomic_load_explicit(&hides, memory_order_relaxed);
    if (what == NULL || ps_depth > 0 || !ps_watched(file))
        return;
    ps_appear();
    say_once(what);
}

/* ---- mmap ---- */

static void look_at_map(int protection, int flags, int file) {
    bool shared = (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
    if (!shared || (protection & PROT_WRITE) == 0 || (flags & MAP_ANONYMOUS) != 0 || !ps_watched(file) || ps_depth > 0)
        return;
    ps_appear();
    atomic_fetch_add(&ps_record->mapped, 1);
    say_once("a watched file is mapped for writing; bytes written through memory are not seen");
}

#define MAP(name)                                                                                                      \
    SHIM(void *, name, (void *place, size_t size, int protection, int flags, int file, off_t at)) {                    \
        void *mapped = real_##name()(place, size, protection, flags, file, at);                                        \
        if (mapped != MAP_FAILED && file >= 0)                                                                         \
            look_at_map(protection, flags, file);                                                                      \
        return mapped;                                                                                                 \
    }

MAP(mmap)
MAP(mmap64)

/* ---- io_uring and libaio ----
 * Neither names a file. They count for a process that opens or closes a watched one while it has them. */

static void note(ps_counter *counter, const char *text) {
    if (!ps_settings.active || ps_depth > 0)
        return;
    atomic_fetch_add(counter, 1);
    hides = text;
}

static void note_ring(void) { note(&ps_record->rings, "this program uses io_uring, whose I/O is not seen"); }

static void note_submission(void) {
    note(&ps_record->submissions, "this program uses libaio, whose I/O is not seen");
}

SHIM(long, syscall, (long number, ...)) {
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_io_uring_setup)
        note_ring();
    else if (number == SYS_io_setup)
        note_submission();
    return real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

SHIM(int, io_uring_queue_init, (unsigned entries, void *ring, unsigned flags)) {
    note_ring();
    return real_io_uring_queue_init()(entries, ring, flags);
}

SHIM(int, io_uring_queue_init_params, (unsigned entries, void *ring, void *parameters)) {
    note_ring();
    return real_io_uring_queue_init_params()(entries, ring, parameters);
}

SHIM(int, io_setup, (int events, void *context)) {
    note_submission();
    return real_io_setup()(events, context);
}

SHIM(int, io_queue_init, (int events, void *context)) {
    note_submission();
    return real_io_queue_init()(events, context);
}
