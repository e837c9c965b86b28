/* The MPI library of this process.
 *
 * A preloaded library comes into shells and other programs, too, which have no MPI. So this one is linked with none: it
 * looks up what it needs. In a process with an MPI of another family it passes all calls on.
 */
#ifndef PS_LIBRARY_H
#define PS_LIBRARY_H

#include <stdint.h>

#include "header.h"

/* An argument of a call as registers carry it. The ABIs of 64-bit systems pass up to six integers and pointers like that,
 * whatever their types; so calls can be passed on in which a handle has another type than here. */
typedef uintptr_t ps_word;
typedef int (*ps_call)(ps_word, ps_word, ps_word, ps_word, ps_word, ps_word);

/* The next definition of a function after ours, or of the library; NULL if there is none. */
ps_call ps_next(const char *name);

/* The functions that we call ourselves: X(name, parameters). */
#define PS_USED(X)                                                                                                     \
    X(Allreduce, (const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm))                                          \
    X(Bcast, (void *, int, MPI_Datatype, int, MPI_Comm))                                                               \
    X(Comm_dup, (MPI_Comm, MPI_Comm *))                                                                                \
    X(Comm_free, (MPI_Comm *))                                                                                         \
    X(Comm_rank, (MPI_Comm, int *))                                                                                    \
    X(Comm_size, (MPI_Comm, int *))                                                                                    \
    X(Comm_split_type, (MPI_Comm, int, int, MPI_Info, MPI_Comm *))                                                     \
    X(Comm_test_inter, (MPI_Comm, int *))                                                                              \
    X(File_get_atomicity, (MPI_File, int *))                                                                           \
    X(File_get_info, (MPI_File, MPI_Info *))                                                                           \
    X(Get_elements_x, (const MPI_Status *, MPI_Datatype, MPI_Count *))                                                 \
    X(Ibcast, (void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *))                                               \
    X(Info_free, (MPI_Info *))                                                                                         \
    X(Info_get, (MPI_Info, const char *, int, char *, int *))                                                          \
    X(Ireduce, (const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request *))                        \
    X(Status_set_elements_x, (MPI_Status *, MPI_Datatype, MPI_Count))                                                  \
    X(Test, (MPI_Request *, int *, MPI_Status *))                                                                      \
    X(Type_get_extent_x, (MPI_Datatype, MPI_Count *, MPI_Count *))                                                     \
    X(Type_size_x, (MPI_Datatype, MPI_Count *))                                                                        \
    X(Wait, (MPI_Request *, MPI_Status *))

#define PS_MEMBER(name, parameters) int(*name) parameters;

/* Handles that are constants in one MPI are addresses in another. */
struct ps_mpi {
    PS_USED(PS_MEMBER)
    MPI_Datatype byte;
    MPI_Datatype number; /* an int64_t */
    MPI_Datatype no_datatype;
    MPI_Op most;
    MPI_Op sum;
    MPI_Comm no_comm;
    MPI_Info no_info;
};

/* The library; NULL if it is of another family than the one that this was built for, or lacks a function. */
const struct ps_mpi *ps_mpi(void);

#endif
