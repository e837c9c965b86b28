/* stdio: its flushes and fetches stay inside libc, so they are told from the buffers.
 *
 * Bytes that a call flushes are those that were pending before, plus those it puts, minus those pending afterwards. Calls
 * of which nothing is flushed are neither paced nor counted. What a call fetches is how far it moves the position of the
 * file; whether it must fetch shows in the buffer before.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "descriptors.h"
#include "flow.h"
#include "shim.h"

enum { STREAMS = 4096, BLOCK = 4096 /* what is fetched at once, as a rule */ };

/* Bytes left pending in the stream of a descriptor by the last call that we saw. */
static _Atomic uint32_t left[STREAMS];
static _Atomic int64_t all_left;

static uint32_t get_left(int file) { return (unsigned)file < STREAMS ? atomic_load(&left[file]) : 0; }

static void set_left(int file, size_t pending) {
    if ((unsigned)file >= STREAMS)
        return;
    uint32_t now = pending < UINT32_MAX ? (uint32_t)pending : UINT32_MAX;
    atomic_fetch_add(&all_left, (int64_t)now - (int64_t)atomic_exchange(&left[file], now));
}

/* Bytes in the buffer that the program has not got yet. */
static size_t ahead(const FILE *stream) { return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr); }

void ps_end_streams(void);
/* exit flushes what is pending, after all that we can see. */
void ps_end_streams(void) {
    int64_t bytes = atomic_exchange(&all_left, 0);
    if (bytes > 0)
        ps_count(PS_WRITE, (uint64_t)bytes, 0);
}

/* ---- Putting ---- */

struct put {
    FILE *stream;
    int file;
    size_t before; /* pending */
    size_t taken;
    bool entered;
};

/* Bytes that a call which puts `size` bytes will flush. */
static size_t to_flush(FILE *stream, size_t before, size_t size) {
    size_t room = __fbufsize(stream);
    if (room == 0)
        room = BLOCK;
    return before + size > room || (size > 0 && __flbf(stream)) ? before + size : 0;
}

static bool begin_put(struct put *put, FILE *stream, size_t size, bool flushes) {
    if (stream == NULL || !ps_watched(stream->_fileno))
        return false;
    int error = errno;
    put->stream = stream;
    put->file = stream->_fileno;
    put->before = __fpending(stream);
    size_t bytes = flushes ? put->before : to_flush(stream, put->before, size);
    put->entered = bytes > 0 && ps_enter();
    put->taken = put->entered ? ps_take_all(bytes) : 0;
    errno = error;
    return true;
}

/* The call has put so many bytes and left so many pending. */
static void end_put(struct put *put, size_t size, size_t after) {
    int error = errno;
    uint32_t last = get_left(put->file);
    size_t whole = (last > put->before ? last : put->before) + size; /* others may have flushed unseen */
    size_t flushed = whole > after ? whole - after : 0;
    set_left(put->file, after);
    if (put->entered || (flushed > 0 && ps_enter())) {
        ps_moved(PS_WRITE, put->taken, flushed);
        ps_leave(PS_WRITE);
    } else if (flushed > 0) {
        ps_count(PS_WRITE, flushed, 1);
    }
    errno = error;
}

/* Defines a call that puts `size` bytes if its result is not negative. */
#define PUT(name, parameters, stream, size, arguments)                                                                 \
    SHIM(int, name, parameters) {                                                                                      \
        struct put put;                                                                                                \
        if (!begin_put(&put, stream, size, false))                                                                     \
            return real_##name() arguments;                                                                            \
        int result = real_##name() arguments;                                                                          \
        end_put(&put, result >= 0 ? size : 0, __fpending(stream));                                                     \
        return result;                                                                                                 \
    }

PUT(fputc, (int c, FILE *stream), stream, 1, (c, stream))
PUT(putc, (int c, FILE *stream), stream, 1, (c, stream))
PUT(_IO_putc, (int c, FILE *stream), stream, 1, (c, stream))
PUT(fputc_unlocked, (int c, FILE *stream), stream, 1, (c, stream))
PUT(putc_unlocked, (int c, FILE *stream), stream, 1, (c, stream))
PUT(putchar, (int c), stdout, 1, (c))
PUT(putchar_unlocked, (int c), stdout, 1, (c))
PUT(fputs, (const char *text, FILE *stream), stream, strlen(text), (text, stream))
PUT(fputs_unlocked, (const char *text, FILE *stream), stream, strlen(text), (text, stream))
PUT(putw, (int word, FILE *stream), stream, sizeof word, (word, stream))
PUT(puts, (const char *text), stdout, strlen(text) + 1, (text))
/* Inlined forms of putc_unlocked end here when the buffer is full. */
PUT(__overflow, (FILE * stream, int c), stream, c == EOF ? 0 : 1, (stream, c))

/* How much is printed shows afterwards; before it is taken for a line. */
enum { LINE = 128 };

#define PRINT(name, parameters, stream, arguments)                                                                     \
    SHIM(int, name, parameters) {                                                                                      \
        struct put put;                                                                                                \
        if (!begin_put(&put, stream, LINE, false))                                                                     \
            return real_##name() arguments;                                                                            \
        int result = real_##name() arguments;                                                                          \
        end_put(&put, result > 0 ? (size_t)result : 0, __fpending(stream));                                            \
        return result;                                                                                                 \
    }

PRINT(vfprintf, (FILE * stream, const char *format, va_list list), stream, (stream, format, list))
PRINT(__vfprintf_chk, (FILE * stream, int flag, const char *format, va_list list), stream, (stream, flag, format, list))
PRINT(vprintf, (const char *format, va_list list), stdout, (format, list))
PRINT(__vprintf_chk, (int flag, const char *format, va_list list), stdout, (flag, format, list))

/* Defines a call with a list of arguments by the one that takes a va_list. */
#define FORMAT(name, parameters, by, arguments)                                                                        \
    DEFINE(int, name, parameters) {                                                                                    \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        int result = shim_##by arguments;                                                                              \
        va_end(list);                                                                                                  \
        return result;                                                                                                 \
    }

FORMAT(fprintf, (FILE * stream, const char *format, ...), vfprintf, (stream, format, list))
FORMAT(__fprintf_chk, (FILE * stream, int flag, const char *format, ...), __vfprintf_chk,
           (stream, flag, format, list))
FORMAT(printf, (const char *format, ...), vprintf, (format, list))
FORMAT(__printf_chk, (int flag, const char *format, ...), __vprintf_chk, (flag, format, list))

/* ---- Flushing ---- */

/* Defines a call that flushes what is pending and puts nothing. */
#define FLUSH(type, name, parameters, after, arguments)                                                                \
    SHIM(type, name, parameters) {                                                                                     \
        struct put put;                                                                                                \
        if (!begin_put(&put, stream, 0, true))                                                                         \
            return real_##name() arguments;                                                                            \
        type result = real_##name() arguments;                                                                         \
        end_put(&put, 0, after);                                                                                       \
        return result;                                                                                                 \
    }

FLUSH(int, fflush_unlocked, (FILE * stream), stream != NULL ? __fpending(stream) : 0, (stream))

/* A seek flushes what is pending. Then glibc (_IO_new_file_seekoff) fetches the block around the new place, unless that is in
 * the buffer or at the beginning of a block; so a program that reads here and there fetches all in seeks. */
struct seek {
    struct put put;
    off_t block; /* of the file, which the seek fetches; -1: none */
    off_t to;
    bool entered;
    size_t taken;
};

static off_t size_of(int file) {
    struct stat status;
    return fstat(file, &status) == 0 ? (off_t)status.st_size : 0;
}

/* Where a seek goes, and the block that it will fetch, or -1. */
static off_t block_to_fetch(FILE *stream, off_t at, int whence, off_t *to) {
    off_t pending = (off_t)__fpending(stream), end = lseek(stream->_fileno, 0, SEEK_CUR), held = 0, got = 0;
    off_t room = __fbufsize(stream) > 0 ? (off_t)__fbufsize(stream) : BLOCK;
    if (!__freadable(stream) || end < 0 || (whence == SEEK_CUR && stream->_offset < 0))
        return -1;
    if (pending > 0) { /* it is written to where the program has read, and nothing is in the buffer any more */
        end += stream->_IO_write_base - stream->_IO_read_end + pending;
    } else if (stream->_offset >= 0) {
        held = stream->_IO_read_end - stream->_IO_buf_base;
        got = (off_t)ahead(stream);
    }
    if (whence == SEEK_CUR)
        at += end - got;
    if (whence == SEEK_END) /* which may be what is pending */
        at += size_of(stream->_fileno) > end ? size_of(stream->_fileno) : end;
    *to = at;
    return at > 0 && at % room != 0 && (at < end - held || at >= end) ? at - at % room : -1;
}

static bool begin_seek(struct seek *seek, FILE *stream, off_t at, int whence) {
    if (!begin_put(&seek->put, stream, 0, true))
        return false;
    int error = errno;
    seek->block = block_to_fetch(stream, at, whence, &seek->to);
    seek->entered = seek->block >= 0 && !seek->put.entered && ps_enter();
    seek->taken = seek->entered || (seek->block >= 0 && seek->put.entered) ? ps_take_all(BLOCK) : 0;
    errno = error;
    return true;
}

/* How many bytes were fetched; beyond the end of the file they are not kept. */
static size_t fetched(const struct seek *seek) {
    const FILE *stream = seek->put.stream;
    off_t to_end = size_of(stream->_fileno) - seek->block, kept = stream->_IO_read_end - stream->_IO_read_base;
    return (size_t)(kept > 0 ? kept : to_end > 0 && seek->block + to_end < seek->to ? to_end : 0);
}

static void end_seek(struct seek *seek) {
    int error = errno;
    size_t bytes = seek->block >= 0 ? fetched(seek) : 0;
    if (seek->taken > 0)
        ps_moved(PS_READ, seek->taken, bytes);
    else if (bytes > 0)
        ps_count(PS_READ, bytes, 1);
    if (seek->entered)
        ps_leave(PS_READ);
    errno = error;
    end_put(&seek->put, 0, __fpending(seek->put.stream));
}

#define SEEK(name, parameters, at, whence, arguments)                                                                  \
    SHIM(int, name, parameters) {                                                                                      \
        struct seek seek;                                                                                              \
        if (!begin_seek(&seek, stream, at, whence))                                                                    \
            return real_##name() arguments;                                                                            \
        int result = real_##name() arguments;                                                                          \
        end_seek(&seek);                                                                                               \
        return result;                                                                                                 \
    }

SEEK(fseek, (FILE * stream, long at, int whence), at, whence, (stream, at, whence))
SEEK(fseeko, (FILE * stream, off_t at, int whence), at, whence, (stream, at, whence))
SEEK(fseeko64, (FILE * stream, off_t at, int whence), at, whence, (stream, at, whence))
SEEK(fsetpos, (FILE * stream, const fpos_t *place), place->__pos, SEEK_SET, (stream, place))
SEEK(fsetpos64, (FILE * stream, const fpos64_t *place), place->__pos, SEEK_SET, (stream, place))

SHIM(void, rewind, (FILE * stream)) {
    struct put put;
    bool watched = begin_put(&put, stream, 0, true);
    real_rewind()(stream);
    if (watched)
        end_put(&put, 0, __fpending(stream));
}

/* NULL flushes all streams. */
static void end_flush_all(void) {
    int error = errno;
    int64_t bytes = atomic_exchange(&all_left, 0);
    for (int file = 0; bytes > 0 && file < STREAMS; file++)
        atomic_store(&left[file], 0);
    if (bytes > 0 && ps_enter()) {
        ps_moved(PS_WRITE, 0, (size_t)bytes);
        ps_leave(PS_WRITE);
    }
    errno = error;
}

SHIM(int, fflush, (FILE * stream)) {
    struct put put;
    if (!begin_put(&put, stream, 0, true)) {
        int result = real_fflush()(stream);
        if (stream == NULL)
            end_flush_all();
        return result;
    }
    int result = real_fflush()(stream);
    end_put(&put, 0, __fpending(stream));
    return result;
}

SHIM(int, fclose, (FILE * stream)) {
    struct put put;
    int file = stream != NULL ? stream->_fileno : -1;
    bool watched = begin_put(&put, stream, 0, true);
    int result = real_fclose()(stream);
    if (watched)
        end_put(&put, 0, 0);
    ps_reset(file);
    return result;
}

/* ---- Opening ---- */

static FILE *opened(FILE *stream) {
    if (stream != NULL) {
        ps_reset(stream->_fileno);
        set_left(stream->_fileno, 0);
    }
    return stream;
}

SHIM(FILE *, fopen, (const char *path, const char *mode)) { return opened(real_fopen()(path, mode)); }
SHIM(FILE *, fopen64, (const char *path, const char *mode)) { return opened(real_fopen64()(path, mode)); }
SHIM(FILE *, tmpfile, (void)) { return opened(real_tmpfile()()); }
SHIM(FILE *, tmpfile64, (void)) { return opened(real_tmpfile64()()); }
SHIM(FILE *, fdopen, (int file, const char *mode)) { return real_fdopen()(file, mode); }

#define REOPEN(name)                                                                                                   \
    SHIM(FILE *, name, (const char *path, const char *mode, FILE *stream)) {                                           \
        struct put put;                                                                                                \
        bool watched = begin_put(&put, stream, 0, true);                                                               \
        FILE *result = real_##name()(path, mode, stream);                                                              \
        if (watched)                                                                                                   \
            end_put(&put, 0, 0);                                                                                       \
        return opened(result);                                                                                         \
    }

REOPEN(freopen)
REOPEN(freopen64)

/* ---- Whole blocks ---- */

struct block {
    FILE *stream;
    char *data;
    size_t size;
    size_t count;
    bool lock; /* slices of other threads must not come between ours */
};

typedef size_t (*block_call)(void *data, size_t size, size_t count, FILE *stream);

/* Move `total` bytes in slices, of which the first may be `first` bytes; how many were moved. */
static size_t in_slices(const struct block *block, size_t total, size_t first, block_call call, size_t *taken) {
    size_t done = 0, size = first, moved;
    if (block->lock)
        flockfile(block->stream);
    do {
        *taken += size;
        moved = call(block->data + done, 1, size, block->stream);
        done += moved;
        if (moved < size || done == total)
            break;
        size = ps_take(total - done);
    } while (true);
    if (block->lock)
        funlockfile(block->stream);
    return done;
}

/* fwrite of so many bytes, more than the buffer holds. */
static size_t put_block(const struct block *block, size_t total, block_call call) {
    struct put put = {.stream = block->stream, .file = block->stream->_fileno, .entered = true};
    int before = errno;
    put.before = __fpending(block->stream);
    size_t first = ps_take(total), done;
    errno = before;
    if (first >= total) {
        put.taken = first;
        done = call(block->data, block->size, block->count, block->stream);
        end_put(&put, done < block->count ? done * block->size : total, __fpending(block->stream));
        return done;
    }
    done = in_slices(block, total, first, call, &put.taken);
    end_put(&put, done, __fpending(block->stream));
    return done / block->size;
}

static bool product(size_t size, size_t count, size_t *total) {
    return !__builtin_mul_overflow(size, count, total) && *total > 0;
}

static size_t put_blocks(struct block block, block_call call) {
    size_t total;
    struct put put;
    if (!ps_watched(block.stream->_fileno) || !product(block.size, block.count, &total))
        return call(block.data, block.size, block.count, block.stream);
    if (to_flush(block.stream, __fpending(block.stream), total) >= BLOCK && ps_enter())
        return put_block(&block, total, call);
    (void)begin_put(&put, block.stream, total, false);
    size_t done = call(block.data, block.size, block.count, block.stream);
    end_put(&put, done < block.count ? done * block.size : total, __fpending(block.stream));
    return done;
}

#define PUT_BLOCKS(name, locks)                                                                                        \
    REAL(size_t, name, (void *data, size_t size, size_t count, FILE *stream))                                          \
    DEFINE(size_t, name, (const void *data, size_t size, size_t count, FILE *stream)) {                                \
        struct block block = {stream, (char *)(uintptr_t)data, size, count, locks};                                    \
        return put_blocks(block, real_##name());                                                                       \
    }

PUT_BLOCKS(fwrite, true)
PUT_BLOCKS(fwrite_unlocked, false)

/* ---- Getting ---- */

struct get {
    int file;
    off_t from;
    size_t taken;
};

static bool begin_get(struct get *get, FILE *stream, size_t bytes) {
    int error = errno;
    if (!ps_watched(stream->_fileno) || !ps_enter())
        return false;
    get->file = stream->_fileno;
    get->from = lseek(get->file, 0, SEEK_CUR);
    get->taken = ps_take(bytes);
    errno = error;
    return true;
}

static void end_get(const struct get *get) {
    int error = errno;
    off_t to = lseek(get->file, 0, SEEK_CUR);
    ps_moved(PS_READ, get->taken, to > get->from && get->from >= 0 ? (size_t)(to - get->from) : 0);
    ps_leave(PS_READ);
    errno = error;
}

static size_t get_blocks(struct block block, block_call call) {
    struct get get;
    size_t total;
    if (!product(block.size, block.count, &total) || total <= ahead(block.stream) ||
        !begin_get(&get, block.stream, total - ahead(block.stream)))
        return call(block.data, block.size, block.count, block.stream);
    size_t done;
    if (get.taken >= total - ahead(block.stream)) {
        done = call(block.data, block.size, block.count, block.stream);
    } else {
        size_t first = get.taken;
        get.taken = 0;
        done = in_slices(&block, total, first, call, &get.taken) / block.size;
    }
    end_get(&get);
    return done;
}

#define GET_BLOCKS(name, locks)                                                                                        \
    SHIM(size_t, name, (void *data, size_t size, size_t count, FILE *stream)) {                                        \
        struct block block = {stream, data, size, count, locks};                                                       \
        return get_blocks(block, real_##name());                                                                       \
    }

GET_BLOCKS(fread, true)
GET_BLOCKS(fread_unlocked, false)

/* Defines a call that fetches a block unless `enough` is in the buffer. */
#define GET(type, name, parameters, stream, enough, arguments)                                                         \
    SHIM(type, name, parameters) {                                                                                     \
        struct get get;                                                                                                \
        if ((enough) || !begin_get(&get, stream, BLOCK))                                                               \
            return real_##name() arguments;                                                                            \
        type result = real_##name() arguments;                                                                         \
        end_get(&get);                                                                                                 \
        return result;                                                                                                 \
    }

GET(int, fgetc, (FILE * stream), stream, ahead(stream) > 0, (stream))
GET(int, getc, (FILE * stream), stream, ahead(stream) > 0, (stream))
GET(int, _IO_getc, (FILE * stream), stream, ahead(stream) > 0, (stream))
GET(int, fgetc_unlocked, (FILE * stream), stream, ahead(stream) > 0, (stream))
GET(int, getc_unlocked, (FILE * stream), stream, ahead(stream) > 0, (stream))
GET(int, getchar, (void), stdin, ahead(stdin) > 0, ())
GET(int, getchar_unlocked, (void), stdin, ahead(stdin) > 0, ())
GET(int, getw, (FILE * stream), stream, ahead(stream) >= sizeof(int), (stream))
/* Inlined forms of getc_unlocked come here when the buffer is empty. */
GET(int, __uflow, (FILE * stream), stream, ahead(stream) > 0, (stream))

/* Whether the buffer has a line, or what is wanted of it. */
static bool has_line(const FILE *stream, int end, size_t most) {
    size_t there = ahead(stream);
    return there >= most || (there > 0 && memchr(stream->_IO_read_ptr, end, there) != NULL);
}

static size_t wanted(int size) { return size > 1 ? (size_t)size - 1 : 0; }

GET(char *, fgets, (char *line, int size, FILE *stream), stream, has_line(stream, '\n', wanted(size)),
    (line, size, stream))
GET(char *, fgets_unlocked, (char *line, int size, FILE *stream), stream, has_line(stream, '\n', wanted(size)),
    (line, size, stream))
GET(char *, __fgets_chk, (char *line, size_t room, int size, FILE *stream), stream,
    has_line(stream, '\n', wanted(size)), (line, room, size, stream))
GET(char *, __fgets_unlocked_chk, (char *line, size_t room, int size, FILE *stream), stream,
    has_line(stream, '\n', wanted(size)), (line, room, size, stream))
GET(ssize_t, getline, (char **line, size_t *room, FILE *stream), stream, has_line(stream, '\n', SIZE_MAX),
    (line, room, stream))
GET(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *stream), stream, has_line(stream, end, SIZE_MAX),
    (line, room, end, stream))
GET(ssize_t, __getdelim, (char **line, size_t *room, int end, FILE *stream), stream, has_line(stream, end, SIZE_MAX),
    (line, room, end, stream))
GET(size_t, __fread_chk, (void *data, size_t room, size_t size, size_t count, FILE *stream), stream,
    size * count <= ahead(stream), (data, room, size, count, stream))
GET(size_t, __fread_unlocked_chk, (void *data, size_t room, size_t size, size_t count, FILE *stream), stream,
    size * count <= ahead(stream), (data, room, size, count, stream))

/* Defines the forms of scanning of one standard of C. */
#define SCAN(standard)                                                                                                 \
    GET(int, standard##vfscanf, (FILE * stream, const char *format, va_list list), stream, false,                      \
        (stream, format, list))                                                                                        \
    GET(int, standard##vscanf, (const char *format, va_list list), stdin, false, (format, list))                       \
    FORMAT(standard##fscanf, (FILE * stream, const char *format, ...), standard##vfscanf, (stream, format, list))      \
    FORMAT(standard##scanf, (const char *format, ...), standard##vscanf, (format, list))

SCAN()
GET(int, __vfscanf, (FILE * stream, const char *format, va_list list), stream, false, (stream, format, list))
SCAN(__isoc99_)
SCAN(__isoc23_)
