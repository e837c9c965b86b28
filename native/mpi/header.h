/* The header of the MPI that this is built for. It keeps to its own rules of style. */
#ifndef PS_MPI_HEADER_H
#define PS_MPI_HEADER_H

#pragma GCC system_header
#include <mpi.h>

#endif
