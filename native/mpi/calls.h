/* The calls of MPI-IO that move data: the list is the list of lines. */
#ifndef PS_CALLS_H
#define PS_CALLS_H

#include <stdbool.h>

#include "library.h"

enum ps_scheme {
    PS_ALONE,          /* this rank's turn, in slices */
    PS_SHARED,         /* the same in one piece: the shared pointer */
    PS_TOGETHER,       /* all ranks: rank 0 waits, in rounds */
    PS_ORDERED,        /* all ranks, in one round: the shared pointer */
    PS_STARTED,        /* this rank's turn before it starts */
    PS_STARTED_TOGETHER, /* rank 0's turn before it starts */
    PS_BEGUN,          /* all that PS_TOGETHER does, before it returns */
    PS_BEGUN_ORDERED,
    PS_ENDED           /* of what was begun */
};

/* X(name, direction, 1 if it names an offset, scheme) */
#define PS_CALLS_OF(X, verb, direction)                                                                                \
    X(verb, direction, 0, PS_ALONE)                                                                                    \
    X(verb##_at, direction, 1, PS_ALONE)                                                                               \
    X(verb##_shared, direction, 0, PS_SHARED)                                                                          \
    X(verb##_all, direction, 0, PS_TOGETHER)                                                                           \
    X(verb##_at_all, direction, 1, PS_TOGETHER)                                                                        \
    X(verb##_ordered, direction, 0, PS_ORDERED)                                                                        \
    X(i##verb, direction, 0, PS_STARTED)                                                                               \
    X(i##verb##_at, direction, 1, PS_STARTED)                                                                          \
    X(i##verb##_shared, direction, 0, PS_STARTED)                                                                      \
    X(i##verb##_all, direction, 0, PS_STARTED_TOGETHER)                                                                \
    X(i##verb##_at_all, direction, 1, PS_STARTED_TOGETHER)                                                             \
    X(verb##_all_begin, direction, 0, PS_BEGUN)                                                                        \
    X(verb##_at_all_begin, direction, 1, PS_BEGUN)                                                                     \
    X(verb##_ordered_begin, direction, 0, PS_BEGUN_ORDERED)

#define PS_ENDS_OF(X, verb, direction)                                                                                 \
    X(verb##_all_end, direction, 0, PS_ENDED)                                                                          \
    X(verb##_at_all_end, direction, 0, PS_ENDED)                                                                       \
    X(verb##_ordered_end, direction, 0, PS_ENDED)

#define PS_CALLS(X)                                                                                                    \
    PS_CALLS_OF(X, read, PS_READ)                                                                                      \
    PS_CALLS_OF(X, write, PS_WRITE)

#define PS_ENDS(X)                                                                                                     \
    PS_ENDS_OF(X, read, PS_READ)                                                                                       \
    PS_ENDS_OF(X, write, PS_WRITE)

/* Calls that move no data of the program, but may write to files of their own, such as one with the shared pointer. */
#define PS_QUIET(X)                                                                                                    \
    X(get_position_shared)                                                                                             \
    X(get_size)                                                                                                        \
    X(preallocate)                                                                                                     \
    X(seek_shared)                                                                                                     \
    X(set_atomicity)                                                                                                   \
    X(set_size)                                                                                                        \
    X(sync)

#endif
