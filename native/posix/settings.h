/* What the environment tells the shim; read once, before the program starts. */
#ifndef PS_SETTINGS_H
#define PS_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { PS_MOUNTS_BYTES = 8192 };

struct ps_settings {
    bool ready;   /* the environment is read */
    bool active;  /* there are mounts to watch */
    bool observe; /* PENSTOCK_OBSERVE: only count */
    double gap;   /* PENSTOCK_GAP: seconds without I/O that end a phase */
    uint64_t volume;              /* PENSTOCK_PHASE: bytes of each phase; 0: not told */
    uint64_t rounds;              /* and its rounds; 0: not told */
    int64_t nodes;                /* PENSTOCK_NODES; 0: not told */
    double bandwidth;             /* PENSTOCK_BANDWIDTH, bytes/s; negative: not told */
    char name[256];               /* PENSTOCK_NAME; empty: not told */
    char record[PATH_MAX];        /* PENSTOCK_RECORD; empty: none */
    char told[PS_MOUNTS_BYTES];   /* PENSTOCK_MOUNTS */
    char mounts[PS_MOUNTS_BYTES]; /* the same without symbolic links, each followed by a NUL */
};

extern struct ps_settings ps_settings;

/* Whether a path without symbolic links is below a mount. */
bool ps_mounted(const char *path);

#endif
