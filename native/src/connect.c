#include "connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "text.h"

enum { CONNECTING = 2000 /* milliseconds that making a connection may take */ };

bool ps_absent(const struct ps_address *address) {
    struct stat status;
    return address->path[0] != '\0' && stat(address->path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* EPERM if the socket is in the temporary folder of this user's name and that belongs to another user. */
static int check_owner(const struct ps_address *address) {
    char folder[64];
    struct stat status;
    struct ps_text text = ps_text(folder, sizeof folder);
    ps_put(&text, "/tmp/penstock-");
    ps_put_count(&text, (uint64_t)getuid());
    const char *slash = strrchr(address->path, '/');
    if (slash == NULL || (size_t)(slash - address->path) != text.length ||
        memcmp(address->path, folder, text.length) != 0)
        return 0;
    if (lstat(folder, &status) != 0)
        return errno;
    return status.st_uid == getuid() ? 0 : EPERM;
}

static int finish(int made) {
    struct pollfd wait = {made, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    if (poll(&wait, 1, CONNECTING) <= 0)
        return ETIMEDOUT;
    return getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

static int try_address(int family, const struct sockaddr *where, socklen_t size,
                       struct ps_descriptor *made) {
    *made = ps_descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made->number < 0)
        return errno;
    int error = connect(made->number, where, size) == 0 ? 0 : errno;
    if (error == EINPROGRESS)
        error = finish(made->number);
    if (error != 0)
        ps_descriptor_close(made);
    return error;
}

static int connect_tcp(const struct ps_address *address, struct ps_descriptor *made) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found = NULL;
    if (getaddrinfo(address->host, address->port, &hints, &found) != 0)
        return EHOSTUNREACH;
    int error = EHOSTUNREACH, on = 1;
    for (const struct addrinfo *at = found; at != NULL && error != 0; at = at->ai_next)
        error = try_address(at->ai_family, at->ai_addr, at->ai_addrlen, made);
    freeaddrinfo(found);
    if (error == 0)
        (void)setsockopt(made->number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return error;
}

int ps_connect(const struct ps_address *address, struct ps_descriptor *made) {
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    if (address->path[0] == '\0')
        return connect_tcp(address, made);
    int error = check_owner(address);
    if (error != 0)
        return error;
    memcpy(where.sun_path, address->path, sizeof where.sun_path);
    return try_address(AF_UNIX, (const struct sockaddr *)&where, sizeof where, made);
}
