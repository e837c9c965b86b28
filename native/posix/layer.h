/* What a layer above this one, such as MPI-IO, uses of it: the turn, the counters, and that bytes count once.
 *
 * libpenstock-mpi.so looks for penstock_posix_layer in the process. Without it, it does nothing.
 */
#ifndef PS_LAYER_H
#define PS_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow.h"

enum { PS_LAYER_VERSION = 2 };

struct ps_layer {
    /* Whether files of this path are watched; a file that is not there yet goes by its folder. */
    bool (*watches)(const char *path);
    /* 1: what this thread moves, and the files that it opens, are not counted here, until 0. */
    void (*hide)(int on);
    /* This process is a rank of an MPI program that has so many nodes. The first rank speaks for all; another one that speaks
     * for itself has one node, and one node's part of the bandwidth. */
    void (*is_rank)(int64_t nodes, bool first);
    /* Whether this process follows a coordinator, or would look for one now. */
    bool (*speaks)(void);
    /* The functions of flow.h; no call moves more than it takes. */
    bool (*enter)(void);
    size_t (*take)(size_t size);
    void (*moved)(enum ps_direction direction, size_t taken, size_t moved);
    void (*leave)(enum ps_direction direction);
    void (*enter_together)(bool speaks);
    void (*begin_rounds)(void);
    double (*turn)(const struct ps_rounds *rounds);
    bool (*take_round)(uint64_t size, const struct ps_rounds *rounds);
    void (*round_moved)(uint64_t taken, uint64_t moved, uint64_t own);
    void (*end_rounds)(void);
    void (*leave_together)(enum ps_direction direction);
    void (*count)(enum ps_direction direction, uint64_t bytes, uint64_t calls);
    /* What PENSTOCK_PHASE says of a round's bytes; 0: nothing. */
    uint64_t (*round_bytes)(void);
    /* One line on standard error. */
    void (*say)(const char *text);
};

/* libpenstock and the client in Python call this for a program that has a job of its own (1), until that ends (0). */
void penstock_posix_stand_aside(int on);

/* NULL if nothing is watched in this process, or if this is another version. */
const struct ps_layer *penstock_posix_layer(unsigned version);

#endif
