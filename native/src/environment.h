/* What the environment says: where the coordinator is, how patient to be, and who the application is. */
#ifndef PS_ENVIRONMENT_H
#define PS_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "outage.h"
#include "protocol.h"

enum { PS_PATH_BYTES = 108, PS_HOST_BYTES = 256 };

/* A Unix socket if `path` is not empty, else a TCP port. */
struct ps_address {
    char path[PS_PATH_BYTES];
    char host[PS_HOST_BYTES];
    char port[6];
};

/* Whether PENSTOCK_DISABLE switches coordination off. */
bool ps_disabled(void);

/* The patience that is told, else that of the environment. 0 or PENSTOCK_E_RANGE. A value of the environment that
 * cannot be used is named in a notice, and the default taken. */
int ps_find_patience(double told, double *patience, struct ps_notices *notices);

/* The address that is told (or NULL), else that of the environment, else the default socket. 0 or
 * PENSTOCK_E_ADDRESS; `shown` is what people read. */
int ps_find_address(const char *told, struct ps_address *address, char shown[PS_WHERE_BYTES]);

/* The token for a TCP port, from the file that is told (or NULL) or that of the environment; empty on a Unix socket.
 * 0 or PENSTOCK_E_TOKEN. */
int ps_find_token(const char *told, const struct ps_address *address, char token[PS_SECRET_BYTES]);

/* Who the application is: as told, else by Slurm's variables, else by the program. 0 or PENSTOCK_E_RANGE.
 * name may be NULL, nodes 0; negative numbers are not known. */
int ps_identify(struct ps_identity *identity, const char *name, int64_t nodes, double bandwidth, double lead,
                double whole);

#endif
