#include "settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define DEFAULT_GAP 1.0
#define LONGEST_GAP 1e6

struct ps_settings ps_settings;

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static void copy(char *to, size_t size, const char *from) {
    struct ps_text text = ps_text(to, size);
    ps_put(&text, from);
    if (text.full)
        *to = '\0';
}

/* Before main the locale is "C", so strtod reads numbers with a point. */
static double number(const char *text, double standard, double least, double most) {
    char *end;
    double value = strtod(text, &end);
    return *text != '\0' && *end == '\0' && value >= least && value <= most ? value : standard;
}

/* The number after `name`; 0 if there is none, or not only a number. */
static uint64_t hint(const char *phase, const char *name) {
    const char *found = strstr(phase, name);
    char *end;
    if (found == NULL || (found != phase && found[-1] != ',') || found[strlen(name)] == '-')
        return 0;
    unsigned long long value = strtoull(found + strlen(name), &end, 10);
    return (*end != '\0' && *end != ',') || value > (unsigned long long)1 << 53 ? 0 : value;
}

/* Relative folders are left out: they would mean another one after a chdir. */
static void add_mount(struct ps_text *all, const char *folder, size_t length) {
    char told[PATH_MAX], resolved[PATH_MAX];
    struct ps_text path = ps_text(told, sizeof told);
    ps_put_bytes(&path, folder, length);
    if (length == 0 || *folder != '/' || path.full)
        return;
    const char *real = realpath(told, resolved);
    struct ps_text before = *all;
    ps_put(all, real != NULL ? real : told);
    ps_put_bytes(all, "", 1);
    if (all->full)
        *all = before;
}

/* At the first look at a file and not at the start: a file system that hangs must not stop a program that does not use it. */
static void resolve_mounts(void) {
    const char *folders = ps_settings.told;
    struct ps_text all = ps_text(ps_settings.mounts, sizeof ps_settings.mounts - 1);
    while (*folders != '\0') {
        size_t length = strcspn(folders, ":");
        add_mount(&all, folders, length);
        folders += length + (folders[length] == ':');
    }
    memset(all.start + all.length, 0, sizeof ps_settings.mounts - all.length);
}

__attribute__((constructor)) static void read_environment(void) {
    const char *folders = variable("PENSTOCK_MOUNTS"), *observe = variable("PENSTOCK_OBSERVE");
    if (*folders != '\0') {
        copy(ps_settings.told, sizeof ps_settings.told, folders);
        ps_settings.active = true;
        ps_settings.observe = *observe != '\0' && strcmp(observe, "0") != 0;
        ps_settings.gap = number(variable("PENSTOCK_GAP"), DEFAULT_GAP, 1e-3, LONGEST_GAP);
        ps_settings.volume = hint(variable("PENSTOCK_PHASE"), "volume=");
        ps_settings.rounds = hint(variable("PENSTOCK_PHASE"), "rounds=") % ((uint64_t)1000000000 + 1);
        ps_settings.nodes = (int64_t)number(variable("PENSTOCK_NODES"), 0.0, 1.0, 1e9);
        ps_settings.bandwidth = number(variable("PENSTOCK_BANDWIDTH"), -1.0, 1.0, 1e18);
        copy(ps_settings.name, sizeof ps_settings.name, variable("PENSTOCK_NAME"));
        copy(ps_settings.record, sizeof ps_settings.record, variable("PENSTOCK_RECORD"));
    }
    ps_settings.ready = true;
}

bool ps_mounted(const char *path) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, resolve_mounts);
    for (const char *mount = ps_settings.mounts; *mount != '\0'; mount += strlen(mount) + 1) {
        size_t length = strlen(mount);
        if (length == 1 || (strncmp(path, mount, length) == 0 && (path[length] == '/' || path[length] == '\0')))
            return true;
    }
    return false;
}
