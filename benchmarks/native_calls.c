/* What the preloaded library adds to a call: native_calls FILE BYTES SPAN CALLS PAIRS writes BYTES to FILE, again and again
 * through its first SPAN bytes, CALLS times by the function that the program finds and CALLS times by that of libc itself, in
 * turns, after a warm-up. Prints nanoseconds
 * of the thread's processor time per call, the medians of either and of the differences within a pair; then what the other
 * threads used of a processor, in percent. None of these grows because other programs run. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DIRECT, FOUND, BOTH };
typedef ssize_t (*writer)(int, const void *, size_t, off_t);

static double now(clockid_t clock) {
    struct timespec date;
    clock_gettime(clock, &date);
    return (double)date.tv_sec * 1e9 + (double)date.tv_nsec;
}

static int larger(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0.0) - (difference < 0.0);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, larger);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

int main(int count, char **arguments) {
    if (count != 6)
        return 2;
    size_t size = strtoul(arguments[2], NULL, 10);
    off_t span = atol(arguments[3]), at = 0;
    int calls = atoi(arguments[4]), pairs = atoi(arguments[5]);
    char *data = calloc(1, size);
    int file = open(arguments[1], O_WRONLY | O_CREAT, 0600);
    writer writers[BOTH] = {NULL, pwrite};
    void *found = dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "pwrite");
    memcpy(writers, &found, sizeof found);
    double *spent[BOTH], *added = calloc((size_t)pairs, sizeof *added);
    for (int which = 0; which < BOTH; which++)
        spent[which] = calloc((size_t)pairs, sizeof(double));
    double first = now(CLOCK_MONOTONIC);
    for (int pair = -1; pair < pairs; pair++) {
        for (int turn = 0; turn < BOTH; turn++) {
            int which = (pair + 1 + turn) % BOTH;
            double begun = now(CLOCK_THREAD_CPUTIME_ID);
            for (int i = 0; i < calls; i++, at = (at + (off_t)size) % span)
                if (writers[which](file, data, size, at) != (ssize_t)size)
                    return 1;
            if (pair >= 0)
                spent[which][pair] = (now(CLOCK_THREAD_CPUTIME_ID) - begun) / calls;
        }
        if (pair >= 0)
            added[pair] = spent[FOUND][pair] - spent[DIRECT][pair];
    }
    double others = now(CLOCK_PROCESS_CPUTIME_ID) - now(CLOCK_THREAD_CPUTIME_ID), passed = now(CLOCK_MONOTONIC) - first;
    printf("%f %f %f %f\n", median(spent[DIRECT], pairs), median(spent[FOUND], pairs), median(added, pairs),
           100.0 * others / passed);
    return 0;
}
