/* Says notices to people: to a function of the application, or warnings to standard error. Without stdio. */
#ifndef PS_VOICE_H
#define PS_VOICE_H

#include <sys/types.h>

#include "outage.h"
#include "penstock.h"

struct ps_voice {
    penstock_notice notice; /* NULL: standard error */
    void *context;
    dev_t device; /* of standard error when the voice was made */
    ino_t inode;
};

void ps_voice_init(struct ps_voice *voice);
void ps_voice_say(const struct ps_voice *voice, const struct ps_notice *notice);

#endif
