/* The levels of an I/O stack, which describe an operation together (003 III.C): penstock_prepare pushes one.
 *
 * A level describes some bytes and the parts in which they move: files, rounds of each file, or both. An inner level
 * describes one part of the level around it, so every level counts:
 *
 * - An operation has the volume of the innermost level; if that gives none, its share of the level around it.
 * - It has as many rounds as the innermost level has parts.
 * - It is followed by the bytes that the outer levels still have to move after it. If an outer level gives no volume, all
 *   its parts are taken to be as large as the inner level.
 *
 * Bytes that are moved count on all levels that are on the stack at that time. The same as in Python (access.py).
 */
#ifndef PS_LEVELS_H
#define PS_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include "penstock.h"

enum { PS_LEVELS = 32 };

struct ps_level {
    penstock_info told;
    uint64_t moved;
};

struct ps_levels {
    int depth;
    struct ps_level list[PS_LEVELS + 1]; /* the last one is for an operation inside a full stack */
};

/* An operation as the stack describes it. */
struct ps_announcement {
    uint64_t volume;
    uint64_t rounds;
    uint64_t follows; /* bytes that the outer levels have still to move after it */
};

/* Add an inner level. Returns 0 or a code. */
int ps_levels_push(struct ps_levels *levels, const penstock_info *told);
/* Remove the innermost level. */
void ps_levels_pop(struct ps_levels *levels);
/* Count bytes that were moved. */
void ps_levels_count(struct ps_levels *levels, uint64_t moved);
/* The operation that the innermost level describes, with the values told beside its own. Returns 0 or a code. */
int ps_levels_announce(const struct ps_levels *levels, const penstock_info *told, struct ps_announcement *announced);
/* An operation that is a level of its own. */
int ps_levels_announce_inside(const struct ps_levels *levels, const penstock_info *told,
                              struct ps_announcement *announced);

#endif
