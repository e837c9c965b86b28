/* Writes a dataset with parallel HDF5 and reads it back, by collective or independent transfers: mpi_hdf5 FILE ROWS KIND.
 * Each rank has ROWS rows of 1,000 doubles. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 1000 };

int main(int count, char **words) {
    int rank, size;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    hsize_t rows = (hsize_t)atoi(words[2]);
    hsize_t all[2] = {rows * (hsize_t)size, COLUMNS}, mine[2] = {rows, COLUMNS}, start[2] = {rows * (hsize_t)rank, 0};
    double *data = malloc(rows * COLUMNS * sizeof *data), *back = calloc(rows * COLUMNS, sizeof *back);
    for (hsize_t i = 0; i < rows * COLUMNS; i++)
        data[i] = rank + 1e-6 * (double)i;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    hid_t untimed = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(untimed, 0);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(transfer, strcmp(words[3], "collective") == 0 ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t space = H5Screate_simple(2, all, NULL), part = H5Screate_simple(2, mine, NULL);
    hid_t set = H5Dcreate(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, untimed, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, mine, NULL);
    int failed = H5Dwrite(set, H5T_NATIVE_DOUBLE, part, space, transfer, data) < 0;
    failed |= H5Dread(set, H5T_NATIVE_DOUBLE, part, space, transfer, back) < 0;
    failed |= memcmp(data, back, rows * COLUMNS * sizeof *data) != 0;
    failed |= H5Dclose(set) < 0 || H5Fclose(file) < 0;
    if (failed)
        fprintf(stderr, "rank %d: HDF5 failed, or has read other data\n", rank);
    free(data);
    free(back);
    MPI_Finalize();
    return failed;
}
