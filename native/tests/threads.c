/* Many threads on one job, and jobs that come and go beside them: for ThreadSanitizer.
 *
 *   threads FILE ROUNDS [no-fork]    prints the bytes moved by the shared job
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "penstock.h"

enum { WRITERS = 4, SIZE = 5000 };

static penstock_job *shared;
static const char *path;
static int rounds;
static atomic_int failures;

static void expect(int holds) {
    if (!holds)
        failures++;
}

/* Calls that are operations of their own, one after the other. */
static void *write_some(void *argument) {
    static const char data[SIZE];
    int file = open(path, O_WRONLY);
    off_t at = (off_t)(size_t)argument * SIZE;
    for (int i = 0; i < rounds; i++)
        expect(penstock_write_at(shared, file, data, SIZE, at) == SIZE);
    close(file);
    return NULL;
}

static void *come_and_go(void *argument) {
    char byte = 0;
    int file = open(path, O_RDONLY);
    for (int i = 0; i < rounds / 10; i++) {
        penstock_job *job;
        double seconds;
        expect(penstock_open(&job, NULL) == 0);
        expect(penstock_begin(job, 1, 1) == 0);
        (void)penstock_fd(job);
        expect(penstock_try_read(job, file, &byte, 1, &seconds) >= 0);
        expect(penstock_close(job) == 0);
    }
    close(file);
    return argument;
}

static void *look(void *argument) {
    penstock_state state;
    for (int i = 0; i < rounds; i++)
        expect(penstock_get_state(shared, &state) == 0);
    return argument;
}

/* Ends the operation in the middle of a call, as another thread may. */
static int64_t end_between(void *job, uint64_t at, size_t size) {
    expect(at == 0 && penstock_end(job) == 0);
    return (int64_t)(size / 2);
}

static int64_t fail(void *job, uint64_t at, size_t size) {
    expect(at == 0 && size == SIZE && penstock_end(job) == 0 && penstock_begin(job, 1, 1) == 0);
    return PENSTOCK_E_ENDED;
}

static void check_ends(void) {
    penstock_job *job;
    expect(penstock_open(&job, NULL) == 0);
    expect(penstock_begin(job, SIZE, 1) == 0);
    expect(penstock_move(job, SIZE, end_between, job, 0) == SIZE / 2);
    expect(penstock_begin(job, SIZE, 1) == 0);
    expect(penstock_move(job, SIZE, fail, job, 0) == PENSTOCK_E_ENDED);
    expect(penstock_end(job) == 0);
    expect(penstock_close(job) == 0);
}

static void fork_once(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        char byte = 0;
        int file = open(path, O_WRONLY);
        ssize_t written = penstock_write(shared, file, &byte, 1);
        _exit(written == 1 || written == PENSTOCK_E_BUSY ? 0 : 1); /* busy: another thread was in the middle of a call */
    }
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int count, char **arguments) {
    pthread_t threads[WRITERS + 2];
    penstock_state state;
    path = count > 1 ? arguments[1] : "threads.dat";
    rounds = count > 2 ? atoi(arguments[2]) : 100;
    close(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    check_ends();
    expect(penstock_open(&shared, NULL) == 0);
    for (size_t i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, write_some, (void *)i);
    pthread_create(&threads[WRITERS], NULL, come_and_go, NULL);
    pthread_create(&threads[WRITERS + 1], NULL, look, NULL);
    if (count < 4) /* to valgrind, what a child's lost threads held is a leak */
        fork_once();
    for (size_t i = 0; i < WRITERS + 2; i++)
        pthread_join(threads[i], NULL);
    penstock_get_state(shared, &state);
    printf("%llu\n", (unsigned long long)state.moved);
    penstock_close(shared);
    return failures > 0;
}
