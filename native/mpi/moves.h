/* How a call that moves data is carried out: in slices, in rounds, or in one piece after its turn has come.
 *
 * A call of all ranks that moves V bytes in R rounds has moved floor(k V / R) bytes after round k (003 III.C). When m bytes
 * of all ranks are moved, a rank with n elements has moved floor(n m / V) of them, rounded down to complete grains: the
 * smallest number of elements that makes a whole number of the view's etypes, in which positions in a file count. So every
 * rank knows its range of each round. A rank with less to move, or nothing, takes part in every round.
 */
#ifndef PS_MOVES_H
#define PS_MOVES_H

#include "calls.h"
#include "files.h"

/* A call as the program made it. `call` makes the same kind of call on other words. */
struct ps_request {
    const char *name;
    enum ps_direction direction;
    enum ps_scheme scheme;
    bool at;     /* the second word is an offset, and the rest follow it */
    ps_word words[6];
    ps_call call;
    ps_call whole; /* of a split call: the blocking one */
};

/* Make the call on a file of ours. Returns as MPI does. */
int ps_carry_out(struct ps_file *file, const struct ps_request *request);

#endif
