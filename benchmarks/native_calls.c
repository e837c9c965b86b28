/* Nanoseconds of a call: native_calls FILE BYTES COUNT writes BYTES at the start of FILE, COUNT times, after a warm-up. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec date;
    clock_gettime(CLOCK_MONOTONIC, &date);
    return (double)date.tv_sec * 1e9 + (double)date.tv_nsec;
}

int main(int count, char **arguments) {
    if (count != 4)
        return 2;
    size_t size = strtoul(arguments[2], NULL, 10), calls = strtoul(arguments[3], NULL, 10);
    char *data = calloc(1, size);
    int file = open(arguments[1], O_WRONLY | O_CREAT, 0600);
    double fastest = 1e18;
    for (int turn = 0; turn < 10; turn++) {
        double start = now();
        for (size_t i = 0; i < calls / 10; i++)
            if (pwrite(file, data, size, 0) != (ssize_t)size)
                return 1;
        double spent = (now() - start) / (double)(calls / 10);
        fastest = spent < fastest ? spent : fastest;
    }
    printf("%f\n", fastest);
    return 0;
}
