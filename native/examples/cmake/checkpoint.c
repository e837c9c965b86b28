/* Writes checkpoints of 8 MB, coordinated with other applications. */
#include <fcntl.h>
#include <penstock.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    enum { SIZE = 8000000, STEPS = 2 };
    char *data = calloc(1, SIZE);
    penstock_options options = PENSTOCK_OPTIONS_INIT;
    penstock_job *job;
    options.name = "climate";
    options.nodes = 64;
    int code = penstock_open(&job, &options);
    if (code < 0 || data == NULL) {
        fprintf(stderr, "checkpoint: %s\n", penstock_strerror(code));
        return 1;
    }
    for (int step = 0; step < STEPS; step++) {
        /* ... compute ... */
        int file = open(count > 1 ? arguments[1] : "checkpoint.dat", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        penstock_begin(job, SIZE, 16);
        ssize_t written = penstock_write(job, file, data, SIZE);
        penstock_end(job);
        if (written != SIZE || close(file) != 0) {
            fprintf(stderr, "checkpoint: %s\n", penstock_strerror((int)written));
            return 1;
        }
    }
    penstock_close(job);
    free(data);
    return 0;
}
