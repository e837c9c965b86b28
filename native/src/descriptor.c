#include "descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIGH = 500 };

struct ps_descriptor ps_descriptor(int number) {
    struct ps_descriptor descriptor = PS_NO_DESCRIPTOR;
    struct stat status;
    if (number < 0)
        return descriptor;
    int high = fcntl(number, F_DUPFD_CLOEXEC, HIGH);
    if (high >= 0) {
        close(number);
        number = high;
    }
    if (fstat(number, &status) != 0) {
        close(number);
        return descriptor;
    }
    descriptor.number = number;
    descriptor.device = status.st_dev;
    descriptor.inode = status.st_ino;
    return descriptor;
}

int ps_descriptor_number(const struct ps_descriptor *descriptor) {
    struct stat status;
    if (descriptor->number < 0 || fstat(descriptor->number, &status) != 0 || status.st_dev != descriptor->device ||
        status.st_ino != descriptor->inode)
        return -1;
    return descriptor->number;
}

void ps_descriptor_close(struct ps_descriptor *descriptor) {
    int number = ps_descriptor_number(descriptor);
    if (number >= 0)
        close(number);
    descriptor->number = -1;
}

bool ps_bell_make(struct ps_bell *bell) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return false;
    bell->hammer = ps_descriptor(ends[0]);
    bell->ear = ps_descriptor(ends[1]);
    if (bell->hammer.number >= 0 && bell->ear.number >= 0)
        return true;
    ps_bell_close(bell);
    return false;
}

void ps_bell_ring(const struct ps_bell *bell) {
    int number = ps_descriptor_number(&bell->hammer);
    if (number >= 0)
        (void)!send(number, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void ps_bell_silence(const struct ps_bell *bell) {
    char rings[256];
    int number = ps_descriptor_number(&bell->ear);
    while (number >= 0 && recv(number, rings, sizeof rings, MSG_DONTWAIT) == (ssize_t)sizeof rings)
        continue;
}

void ps_bell_close(struct ps_bell *bell) {
    ps_descriptor_close(&bell->hammer);
    ps_descriptor_close(&bell->ear);
}
