/* Makes a connection to the coordinator. */
#ifndef PS_CONNECT_H
#define PS_CONNECT_H

#include <stdbool.h>

#include "descriptor.h"
#include "environment.h"

/* Connect within 2 s. 0, or the errno that says why not. */
int ps_connect(const struct ps_address *address, struct ps_descriptor *made);

/* Whether there is no socket at the address, so that nobody can be waited for. */
bool ps_absent(const struct ps_address *address);

#endif
