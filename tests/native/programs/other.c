/* Another library to preload: says at exit how many bytes went through write and fwrite. With WITHOUT=NAME, no library
 * after it seems to have a function of that name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t seen;

ssize_t write(int file, const void *data, size_t size) {
    ssize_t (*next)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    seen += size;
    return next(file, data, size);
}

void *dlsym(void *handle, const char *name) {
    static void *(*next)(void *, const char *);
    const char *without = getenv("WITHOUT");
    if (next == NULL)
        next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (next == NULL)
        next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return without != NULL && strcmp(without, name) == 0 ? NULL : next(handle, name);
}

__attribute__((destructor)) static void tell(void) { dprintf(2, "other: %zu\n", seen); }
