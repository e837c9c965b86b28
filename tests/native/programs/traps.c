/* Does what has misled other shims, one thing a run: traps WHAT FILE. Byte i of what is written is i % 251. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 100000 };

static char data[SIZE];
static const char *path;

static void check(int holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(3);
    }
}

static int make(void) {
    volatile int flags = O_RDWR | O_CREAT | O_TRUNC;
    int file = open(path, flags, 0600);
    check(file >= 0, "open");
    return file;
}

/* Sizes that the compiler does not know make it call the checking forms. */
static void fortified(void) {
    int file = make();
    volatile size_t size = SIZE;
    volatile int reading = O_RDONLY;
    char back[SIZE], line[64];
    check(write(file, data, size) == SIZE, "write");
    check(pread(file, back, size, 0) == SIZE && memcmp(data, back, SIZE) == 0, "pread");
    close(file);
    file = open(path, reading);
    check(read(file, back, size) == SIZE, "read");
    close(file);
    FILE *stream = fopen(path, "r");
    check(fread(back, 1, size, stream) == SIZE, "fread");
    rewind(stream);
    check(fgets(line, (int)(size > 64 ? 64 : size), stream) != NULL, "fgets");
    fclose(stream);
    stream = fopen(path, "a");
    check(fprintf(stream, "%zu\n", size) == 7, "fprintf");
    fclose(stream);
}

/* 100,000 bytes by fwrite, 1,000 by putc_unlocked (inlined), 10 by fputs, 10 by fprintf, 5 by fputc: 101,025. */
static void put(FILE *stream) {
    check(fwrite(data, 1, SIZE, stream) == SIZE, "fwrite");
    for (int i = 0; i < 1000; i++)
        putc_unlocked(data[i], stream);
    fputs("0123456789", stream);
    fprintf(stream, "%010d", 7);
    for (int i = 0; i < 5; i++)
        fputc('x', stream);
}

static void streams_closed(void) {
    FILE *stream = fopen(path, "w");
    put(stream);
    fclose(stream);
}

static void streams_at_exit(void) { put(fopen(path, "w")); }

static void streams_lost(void) {
    put(fopen(path, "w"));
    _exit(0);
}

static void streams_read(void) {
    char *line = NULL, word[16];
    size_t room = 0;
    streams_closed();
    FILE *stream = fopen(path, "r");
    for (int i = 0; i < 1000; i++)
        check(getc(stream) == (unsigned char)data[i], "getc");
    check(getdelim(&line, &room, (unsigned char)data[1100], stream) == 101, "getdelim");
    check(fscanf(stream, "%15c", word) == 1, "fscanf");
    while (getc_unlocked(stream) != EOF)
        continue;
    fclose(stream);
}

/* Forms that print to a descriptor (3 + 6 bytes), and that scan standard input (all 9 bytes). */
static void formats(void) {
    char word[16], rest[16];
    int file = make();
    volatile int number = 12345;
    check(dprintf(file, "%s", "ab\n") == 3, "dprintf");
    check(dprintf(file, "%d\n", number) == 6, "dprintf");
    check(lseek(file, 0, SEEK_SET) == 0 && dup2(file, 0) == 0, "standard input");
    check(scanf("%15s %15s", word, rest) == 2 && strcmp(word, "ab") == 0 && strcmp(rest, "12345") == 0, "scanf");
}

static void *write_part(void *at) {
    int file = open(path, O_WRONLY);
    size_t from = (size_t)at;
    for (size_t i = from; i < from + SIZE / 4; i += 500)
        check(pwrite(file, data + i, 500, (off_t)i) == 500, "pwrite");
    close(file);
    return NULL;
}

static void threads(void) {
    pthread_t started[4];
    close(make());
    for (size_t i = 0; i < 4; i++)
        pthread_create(&started[i], NULL, write_part, (void *)(i * SIZE / 4));
    for (size_t i = 0; i < 4; i++)
        pthread_join(started[i], NULL);
}

/* Four children that leave by _exit, after their parent has written a byte. */
static void children(void) {
    int file = make();
    check(write(file, data, 1) == 1, "write");
    for (size_t i = 0; i < 4; i++)
        if (fork() == 0) {
            write_part((void *)(i * SIZE / 4));
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
}

static void after_vfork(void) {
    int file = make();
    check(write(file, data, SIZE / 2) == SIZE / 2, "write");
    pid_t child = vfork();
    if (child == 0) {
        dup2(file, 1);
        execlp("printf", "printf", "%s", "child", NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
    check(write(1, "said\n", 5) == 5, "write to standard output"); /* not the file of the child */
    check(write(file, data, SIZE / 2) == SIZE / 2, "write");
}

static void killed(void) {
    int file = make();
    check(write(file, data, SIZE) == SIZE, "write");
    kill(getpid(), SIGKILL);
}

static void duplicates(void) {
    int file = make();
    int copies[] = {dup(file), fcntl(file, F_DUPFD, 50), fcntl(file, F_DUPFD_CLOEXEC, 60), dup2(file, 70),
                    dup3(file, 80, O_CLOEXEC)};
    for (int i = 0; i < 5; i++)
        check(write(copies[i], data, 1000) == 1000, "write");
    int ends[2];
    check(dup2(file, 90) == 90 && close(90) == 0 && pipe(ends) == 0 && dup2(ends[1], 90) == 90, "pipe");
    check(write(90, data, 1000) == 1000, "write to a pipe"); /* the number was that of the file */
}

static void vectors(void) {
    int file = make();
    char back[SIZE];
    struct iovec parts[3] = {{data, 10}, {data + 10, 20}, {data + 30, SIZE - 30}};
    struct iovec whole = {back, SIZE};
    check(writev(file, parts, 3) == SIZE, "writev");
    check(pwritev(file, parts, 3, SIZE) == SIZE, "pwritev");
    check(pwritev2(file, parts, 3, 2 * SIZE, 0) == SIZE, "pwritev2");
    check(preadv(file, &whole, 1, 0) == SIZE && memcmp(back, data, SIZE) == 0, "preadv");
    check(preadv2(file, &whole, 1, 2 * SIZE, 0) == SIZE && memcmp(back, data, SIZE) == 0, "preadv2");
}

static void asynchronous(void) {
    struct aiocb one = {.aio_fildes = make(), .aio_buf = data, .aio_nbytes = SIZE / 2};
    struct aiocb two = one, *list[] = {&two};
    const struct aiocb *both[] = {&one};
    check(aio_write(&one) == 0, "aio_write");
    while (aio_error(&one) == EINPROGRESS)
        aio_suspend(both, 1, NULL);
    check(aio_return(&one) == SIZE / 2, "aio_return");
    two.aio_buf = data + SIZE / 2;
    two.aio_offset = SIZE / 2;
    two.aio_lio_opcode = LIO_WRITE;
    check(lio_listio(LIO_WAIT, list, 1, NULL) == 0, "lio_listio");
    check(aio_return(&two) == SIZE / 2, "aio_return");
}

static int beside(const char *ending) {
    char name[4096];
    snprintf(name, sizeof name, "%s.%s", path, ending);
    return open(name, O_RDWR | O_CREAT, 0600);
}

/* Copies inside the kernel: SIZE bytes twice from file to file, and a page through a pipe. */
static void copies(void) {
    int file = make(), out = beside("out"), ends[2];
    char back[SIZE];
    off_t at = 0, from = 0, to = SIZE, begin = 0;
    check(write(file, data, SIZE) == SIZE, "write");
    check(sendfile(out, file, &at, SIZE) == SIZE, "sendfile");
    check(copy_file_range(file, &from, out, &to, SIZE, 0) == SIZE, "copy_file_range");
    check(pipe(ends) == 0 && splice(file, &begin, ends[1], NULL, 4096, 0) == 4096, "splice to a pipe");
    check(lseek(out, 2 * SIZE, SEEK_SET) == 2 * SIZE && splice(ends[0], NULL, out, NULL, 4096, 0) == 4096, "splice");
    for (int i = 0; i < 2; i++)
        check(pread(out, back, SIZE, i * SIZE) == SIZE && memcmp(data, back, SIZE) == 0, "pread");
    check(pread(out, back, SIZE, 2 * SIZE) == 4096 && memcmp(data, back, 4096) == 0, "pread");
}

/* Other ways to open a file: 100 bytes each. */
static void opened(void) {
    char names[4][4096];
    for (int i = 0; i < 4; i++)
        snprintf(names[i], sizeof names[i], "%s.XXXXXX%s", path, i < 2 ? "" : ".end");
    int files[] = {mkstemp(names[0]), mkostemp(names[1], O_CLOEXEC), mkstemps(names[2], 4), mkostemps(names[3], 4, O_CLOEXEC),
                   creat(path, 0600), openat(AT_FDCWD, path, O_WRONLY)};
    for (int i = 0; i < 6; i++)
        check(write(files[i], data, 100) == 100, "write");
}

/* The names by which other libraries of the system call libc: 100 bytes each, written and read. */
extern int __open(const char *, int, ...), __open64(const char *, int, ...), __close(int), __dup2(int, int);
extern int __fcntl(int, int, ...), __vfscanf(FILE *, const char *, va_list);
extern ssize_t __read(int, void *, size_t), __write(int, const void *, size_t);
extern ssize_t __pread64(int, void *, size_t, off_t), __pwrite64(int, const void *, size_t, off_t);

static int scan(FILE *stream, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int found = __vfscanf(stream, format, list);
    va_end(list);
    return found;
}

static void aliases(void) {
    char back[100], word[101];
    int file = __open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), again = __open64(path, O_RDWR), ends[2];
    check(__write(file, data, 100) == 100 && __pwrite64(again, data, 100, 100) == 100, "__write");
    check(__read(again, back, 100) == 100 && __pread64(file, back, 100, 100) == 100, "__read");
    int copies[] = {__dup2(file, 70), __fcntl(file, F_DUPFD, 80)};
    check(write(copies[0], data, 100) == 100 && write(copies[1], data, 100) == 100, "write to copies");
    check(__close(file) == 0 && __close(again) == 0 && __close(70) == 0 && pipe(ends) == 0, "__close");
    check(dup2(ends[1], 70) == 70 && write(70, data, 100) == 100, "write to a pipe"); /* the number was that of the file */
    FILE *stream = fopen(path, "r");
    check(scan(stream, "%100c", word) == 1, "__vfscanf");
    fclose(stream);
}

/* Streams: words of 4 bytes, a position that is set, and a file without a name in the folder of temporary ones. */
static void positions(void) {
    FILE *stream = fopen(path, "w+"), *nameless = tmpfile();
    fpos_t begin;
    check(stream != NULL && nameless != NULL && fgetpos(stream, &begin) == 0, "fopen");
    for (int i = 0; i < 250; i++)
        check(putw(i, stream) == 0, "putw");
    check(fsetpos(stream, &begin) == 0, "fsetpos");
    for (int i = 0; i < 250; i++)
        check(getw(stream) == i, "getw");
    fclose(stream);
    check(fwrite(data, 1, SIZE, nameless) == SIZE, "fwrite");
    fclose(nameless);
}

/* Reads 20 bytes here and there: each seek fetches the block around the byte. */
static void seeks(void) {
    FILE *stream = fopen(path, "r");
    check(stream != NULL, "fopen");
    for (int i = 20; i > 0; i--)
        check(fseek(stream, 4096 * i + 1, SEEK_SET) == 0 && getc(stream) == (unsigned char)data[4096 * i + 1], "fseek");
    fclose(stream);
}

static void mapped(void) {
    int file = make();
    check(ftruncate(file, SIZE) == 0, "ftruncate");
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memcpy(memory, data, SIZE);
}

static int sockets(void) {
    int found = 0;
    for (int file = 0; file < 2048; file++) {
        struct sockaddr_storage where;
        socklen_t size = sizeof where;
        found += getsockname(file, (struct sockaddr *)&where, &size) == 0;
    }
    return found;
}

/* Closes what it does not know in each way, and goes on. Prints whether its connection has survived. */
static void closes_all(void) {
    int file = make();
    check(write(file, data, SIZE / 2) == SIZE / 2, "write");
    int before = sockets();
    for (int other = file + 1; other < 2048; other++)
        close(other);
    check(close_range((unsigned)file + 1, ~0U, 0) == 0, "close_range");
    closefrom(file + 1);
    printf("%s\n", sockets() == before ? "kept" : "lost");
    check(write(file, data + SIZE / 2, SIZE / 2) == SIZE / 2, "write");
}

static int signalled;

static void handle(int number) {
    (void)number;
    check(write(signalled, "!", 1) == 1, "write in a handler");
}

/* A handler that writes to a watched file itself runs every 10 ms; no call may be cut short or fail. */
static void signals(void) {
    char side[4096];
    snprintf(side, sizeof side, "%s.side", path);
    signalled = open(side, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct sigaction action = {.sa_handler = handle};
    struct itimerval often = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
    int file = make();
    sigaction(SIGALRM, &action, NULL);
    check(write(signalled, "!", 1) == 1, "write");
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 40; i++)
        check(write(file, data, SIZE) == SIZE, "write");
    setitimer(ITIMER_REAL, &never, NULL);
}

/* Errors and errno are those of the kernel. */
static void errors(void) {
    int file = open(path, O_RDONLY | O_CREAT, 0600);
    errno = 0;
    check(write(file, data, SIZE) == -1 && errno == EBADF, "a file that is open for reading");
    check(write(-1, data, SIZE) == -1 && errno == EBADF, "no file");
    struct rlimit limit = {60000, 60000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    file = make();
    check(write(file, data, SIZE) == 60000, "a short write");
    check(write(file, data, SIZE) == -1 && errno == EFBIG, "a full file");
    check(pread(file, data, SIZE, 50000) == 10000, "a short read");
    errno = 77;
    check(pread(file, data, SIZE, 60000) == 0 && errno == 77, "the end of the file");
}

/* pwritev2 exists in the header; a library that lacks it says so in errno. */
static void missing(void) {
    struct iovec part = {data, SIZE};
    int file = make();
    errno = 0;
    check(pwritev2(file, &part, 1, 0, 0) == -1 && errno == ENOSYS, "pwritev2");
    check(write(file, data, SIZE) == SIZE, "write");
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {{"fortified", fortified},   {"streams_closed", streams_closed}, {"streams_at_exit", streams_at_exit},
           {"streams_lost", streams_lost}, {"streams_read", streams_read}, {"threads", threads},         {"formats", formats},
           {"children", children},     {"vfork", after_vfork},   {"killed", killed},   {"duplicates", duplicates},
           {"vectors", vectors},       {"asynchronous", asynchronous}, {"mapped", mapped},
           {"copies", copies},         {"opened", opened},   {"aliases", aliases}, {"positions", positions}, {"seeks", seeks},
           {"closes_all", closes_all}, {"signals", signals},     {"errors", errors},   {"missing", missing}};

int main(int count, char **arguments) {
    check(count == 3, "traps WHAT FILE");
    path = arguments[2];
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)(i % 251);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, arguments[1]) == 0) {
            all[i].run();
            return 0;
        }
    return 2;
}
