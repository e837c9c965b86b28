#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "settings.h"
#include "shim.h"
#include "text.h"

enum { OURS = 16 /* a link has five descriptors */ };

_Atomic unsigned char ps_files[PS_FILES];
static _Atomic int ours[OURS]; /* number + 1; 0: none */

static bool is_watched_path(int file) {
    char link[48], path[PATH_MAX + 1];
    struct ps_text name = ps_text(link, sizeof link);
    ps_put(&name, "/proc/self/fd/");
    ps_put_count(&name, (uint64_t)file);
    ssize_t length = readlink(link, path, PATH_MAX);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return ps_mounted(path);
}

bool ps_classify(int file, enum ps_file is) {
    struct stat status;
    int before = errno;
    if (is != PS_UNKNOWN || ps_depth > 0 || !ps_settings.ready)
        return is == PS_WATCHED && ps_hidden == 0;
    if (ps_settings.active && fstat(file, &status) != 0) {
        errno = before;
        return false;
    }
    is = ps_settings.active && S_ISREG(status.st_mode) && is_watched_path(file) ? PS_WATCHED : PS_PLAIN;
    errno = before;
    unsigned char expected = PS_UNKNOWN;
    atomic_compare_exchange_strong(&ps_files[file], &expected, (unsigned char)is);
    return is == PS_WATCHED && ps_hidden == 0;
}

int ps_reset(int file) {
    if ((unsigned)file < PS_FILES)
        atomic_store_explicit(&ps_files[file], ps_hidden > 0 ? PS_HIDDEN : PS_UNKNOWN, memory_order_relaxed);
    return file;
}

void ps_own(int file) {
    if ((unsigned)file >= PS_FILES)
        return;
    for (int i = 0; i < OURS; i++) {
        int expected = 0;
        if (atomic_compare_exchange_strong(&ours[i], &expected, file + 1)) {
            atomic_store(&ps_files[file], PS_OURS);
            return;
        }
    }
}

void ps_disown(int file) {
    if ((unsigned)file >= PS_FILES || atomic_load(&ps_files[file]) != PS_OURS)
        return;
    for (int i = 0; i < OURS; i++) {
        int expected = file + 1;
        atomic_compare_exchange_strong(&ours[i], &expected, 0);
    }
    atomic_store(&ps_files[file], PS_UNKNOWN);
}

void ps_disown_all(void) {
    for (int i = 0; i < OURS; i++)
        ps_disown(atomic_load(&ours[i]) - 1);
}

int ps_first_own(unsigned from, unsigned to) {
    int first = -1;
    for (int i = 0; i < OURS; i++) {
        int file = atomic_load(&ours[i]) - 1;
        if (file >= 0 && (unsigned)file >= from && (unsigned)file <= to && (first < 0 || file < first))
            first = file;
    }
    return first;
}
