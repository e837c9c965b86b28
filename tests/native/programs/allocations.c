/* A library to preload: counts the allocations of a program, which write to standard error at exit. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static _Atomic size_t count;

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

void *calloc(size_t many, size_t size) {
    count++;
    return __libc_calloc(many, size);
}

void *realloc(void *place, size_t size) {
    count++;
    return __libc_realloc(place, size);
}

__attribute__((destructor)) static void tell(void) { dprintf(2, "allocations: %zu\n", count); }
