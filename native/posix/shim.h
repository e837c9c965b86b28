/* How the shim stands in for functions of the C library.
 *
 * libpenstock-posix.so is preloaded (LD_PRELOAD). It defines functions of libc, paces those calls that move bytes of
 * watched files, and passes all others on to the next definition. A call on a file that is not watched costs one look
 * into a table (descriptors.h).
 */
#ifndef PS_SHIM_H
#define PS_SHIM_H

#include <stdatomic.h>
#include <stddef.h>

typedef void (*ps_function)(void);

/* Look the next definition up and keep it. One that is missing fails with ENOSYS, as if the kernel lacked the call. */
ps_function ps_find(_Atomic(ps_function) *found, const char *name);

/* Declares real_NAME(), which is the next definition of a function. */
#define REAL(type, name, parameters)                                                                                   \
    typedef type(*name##_function) parameters;                                                                         \
    static _Atomic(ps_function) name##_found;                                                                          \
    static inline name##_function real_##name(void) {                                                                  \
        ps_function found = atomic_load_explicit(&name##_found, memory_order_relaxed);                                 \
        return (name##_function)(found != NULL ? found : ps_find(&name##_found, #name));                               \
    }

/* Begins a definition of our own. It has another name in C, so that no header, builtin or fortified inline interferes. */
#define DEFINE(type, name, parameters)                                                                                 \
    __attribute__((visibility("default"))) type shim_##name parameters __asm__(#name);                                 \
    type shim_##name parameters

#define SHIM(type, name, parameters)                                                                                   \
    REAL(type, name, parameters)                                                                                       \
    DEFINE(type, name, parameters)

/* Above 0 while this thread is inside a paced call: calls by a signal handler then only count. */
extern _Thread_local int ps_depth;
/* Whether this thread now acts for libpenstock: descriptors that it makes are ours. */
extern _Thread_local int ps_ours;
/* Above 0 while another layer (MPI-IO) counts what this thread moves. */
extern _Thread_local int ps_hidden;

/* One line on standard error. */
void ps_say(const char *text);

#endif
