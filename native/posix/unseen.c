#include "unseen.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "descriptors.h"
#include "flow.h"
#include "record.h"
#include "settings.h"
#include "shim.h"
#include "text.h"

static _Atomic(const char *) hides; /* a way of this process that we do not see; NULL: none */

static void say_once(const char *text) {
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        ps_say(text);
}

void ps_unseen_use(int file) {
    const char *what = atomic_load_explicit(&hides, memory_order_relaxed);
    if (what == NULL || ps_depth > 0 || !ps_watched(file))
        return;
    ps_appear();
    say_once(what);
}

/* ---- mmap ---- */

static void look_at_map(int protection, int flags, int file) {
    bool shared = (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
    if (!shared || (protection & PROT_WRITE) == 0 || (flags & MAP_ANONYMOUS) != 0 || !ps_watched(file) || ps_depth > 0)
        return;
    ps_appear();
    atomic_fetch_add(&ps_record->mapped, 1);
    say_once("a watched file is mapped for writing; bytes written through memory are not seen");
}

#define MAP(name)                                                                                                      \
    SHIM(void *, name, (void *place, size_t size, int protection, int flags, int file, off_t at)) {                    \
        void *mapped = real_##name()(place, size, protection, flags, file, at);                                        \
        if (mapped != MAP_FAILED && file >= 0)                                                                         \
            look_at_map(protection, flags, file);                                                                      \
        return mapped;                                                                                                 \
    }

MAP(mmap)
MAP(mmap64)

/* ---- io_uring and libaio ----
 * Neither names a file. They count for a process that opens or closes a watched one while it has them. */

static void note(ps_counter *counter, const char *text) {
    if (!ps_settings.active || ps_depth > 0)
        return;
    atomic_fetch_add(counter, 1);
    hides = text;
}

static void note_ring(void) { note(&ps_record->rings, "this program uses io_uring, whose I/O is not seen"); }

static void note_submission(void) {
    note(&ps_record->submissions, "this program uses libaio, whose I/O is not seen");
}

SHIM(long, syscall, (long number, ...)) {
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_io_uring_setup)
        note_ring();
    else if (number == SYS_io_setup)
        note_submission();
    return real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

SHIM(int, io_uring_queue_init, (unsigned entries, void *ring, unsigned flags)) {
    note_ring();
    return real_io_uring_queue_init()(entries, ring, flags);
}

SHIM(int, io_uring_queue_init_params, (unsigned entries, void *ring, void *parameters)) {
    note_ring();
    return real_io_uring_queue_init_params()(entries, ring, parameters);
}

SHIM(int, io_setup, (int events, void *context)) {
    note_submission();
    return real_io_setup()(events, context);
}

SHIM(int, io_queue_init, (int events, void *context)) {
    note_submission();
    return real_io_queue_init()(events, context);
}

/* ---- Programs ----
 * All of this may run in the child of a vfork: it changes nothing but the stack. */

enum { HEAD = 4096 };

REAL(ssize_t, pread, (int file, void *data, size_t size, off_t at))
REAL(ssize_t, write, (int file, const void *data, size_t size))

/* A static program asks for no loader; one of Go calls the kernel itself. */
static bool is_closed(const char *head, size_t size) {
    static const char go[] = "Go build ID";
    Elf64_Ehdr all;
    Elf64_Phdr part;
    if (size < sizeof all || memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&all, head, sizeof all);
    for (size_t i = 0; i < all.e_phnum && all.e_phoff <= size && all.e_phoff + (i + 1) * sizeof part <= size; i++) {
        memcpy(&part, head + all.e_phoff + i * sizeof part, sizeof part);
        if (part.p_type == PT_INTERP)
            return memmem(head, size, go, sizeof go - 1) != NULL;
    }
    return true;
}

static bool is_unseen(const char *path) {
    char head[HEAD];
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0)
        return false;
    bool known = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t size = known ? real_pread()(file, head, sizeof head, 0) : -1;
    close(file);
    bool other_user = known && (((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
                                ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid()));
    return other_user || (size > 0 && is_closed(head, (size_t)size));
}

/* The first program of this name on PATH. */
static bool find_program(const char *name, char *path, size_t size) {
    const char *folders = getenv("PATH");
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        struct ps_text text = ps_text(path, size);
        ps_put_bytes(&text, folders, length);
        ps_put(&text, length > 0 ? "/" : "./");
        ps_put(&text, name);
        if (!text.full && access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

static void note_program(const char *path) {
    char place[PATH_MAX], line[PATH_MAX + 1], folder[PATH_MAX];
    struct ps_text text = ps_text(place, sizeof place), named = ps_text(line, sizeof line);
    ps_put(&text, ps_settings.record);
    ps_put(&text, "/unseen");
    if (*path != '/' && getcwd(folder, sizeof folder) != NULL) {
        ps_put(&named, folder);
        ps_put(&named, "/");
    }
    ps_put(&named, path);
    ps_put(&named, "\n");
    int file = text.full || named.full ? -1 : open(place, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (file < 0)
        return;
    (void)!real_write()(file, line, named.length);
    close(file);
}

void ps_unseen_program(const char *path, bool by_name) {
    char found[PATH_MAX];
    int before = errno;
    if (!ps_settings.active || ps_settings.record[0] == '\0' || path == NULL)
        return;
    if (by_name && strchr(path, '/') == NULL)
        path = find_program(path, found, sizeof found) ? found : NULL;
    if (path != NULL && is_unseen(path))
        note_program(path);
    errno = before;
}
