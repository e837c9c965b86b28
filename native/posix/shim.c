#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

_Thread_local int ps_depth;
_Thread_local int ps_ours;
_Thread_local int ps_hidden;

static long missing(void) {
    errno = ENOSYS;
    return -1;
}

ps_function ps_find(_Atomic(ps_function) *found, const char *name) {
    int before = errno;
    union {
        void *object;
        ps_function function;
    } next = {dlsym(RTLD_NEXT, name)};
    errno = before;
    ps_function function = next.object != NULL ? next.function : (ps_function)missing;
    atomic_store_explicit(found, function, memory_order_relaxed);
    return function;
}

/* If nobody reads standard error, the program must not get a SIGPIPE for what it did not write. */
void ps_say(const char *text) {
    const struct timespec no_time = {0, 0};
    sigset_t pipe, before, waiting;
    struct stat status;
    char line[256];
    struct ps_text whole = ps_text(line, sizeof line);
    ps_put(&whole, "penstock: ");
    ps_put(&whole, text);
    ps_put(&whole, "\n");
    if (fstat(STDERR_FILENO, &status) != 0)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ps_depth++;
    bool broken = write(STDERR_FILENO, line, whole.length) < 0 && errno == EPIPE;
    ps_depth--;
    if (broken && !sigismember(&waiting, SIGPIPE))
        sigtimedwait(&pipe, NULL, &no_time);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
