/* Makes the calls that it reads, one a line, and prints what each returns: a program that tests can steer.
 *
 *   open NAME NODES PATIENCE   open_by_env   begin VOLUME ROUNDS   write BYTES   read BYTES   write_at BYTES AT   read_at BYTES AT
 *   try_write BYTES   ready BYTES   moved BYTES   poll MILLISECONDS   move BYTES   end   prepare VOLUME ROUNDS   inform VOLUME   check   wait SECONDS
 *   release MOVED   complete   rewind   closefrom NUMBER   write_at_exit BYTES   state   fork COMMAND…   close
 *
 * Bytes written go to the file that is the argument, at the position of the descriptor; byte i of what is written is
 * i % 251. Bytes read are compared with that.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "penstock.h"

static penstock_job *job;
static int file;
static uint64_t position;
static unsigned char *buffer;
static size_t room;

static unsigned char *bytes(size_t size, uint64_t from) {
    if (size > room) {
        room = size;
        buffer = realloc(buffer, room);
    }
    for (size_t i = 0; i < size; i++)
        buffer[i] = (unsigned char)((from + i) % 251);
    return buffer;
}

static long long right_bytes(long long count, uint64_t from) {
    for (long long i = 0; i < count; i++)
        if (buffer[i] != (unsigned char)((from + (uint64_t)i) % 251))
            return -1;
    return count;
}

static void answer(long long code) {
    if (code < 0)
        printf("%lld %s\n", code, penstock_strerror((int)code));
    else
        printf("%lld\n", code);
    fflush(stdout);
}

static size_t late;

/* Linked with the static library, this runs after the library has left. */
__attribute__((destructor(101))) static void write_at_exit(void) {
    if (late > 0 && penstock_write(job, file, bytes(late, position), late) != (ssize_t)late)
        _exit(3);
}

static void note(void *context, int level, const char *text) { fprintf(context, "[%d] %s\n", level, text); }

static long long open_job(const char *name, long long nodes, double patience) {
    penstock_options options = PENSTOCK_OPTIONS_INIT;
    options.name = name;
    options.nodes = nodes;
    options.patience = patience;
    if (strcmp(name, "noting") == 0) {
        options.notice = note;
        options.context = stderr;
    }
    return penstock_open(&job, &options);
}

static long long print_state(void) {
    penstock_state state;
    int code = penstock_get_state(job, &state);
    printf("%d %g %g %llu %lld %s\n", state.coordinated, state.rate, state.waited, (unsigned long long)state.moved,
           (long long)state.application, state.policy);
    fflush(stdout);
    return code;
}

static long long try_until_all(size_t size) {
    size_t done = 0;
    unsigned char *data = bytes(size, position);
    while (done < size) {
        double seconds = 0.0;
        ssize_t moved = penstock_try_write(job, file, data + done, size - done, &seconds);
        if (moved < 0 || (moved == 0 && seconds <= 0.0))
            return moved;
        done += (size_t)moved;
        struct pollfd wait = {penstock_fd(job), POLLIN, 0};
        if (moved == 0)
            poll(&wait, 1, (int)(seconds * 1000.0) + 1);
    }
    return (long long)done;
}

static int64_t one_round(void *calls, uint64_t at, size_t size) {
    ++*(long long *)calls;
    return pwrite(file, bytes(size, at), size, (off_t)at);
}

/* How many calls it takes to move whole rounds. */
static long long move_rounds(size_t size) {
    long long calls = 0;
    int64_t moved = penstock_move(job, size, one_round, &calls, PENSTOCK_WHOLE_ROUNDS);
    return moved == (int64_t)size ? calls : moved < 0 ? moved : -1;
}

static long long loop_call(const char *call, double a) {
    double seconds = 0.0;
    struct pollfd wait = {penstock_fd(job), POLLIN, 0};
    if (strcmp(call, "ready") == 0)
        return penstock_ready(job, (uint64_t)a, &seconds);
    if (strcmp(call, "moved") == 0)
        return penstock_moved(job, (uint64_t)a);
    if (strcmp(call, "poll") == 0)
        return poll(&wait, 1, (int)a);
    return PENSTOCK_E_RANGE;
}

static long long data_call(const char *call, long long a, long long b) {
    size_t size = (size_t)a;
    long long moved = 0;
    if (strcmp(call, "move") == 0)
        return move_rounds(size);
    if (strcmp(call, "write") == 0)
        moved = penstock_write(job, file, bytes(size, position), size);
    else if (strcmp(call, "try_write") == 0)
        moved = try_until_all(size);
    else if (strcmp(call, "write_at") == 0)
        return penstock_write_at(job, file, bytes(size, (uint64_t)b), size, b);
    else if (strcmp(call, "read_at") == 0)
        return right_bytes(penstock_read_at(job, file, memset(bytes(size, 0), 255, size), size, b), (uint64_t)b);
    else if (strcmp(call, "read") == 0)
        moved = right_bytes(penstock_read(job, file, memset(bytes(size, 0), 255, size), size), position);
    else
        return loop_call(call, (double)a);
    if (moved > 0)
        position += (uint64_t)moved;
    return moved;
}

static long long step_call(const char *call, double a, double b) {
    penstock_info info = PENSTOCK_INFO_INIT;
    if (strcmp(call, "prepare") == 0) {
        info.volume = (int64_t)a;
        info.rounds = (int64_t)b;
        return penstock_prepare(job, &info);
    }
    if (strcmp(call, "inform") == 0) {
        info.volume = (int64_t)a;
        return penstock_inform(job, &info);
    }
    if (strcmp(call, "check") == 0)
        return penstock_check(job);
    if (strcmp(call, "wait") == 0)
        return penstock_wait(job, a);
    if (strcmp(call, "release") == 0)
        return penstock_release(job, (int64_t)a);
    if (strcmp(call, "complete") == 0)
        return penstock_complete(job);
    return data_call(call, (long long)a, (long long)b);
}

static long long run(const char *line) {
    char call[16] = "", name[256] = "";
    double a = -1.0, b = -1.0;
    sscanf(line, "%15s %lf %lf", call, &a, &b);
    if (strcmp(call, "open") == 0) {
        sscanf(line, "%*s %255s %lf %lf", name, &a, &b);
        return open_job(name, (long long)a, b);
    }
    if (strcmp(call, "open_by_env") == 0)
        return penstock_open(&job, NULL);
    if (strcmp(call, "begin") == 0)
        return penstock_begin(job, (uint64_t)a, (uint64_t)b);
    if (strcmp(call, "end") == 0)
        return penstock_end(job);
    if (strcmp(call, "write_at_exit") == 0) {
        late = (size_t)a;
        return 0;
    }
    if (strcmp(call, "closefrom") == 0)
        return close_range((unsigned)a, ~0U, 0);
    if (strcmp(call, "rewind") == 0)
        return lseek(file, (off_t)(position = 0), SEEK_SET);
    if (strcmp(call, "close") == 0) {
        penstock_job *closed = job;
        job = NULL;
        return penstock_close(closed);
    }
    return step_call(call, a, b);
}

/* Run a command in a child; what it returned, if it is below 100. */
static long long run_in_child(const char *line) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        long long code = run(line);
        penstock_close(job);
        _exit(code >= 0 && code < 100 ? (int)code : 100);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int count, char **arguments) {
    char line[512];
    file = open(count > 1 ? arguments[1] : "/dev/null", O_RDWR | O_CREAT, 0600);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "state", 5) == 0)
            print_state();
        else
            answer(strncmp(line, "fork ", 5) == 0 ? run_in_child(line + 5) : run(line));
    }
    free(buffer);
    return 0; /* with the job open, as programs end */
}
