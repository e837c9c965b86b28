/* Reads, writes and seeks at random in a stream, and compares after each call what the kernel counted for this process
 * (/proc/self/io) with what the preloaded library did: streams FILE FIRST_SEED LAST_SEED STEPS. Says nothing if all is equal. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 200000, READ = 4, WRITTEN = 5 /* of the record, in words of 8 bytes */ };

struct counts {
    long long read;
    long long written;
};

static char data[SIZE];
static unsigned state;
static FILE *stream;
static fpos_t place;
static const volatile unsigned long long *record;
static struct counts before_kernel, before_library;
static long long own; /* bytes that the last look read itself */
static int wrong;

static unsigned below(unsigned most) {
    state = state * 1103515245U + 12345U;
    return (state >> 16) % most;
}

static void find_record(void) {
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%d-*.counters", getenv("PENSTOCK_RECORD"), (int)getpid());
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    int file = (int)syscall(SYS_open, found.gl_pathv[0], O_RDONLY);
    record = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    globfree(&found);
}

/* By the kernel's own calls, which the library does not count. */
static struct counts by_kernel(void) {
    char text[512];
    struct counts found = {0, 0};
    int file = (int)syscall(SYS_open, "/proc/self/io", O_RDONLY);
    long size = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    text[size > 0 ? size : 0] = '\0';
    sscanf(text, "rchar: %lld\nwchar: %lld", &found.read, &found.written);
    found.read -= own;
    own += size;
    return found;
}

static void compare(const char *call, unsigned seed) {
    struct counts kernel = by_kernel(), library = {0, 0};
    if (record == NULL)
        return;
    library.read = (long long)record[READ];
    library.written = (long long)record[WRITTEN];
    long long read = kernel.read - before_kernel.read, written = kernel.written - before_kernel.written;
    long long seen_read = library.read - before_library.read, seen_written = library.written - before_library.written;
    if (seed > 0 && (read != seen_read || written != seen_written) && wrong++ < 5)
        dprintf(2, "seed %u, %s: read %lld, seen %lld; written %lld, seen %lld\n", seed, call, read, seen_read, written, seen_written);
    before_kernel = kernel;
    before_library = library;
}

#define DO(call)                                                                                                       \
    do {                                                                                                               \
        (void)!(call);                                                                                                 \
        compare(#call, seed);                                                                                          \
    } while (0)

static void put_many(int count) {
    while (count-- > 0)
        putc_unlocked('y', stream); /* inlined: seen when the buffer is full, or by the next call */
}

static void put(unsigned seed) {
    switch (below(9)) {
    case 0: DO(fwrite(data, 1, below(100), stream)); break;
    case 1: DO(fwrite(data, 1, below(20000), stream)); break;
    case 2: DO(fwrite(data, 1, below(SIZE), stream)); break;
    case 3: DO(fwrite_unlocked(data, 7, below(300), stream)); break;
    case 4: DO(fputs("hello\n", stream)); break;
    case 5: DO(fprintf(stream, "%u %s\n", below(100000), "x")); break;
    case 6: DO(putw(5, stream)); break;
    case 7: DO(fflush(stream)); break;
    case 8: DO((put_many((int)below(5000)), fflush(stream))); break;
    }
}

static void get(unsigned seed) {
    static char *line, word[64];
    static size_t room;
    switch (below(9)) {
    case 0: DO(fread(data, 1, below(100), stream)); break;
    case 1: DO(fread(data, 1, below(20000), stream)); break;
    case 2: DO(fread_unlocked(data, 3, below(30000), stream)); break;
    case 3: DO(fgets(word, sizeof word, stream) != NULL); break;
    case 4: DO(getline(&line, &room, stream)); break;
    case 5: DO(ungetc(getc(stream), stream)); break;
    case 6: DO(fscanf(stream, "%63s", word)); break;
    case 7: DO(getw(stream)); break;
    case 8:
        for (unsigned i = below(5000); i > 0 && getc_unlocked(stream) != EOF; i--)
            continue;
        compare("getc_unlocked", seed);
        break;
    }
}

static void step(unsigned seed) {
    unsigned kind = below(5);
    if (kind == 0)
        DO(fseek(stream, 0, SEEK_END));
    else if (kind == 1)
        DO(fseeko(stream, (off_t)below(100) - 50, SEEK_CUR));
    else if (kind == 2)
        DO(fseek(stream, (long)below(30000), SEEK_SET));
    else if (kind == 3)
        DO(fsetpos(stream, &place));
    else
        DO((rewind(stream), 0));
    int reads = (int)below(2);
    for (unsigned i = below(6); i > 0; i--)
        reads ? get(seed) : put(seed);
    if (below(3) == 0)
        DO(fgetpos(stream, &place));
}

int main(int count, char **words) {
    if (count != 5)
        return 2;
    for (size_t i = 0; i < SIZE; i++)
        data[i] = "abcdefg\n"[i * i % 8];
    stream = fopen(words[1], "w+");
    fputs("x", stream);
    fflush(stream);
    find_record();
    compare("", 0);
    compare("", 0);
    for (unsigned seed = (unsigned)atoi(words[2]); seed <= (unsigned)atoi(words[3]); seed++) {
        state = seed;
        DO(fclose(stream));
        stream = fopen(words[1], seed % 2 ? "w+" : "r+");
        fgetpos(stream, &place);
        for (int i = 0; i < atoi(words[4]); i++)
            step(seed);
    }
    return record == NULL || fclose(stream) != 0 || wrong > 0;
}
