/* Which descriptors are watched files: a table that every call looks into.
 *
 * A descriptor is classified at its first use, by what it is then: /proc/self/fd tells its path without symbolic links,
 * however it came about (opened, inherited, duplicated, received). Calls that make or close a descriptor only reset its
 * entry. So the child of a vfork, which shares the table with its parent, can do no harm.
 */
#ifndef PS_DESCRIPTORS_H
#define PS_DESCRIPTORS_H

#include <stdatomic.h>
#include <stdbool.h>

enum { PS_FILES = 1 << 20 /* descriptors beyond are not watched */ };

enum ps_file {
    PS_UNKNOWN,
    PS_PLAIN, /* not watched */
    PS_WATCHED,
    PS_HIDDEN, /* another layer counts its bytes */
    PS_OURS    /* of libpenstock: the program cannot close it by accident */
};

extern _Atomic unsigned char ps_files[PS_FILES];

bool ps_classify(int file, enum ps_file is);

/* Whether the descriptor is a watched file. */
static inline bool ps_watched(int file) {
    if ((unsigned)file >= PS_FILES)
        return false;
    unsigned char is = atomic_load_explicit(&ps_files[file], memory_order_relaxed);
    return is != PS_PLAIN && ps_classify(file, (enum ps_file)is);
}

/* The number means something new, or nothing. Returns it. */
int ps_reset(int file);

/* Take a descriptor for ours, or let it go. */
void ps_own(int file);
void ps_disown(int file);
/* After a fork: none is ours. */
void ps_disown_all(void);
/* The first of ours from `from` to `to`, or -1. */
int ps_first_own(unsigned from, unsigned to);

#endif
