#include "voice.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

void ps_voice_init(struct ps_voice *voice) {
    struct stat status;
    voice->notice = NULL;
    voice->context = NULL;
    bool there = fstat(STDERR_FILENO, &status) == 0;
    voice->device = there ? status.st_dev : 0;
    voice->inode = there ? status.st_ino : 0;
}

/* Write to standard error. If nobody reads it, the application must not get a SIGPIPE for what it did not write. */
static void write_quietly(const char *line, size_t length) {
    const struct timespec no_time = {0, 0};
    sigset_t pipe, before, waiting;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    bool broken = write(STDERR_FILENO, line, length) < 0 && errno == EPIPE;
    if (broken && !sigismember(&waiting, SIGPIPE))
        sigtimedwait(&pipe, NULL, &no_time);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* To standard error, if that is still what it was: the application may have closed it and use its number for a file. */
static void say_aloud(const struct ps_voice *voice, const char *text) {
    char line[PS_NOTICE_BYTES + 2];
    struct stat status;
    struct ps_text whole = ps_text(line, sizeof line);
    ps_put(&whole, text);
    ps_put(&whole, "\n");
    if (fstat(STDERR_FILENO, &status) == 0 && status.st_dev == voice->device && status.st_ino == voice->inode)
        write_quietly(line, whole.length);
}

void ps_voice_say(const struct ps_voice *voice, const struct ps_notice *notice) {
    if (voice->notice != NULL)
        voice->notice(voice->context, notice->level, notice->text);
    else if (notice->level >= PENSTOCK_WARNING)
        say_aloud(voice, notice->text);
}
