/* Makes the calls of MPI-IO that move data, and prints what each returned on each rank: mpi_calls FILE KINDS ELEMENTS [ROUNDS].
 * What it prints and writes does not depend on how the calls are carried out. KINDS has a letter for each kind below. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static MPI_File file;
static char *lines;
static size_t end, room;
static MPI_Offset header;

static void note(const char *call, int code, MPI_Status *status, MPI_Datatype type) {
    int count = -1, elements = -1, bytes = 0, class = 0;
    MPI_Offset at = -1;
    if (code == MPI_SUCCESS && status != NULL) {
        MPI_Get_count(status, type, &count);
        MPI_Get_elements(status, type, &elements);
        MPI_Get_elements(status, MPI_BYTE, &bytes);
    }
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    MPI_File_get_position(file, &at);
    if (room - end < 200)
        lines = realloc(lines, room = 2 * room + 1000);
    end += (size_t)sprintf(lines + end, "%d %s class=%d count=%d elements=%d bytes=%d at=%lld\n", rank, call, class, count,
                           elements, bytes, (long long)at);
}

/* How a call is made: PLAIN, STARTED or SPLIT(call, its buffer, what follows the file). */
#define PLAIN(call, buffer, ...)                                                                                       \
    do {                                                                                                               \
        memset(&status, 0, sizeof status);                                                                             \
        int code = MPI_File_##call(file, __VA_ARGS__, &status);                                                        \
        note(#call, code, &status, type);                                                                              \
    } while (0)

#define STARTED(call, buffer, ...)                                                                                     \
    do {                                                                                                               \
        MPI_Request request = MPI_REQUEST_NULL;                                                                        \
        memset(&status, 0, sizeof status);                                                                             \
        int code = MPI_File_##call(file, __VA_ARGS__, &request);                                                       \
        MPI_Wait(&request, &status);                                                                                   \
        note(#call, code, &status, type);                                                                              \
    } while (0)

#define SPLIT(call, buffer, ...)                                                                                       \
    do {                                                                                                               \
        memset(&status, 0, sizeof status);                                                                             \
        int code = MPI_File_##call##_begin(file, __VA_ARGS__);                                                         \
        if (code == MPI_SUCCESS)                                                                                       \
            code = MPI_File_##call##_end(file, buffer, &status);                                                        \
        note(#call, code, &status, type);                                                                              \
    } while (0)

/* Rank r has r + 1 parts of the elements; the last of several ranks has none. */
static int mine(int elements) { return rank == size - 1 && size > 1 ? 0 : elements / (size * (rank + 1)); }

static void fill(int *data, int count, int seed) {
    for (int i = 0; i < count; i++)
        data[i] = 1000003 * seed + 7919 * rank + i;
}

/* Each call writes or reads its own part of the file. */
static MPI_Offset place(int elements) {
    MPI_Offset at = header;
    header += (MPI_Offset)elements * size;
    return at + (MPI_Offset)elements * rank;
}

static void check(const char *call, const int *got, const int *wanted, int count) {
    if (memcmp(got, wanted, (size_t)count * sizeof *got) != 0) {
        fprintf(stderr, "%s: rank %d has read other data\n", call, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Writes and reads at a place, and at the file pointer. */
#define PAIRS(how, seed, write_at, read_at, write, read)                                                               \
    MPI_Datatype type = MPI_INT;                                                                                       \
    MPI_Status status;                                                                                                 \
    int count = mine(elements);                                                                                        \
    MPI_Offset at = place(elements), second = place(elements);                                                         \
    fill(data, count, seed);                                                                                           \
    how(write_at, data, at, data, count, MPI_INT);                                                                     \
    how(read_at, back, at, back, count, MPI_INT);                                                                      \
    check(#read_at, back, data, count);                                                                                \
    MPI_File_seek(file, second, MPI_SEEK_SET);                                                                         \
    how(write, data, data, count, MPI_INT);                                                                            \
    MPI_File_seek(file, second, MPI_SEEK_SET);                                                                         \
    how(read, back, back, count, MPI_INT);                                                                             \
    check(#read, back, data, count)

static void blocking(int *data, int *back, int elements) {
    PAIRS(PLAIN, 1, write_at_all, read_at_all, write_all, read_all);
    /* beyond the end of the file: fewer elements, and none */
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset length;
    MPI_File_get_size(file, &length);
    MPI_Barrier(MPI_COMM_WORLD);
    PLAIN(read_at_all, back, length / 4 - 10 * (rank + 1), back, elements, MPI_INT);
    PLAIN(read_at_all, back, length / 4 + 1, back, elements, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD); /* a rank that goes on writes behind this end */
    PLAIN(write_at_all, data, at, data, 0, MPI_INT);
}

static void alone(int *data, int *back, int elements) {
    PAIRS(PLAIN, 2, write_at, read_at, write, read);
    PLAIN(read_at, back, (MPI_Offset)1 << 40, back, 10, MPI_INT);
    note("ignored", MPI_File_write_at(file, at, data, 0, MPI_INT, MPI_STATUS_IGNORE), NULL, MPI_INT);
}

static void split(int *data, int *back, int elements) {
    PAIRS(SPLIT, 3, write_at_all, read_at_all, write_all, read_all);
}

static void started(int *data, int *back, int elements) {
    PAIRS(STARTED, 4, iwrite_at, iread_at, iwrite, iread);
}

static void started_together(int *data, int *back, int elements) {
    PAIRS(STARTED, 5, iwrite_at_all, iread_at_all, iwrite_all, iread_all);
}

/* A rank that is late must not be waited for where the program does not wait: rank 0 starts, and only then has the others
 * start. */
static void apart(int *data, int *back, int elements) {
    int count = mine(elements), go = 0;
    MPI_Offset at = place(elements);
    MPI_Request request;
    MPI_Status status;
    fill(data, count, 6);
    if (rank > 0)
        MPI_Recv(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int code = MPI_File_iwrite_at_all(file, at, data, count, MPI_INT, &request);
    for (int other = 1; rank == 0 && other < size; other++)
        MPI_Send(&go, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    note("apart_write", code, &status, MPI_INT);
    MPI_Datatype type = MPI_INT;
    PLAIN(read_at, back, at, back, count, MPI_INT);
    check("apart", back, data, count);
}

/* The shared pointer: ordered calls go by rank; shared ones are made by one rank after the other. */
static void shared(int *data, int *back, int elements) {
    MPI_Datatype type = MPI_INT;
    MPI_Status status;
    int count = mine(elements);
    fill(data, count, 7);
    MPI_File_seek_shared(file, header, MPI_SEEK_SET);
    PLAIN(write_ordered, data, data, count, MPI_INT);
    SPLIT(write_ordered, data, data, count, MPI_INT);
    for (int turn = 0; turn < size; turn++) {
        if (turn == rank) {
            PLAIN(write_shared, data, data, count, MPI_INT);
            STARTED(iwrite_shared, data, data, count, MPI_INT);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_seek_shared(file, header, MPI_SEEK_SET);
    PLAIN(read_ordered, back, back, count, MPI_INT);
    check("read_ordered", back, data, count);
    SPLIT(read_ordered, back, back, count, MPI_INT);
    check("read_ordered_begin", back, data, count);
    for (int turn = 0; turn < size; turn++) {
        if (turn == rank) {
            PLAIN(read_shared, back, back, count, MPI_INT);
            check("read_shared", back, data, count);
            STARTED(iread_shared, back, back, count, MPI_INT);
            check("iread_shared", back, data, count);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Views: each rank sees every size-th block of 3 doubles; then one element of a type with holes. */
static void views(int *data, int *back, int elements) {
    MPI_Datatype type = MPI_DOUBLE, every, holes;
    MPI_Status status;
    int count = elements / 8 * 3, blocks = count / 3;
    double *numbers = calloc((size_t)count, sizeof *numbers), *again = calloc((size_t)count, sizeof *again);
    for (int i = 0; i < count; i++)
        numbers[i] = rank + 1e-3 * i;
    MPI_Type_vector(1, 3, 3 * size, MPI_DOUBLE, &every);
    MPI_Type_create_resized(every, 0, 3 * size * (MPI_Aint)sizeof(double), &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, 4 * header + 3 * rank * (MPI_Offset)sizeof(double), MPI_DOUBLE, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
    MPI_Type_free(&every);
    type = MPI_DOUBLE;
    PLAIN(write_all, numbers, numbers, count, MPI_DOUBLE);
    PLAIN(read_at_all, again, 0, again, count, MPI_DOUBLE);
    check("views", (int *)again, (int *)numbers, 2 * count);
    PLAIN(write_at, numbers, count, numbers, count, MPI_DOUBLE);
    MPI_Type_vector(blocks / 2, 3, 6, MPI_DOUBLE, &holes);
    MPI_Type_commit(&holes);
    type = holes;
    PLAIN(write_at_all, numbers, 2 * (MPI_Offset)count, numbers, 1, holes);
    memset(again, 0, (size_t)count * sizeof *again);
    PLAIN(read_at_all, again, 2 * (MPI_Offset)count, again, 1, holes);
    check("holes", (int *)again, (int *)numbers, 6);
    MPI_Type_free(&holes);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    header += (MPI_Offset)elements * 4 * size;
    free(numbers);
    free(again);
    (void)data;
    (void)back;
}

/* Wrong calls return what the library says. */
static void wrong(int *data, int elements) {
    MPI_Status status;
    note("wrong_count", MPI_File_write_at(file, 0, data, -1, MPI_INT, &status), NULL, MPI_INT);
    note("wrong_type", MPI_File_write_at(file, 0, data, 1, MPI_DATATYPE_NULL, &status), NULL, MPI_INT);
    note("wrong_offset", MPI_File_write_at(file, -5, data, elements, MPI_INT, &status), NULL, MPI_INT);
    note("wrong_end", MPI_File_write_all_end(file, data, &status), NULL, MPI_INT);
}

#if MPI_VERSION >= 4
static void large(int *data, int *back, int elements) {
    MPI_Datatype type = MPI_INT;
    MPI_Status status;
    MPI_Count count = mine(elements);
    MPI_Offset at = place(elements);
    fill(data, (int)count, 8);
    PLAIN(write_at_all_c, data, at, data, count, MPI_INT);
    PLAIN(read_at_c, back, at, back, count, MPI_INT);
    check("read_at_c", back, data, (int)count);
    STARTED(iwrite_at_c, data, at, data, count, MPI_INT);
    STARTED(iread_at_all_c, back, at, back, count, MPI_INT);
    check("iread_at_all_c", back, data, (int)count);
}
#endif

/* Rank 0 prints the lines of all: launchers mix what ranks print. */
static void print_all(void) {
    int length = (int)end;
    if (rank > 0) {
        MPI_Send(&length, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        MPI_Send(lines, length, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
        return;
    }
    fwrite(lines, 1, end, stdout);
    for (int other = 1; other < size; other++) {
        MPI_Recv(&length, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        lines = realloc(lines, (size_t)length + 1);
        MPI_Recv(lines, length, MPI_CHAR, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fwrite(lines, 1, (size_t)length, stdout);
    }
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *kind = words[2];
    int elements = atoi(words[3]) / 24 * 24;
    int *data = calloc((size_t)elements, sizeof *data), *back = calloc((size_t)elements, sizeof *back);
    MPI_Info info = MPI_INFO_NULL;
    if (count > 4) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "penstock_rounds", words[4]);
    }
    int code = MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "cannot open %s\n", words[1]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    if (strchr(kind, 'b') != NULL)
        blocking(data, back, elements);
    if (strchr(kind, 'a') != NULL)
        alone(data, back, elements);
    if (strchr(kind, 's') != NULL)
        split(data, back, elements);
    if (strchr(kind, 'i') != NULL)
        started(data, back, elements);
    if (strchr(kind, 'c') != NULL)
        started_together(data, back, elements);
    if (strchr(kind, 'l') != NULL)
        apart(data, back, elements);
    if (strchr(kind, 'v') != NULL)
        views(data, back, elements);
    if (strchr(kind, 'w') != NULL)
        wrong(data, elements);
#if MPI_VERSION >= 4
    if (strchr(kind, 'C') != NULL)
        large(data, back, elements);
#endif
    if (strchr(kind, 'p') != NULL)
        shared(data, back, elements);
    if (strchr(kind, 'x') != NULL) { /* ends as it is, one rank after the other, with the file open */
        print_all();
        fflush(stdout);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank > 0)
            usleep(300000);
        exit(0);
    }
    MPI_File_close(&file);
    print_all();
    free(data);
    free(back);
    MPI_Finalize();
    return 0;
}
