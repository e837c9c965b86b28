/* The bytes of watched files: when they may move, how many at once, and what is counted.
 *
 * A call asks before it moves bytes (ps_take) and tells afterwards how many it has moved (ps_moved). A phase opens with the
 * first bytes after a gap and ends after a gap. Its operation is announced with the volume of the phase before, or of
 * PENSTOCK_PHASE. If that is not known, or not enough, the phase goes on in operations of as many bytes as it has moved so
 * far, the first one 16 MiB or what the first call moves.
 *
 * Threads move data at the same time. Each takes its bytes out of the token bucket before its call, so the rate holds for
 * all of them together. A signal handler that runs while its thread waits may read and write: that is counted and not
 * paced. The wait goes on after the handler: regular files return no EINTR.
 */
#ifndef PS_FLOW_H
#define PS_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum ps_direction { PS_READ, PS_WRITE };

/* Moves `size` bytes from byte `from` of the whole on; returns as read and write do. */
typedef ssize_t (*ps_mover)(void *context, size_t from, size_t size);

/* Make a call of `total` bytes, in slices if the rate demands. Returns as read and write do, errno included. */
ssize_t ps_move(enum ps_direction direction, size_t total, ps_mover call, void *context);

/* The parts of ps_move, for calls that cannot be cut like that. */

/* Begin a call; false if this thread is inside one already, then it only counts. */
bool ps_enter(void);
/* Wait for the turn of at most `size` bytes; how many to move now. */
size_t ps_take(size_t size);
/* Wait until all of `size` bytes may move. Returns size. */
size_t ps_take_all(size_t size);
/* So many bytes were taken, and so many were moved. */
void ps_moved(enum ps_direction direction, size_t taken, size_t moved);
/* So many more bytes were moved by the function that ps_move calls. */
void ps_moved_besides(enum ps_direction direction, size_t moved);
/* End a call. */
void ps_leave(enum ps_direction direction);
/* A call that several processes make together, for which one of them `speaks`. They wait for each other, so a process has
 * and keeps no turn inside: another one may need it to come here. Only when all are here the speaker begins rounds. */
void ps_enter_together(bool speaks);
void ps_leave_together(enum ps_direction direction);
void ps_begin_rounds(void);
void ps_end_rounds(void);

/* What is left of such a call. */
struct ps_rounds {
    uint64_t left;  /* bytes of all processes */
    uint64_t count; /* rounds, 1 or more */
};

/* Wait until a round may begin; the rate that is granted, in bytes/s, infinite if nothing limits it. */
double ps_turn(const struct ps_rounds *rounds);
/* Wait until all of a round may move; false if there is nobody to wait for. */
bool ps_take_round(uint64_t size, const struct ps_rounds *rounds);
/* Of a round that was taken so much was moved by all processes, and so much of it by this one, which counts it itself. */
void ps_round_moved(uint64_t taken, uint64_t moved, uint64_t own);

/* Only count. */
void ps_count(enum ps_direction direction, uint64_t bytes, uint64_t calls);
/* The program is busy with a watched file without moving bytes that we see, such as fsync. */
void ps_touch(void);

/* Give the turn up, or leave, without waiting: the program may be gone after this. */
void ps_withdraw(bool leaving);

/* 1: the program speaks to the coordinator itself, by libpenstock or in Python; its bytes are only counted, until 0. */
void ps_stand_aside(int on);
bool ps_stands_aside(void);

/* A process touches a watched file: its record begins, even if no byte of it is seen. */
void ps_appear(void);

#endif
