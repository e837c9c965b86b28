/* What coordination adds to a collective write: native_mpi WATCHED OTHER BYTES PAIRS writes BYTES of all ranks to a file that
 * is watched and to one that is not, in turns, after a warm-up. Prints the medians: seconds of a call to either file, what the
 * first adds in percent of the second of the same pair; then the same of the processor time of all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { WATCHED, OTHER, BOTH };

static double processor_time(void) {
    struct rusage used;
    double mine, all;
    getrusage(RUSAGE_SELF, &used);
    mine = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static int larger(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0.0) - (difference < 0.0);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, larger);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

int main(int count, char **arguments) {
    int rank, size;
    MPI_File files[BOTH];
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int part = atoi(arguments[3]) / size, pairs = atoi(arguments[4]);
    char *data = calloc(1, (size_t)part);
    double *seconds[BOTH], *used[BOTH], *added = calloc((size_t)pairs, sizeof *added);
    double *added_used = calloc((size_t)pairs, sizeof *added_used);
    for (int which = 0; which < BOTH; which++) {
        seconds[which] = calloc((size_t)pairs, sizeof(double));
        used[which] = calloc((size_t)pairs, sizeof(double));
        MPI_File_open(MPI_COMM_WORLD, arguments[1 + which], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, files + which);
    }
    for (int pair = -1; pair < pairs; pair++) {
        for (int turn = 0; turn < BOTH; turn++) {
            int which = (pair + 1 + turn) % BOTH;
            double before = processor_time(), begun = MPI_Wtime();
            MPI_File_write_at_all(files[which], (MPI_Offset)rank * part, data, part, MPI_BYTE, MPI_STATUS_IGNORE);
            MPI_Barrier(MPI_COMM_WORLD);
            double ended = MPI_Wtime(), after = processor_time();
            if (pair >= 0) {
                seconds[which][pair] = ended - begun;
                used[which][pair] = after - before;
            }
        }
        if (pair >= 0) {
            added[pair] = 100.0 * (seconds[WATCHED][pair] / seconds[OTHER][pair] - 1.0);
            added_used[pair] = 100.0 * (used[WATCHED][pair] / used[OTHER][pair] - 1.0);
        }
    }
    if (rank == 0)
        printf("%g %g %g %g %g %g\n", median(seconds[WATCHED], pairs), median(seconds[OTHER], pairs), median(added, pairs),
               median(used[WATCHED], pairs), median(used[OTHER], pairs), median(added_used, pairs));
    for (int which = 0; which < BOTH; which++)
        MPI_File_close(files + which);
    MPI_Finalize();
    return 0;
}
