/* Descriptors that stay out of the application's way: high, closed on exec, and never mistaken for another file.
 *
 * An application may close descriptors that it does not know, and get their numbers for files of its own. So each use
 * first checks that the number still means the same socket.
 */
#ifndef PS_DESCRIPTOR_H
#define PS_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

struct ps_descriptor {
    int number; /* -1: none */
    dev_t device;
    ino_t inode;
};

#define PS_NO_DESCRIPTOR {-1, 0, 0}

/* Take over a new socket, which gets a number of 500 or more if the limits allow. */
struct ps_descriptor ps_descriptor(int number);
/* Its number, or -1 if it is none any more. */
int ps_descriptor_number(const struct ps_descriptor *descriptor);
void ps_descriptor_close(struct ps_descriptor *descriptor);

/* A pair of sockets: `ring` makes the ear readable, `silence` empties it. */
struct ps_bell {
    struct ps_descriptor hammer;
    struct ps_descriptor ear;
};

#define PS_NO_BELL {PS_NO_DESCRIPTOR, PS_NO_DESCRIPTOR}

bool ps_bell_make(struct ps_bell *bell);
void ps_bell_ring(const struct ps_bell *bell);
void ps_bell_silence(const struct ps_bell *bell);
void ps_bell_close(struct ps_bell *bell);

#endif
