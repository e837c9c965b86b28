/* Seconds of a collective write: native_mpi FILE BYTES COUNT writes BYTES of all ranks COUNT times, after a warm-up. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    int rank, size;
    MPI_File file;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int part = atoi(arguments[2]) / size, calls = atoi(arguments[3]);
    char *data = calloc(1, (size_t)part);
    double begun = 0.0;
    MPI_File_open(MPI_COMM_WORLD, arguments[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    for (int call = 0; call <= calls; call++) {
        MPI_File_write_at_all(file, (MPI_Offset)rank * part, data, part, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (call == 0)
            begun = MPI_Wtime();
    }
    if (rank == 0)
        printf("%g\n", (MPI_Wtime() - begun) / calls);
    MPI_File_close(&file);
    MPI_Finalize();
    free(data);
    return 0;
}
