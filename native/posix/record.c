#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "settings.h"
#include "text.h"

#define GIGA ((uint64_t)1000000000)

enum { FILE_BYTES = 4096 };

_Static_assert(offsetof(struct ps_record, read) == 32 && offsetof(struct ps_record, program) == 144,
               "the layout that records.py reads");

static struct ps_record in_memory;
static uint64_t begin;
static bool opened;
_Atomic(struct ps_record *) ps_record = &in_memory;

uint64_t ps_realtime(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * GIGA + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void note_begin(void) { begin = ps_realtime(); }

static bool put_path(struct ps_text *path, const char *ending) {
    ps_put(path, ps_settings.record);
    ps_put(path, "/");
    ps_put_count(path, (uint64_t)getpid());
    ps_put(path, "-");
    ps_put_count(path, begin);
    ps_put(path, ending);
    return !path->full;
}

static int open_file(const char *ending, int flags) {
    char path[PATH_MAX];
    struct ps_text text = ps_text(path, sizeof path);
    return put_path(&text, ending) ? open(path, flags | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600) : -1;
}

/* On a full disk the program must not end with a SIGBUS: the page is there before it is mapped. */
static struct ps_record *map_file(void) {
    int file = open_file(".counters", O_RDWR);
    if (file < 0)
        return NULL;
    void *place = posix_fallocate(file, 0, FILE_BYTES) == 0
                      ? mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                      : MAP_FAILED;
    close(file);
    return place != MAP_FAILED ? place : NULL;
}

void ps_record_open(void) {
    if (opened)
        return;
    opened = true;
    struct ps_record *place = ps_settings.record[0] != '\0' ? map_file() : NULL;
    if (place == NULL)
        return;
    memcpy(place, &in_memory, sizeof *place);
    place->version = PS_RECORD_VERSION;
    place->pid = (uint32_t)getpid();
    place->parent = (uint32_t)getppid();
    place->begin = begin;
    struct ps_text program = ps_text(place->program, sizeof place->program);
    ps_put_bytes(&program, program_invocation_short_name, strnlen(program_invocation_short_name, sizeof place->program - 1));
    atomic_thread_fence(memory_order_release);
    memcpy(place->magic, "PENSTOCK", sizeof place->magic);
    ps_record = place;
}

void ps_record_forked(void) {
    memset(&in_memory, 0, sizeof in_memory);
    ps_record = &in_memory;
    begin = ps_realtime();
    opened = false;
}

static void put_date(struct ps_text *line, uint64_t date) {
    char fraction[8] = "000000 ";
    uint64_t micro = date % GIGA / 1000;
    for (int i = 5; i >= 0; i--, micro /= 10)
        fraction[i] = (char)('0' + micro % 10);
    ps_put_count(line, date / GIGA);
    ps_put(line, ".");
    ps_put(line, fraction);
}

void ps_record_phase(uint64_t waited) {
    char buffer[160];
    struct ps_text line = ps_text(buffer, sizeof buffer);
    put_date(&line, ps_record->open_begin);
    put_date(&line, ps_record->last);
    ps_put_count(&line, ps_record->open_read);
    ps_put(&line, " ");
    ps_put_count(&line, ps_record->open_written);
    ps_put(&line, " ");
    put_date(&line, waited);
    buffer[line.length - 1] = '\n';
    int file = ps_settings.record[0] != '\0' ? open_file(".phases", O_WRONLY | O_APPEND) : -1;
    if (file < 0)
        return;
    (void)!write(file, buffer, line.length);
    close(file);
}
