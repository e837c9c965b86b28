! Writes and reads a file by MPI-IO in the ways that Fortran programs do: mpi_fortran FILE ELEMENTS. Compiled with
! -DF08 it uses the module mpi_f08, else mpi. Rank r writes r + 1 parts of the elements in each way.
program mpi_fortran
#ifdef F08
    use mpi_f08
#else
    use mpi
#endif
    implicit none
#ifdef F08
    type(MPI_File) :: file
    type(MPI_Status) :: status
    type(MPI_Request) :: request
#else
    integer :: file, request, status(MPI_STATUS_SIZE)
#endif
    integer :: rank, ranks, code, elements, count, i
    integer(MPI_OFFSET_KIND) :: at
    integer, allocatable :: data(:), back(:)
    character(len=1000) :: name, number

    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    call get_command_argument(1, name)
    call get_command_argument(2, number)
    read (number, *) elements
    count = elements / ranks * (rank + 1)
    allocate (data(count), back(count))
    data = [(1000 * rank + i, i = 1, count)]

    call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, code)
    ! collective
    at = int(rank, MPI_OFFSET_KIND) * elements
    call MPI_File_write_at_all(file, at, data, count, MPI_INTEGER, status, code)
    call check('write_at_all')
    call MPI_File_read_at_all(file, at, back, count, MPI_INTEGER, status, code)
    call check('read_at_all')
    ! split
    at = at + ranks * elements
    call MPI_File_write_at_all_begin(file, at, data, count, MPI_INTEGER, code)
    call MPI_File_write_at_all_end(file, data, status, code)
    call check('write_at_all_begin')
    call MPI_File_seek(file, at, MPI_SEEK_SET, code)
    call MPI_File_read_all_begin(file, back, count, MPI_INTEGER, code)
    call MPI_File_read_all_end(file, back, status, code)
    call check('read_all_begin')
    ! non-blocking
    at = at + ranks * elements
    call MPI_File_iwrite_at(file, at, data, count, MPI_INTEGER, request, code)
    call MPI_Wait(request, status, code)
    call check('iwrite_at')
    call MPI_File_iread_at(file, at, back, count, MPI_INTEGER, request, code)
    call MPI_Wait(request, status, code)
    call check('iread_at')
    at = at + ranks * elements
    call MPI_File_iwrite_at_all(file, at, data, count, MPI_INTEGER, request, code)
    call MPI_Wait(request, status, code)
    call check('iwrite_at_all')
    ! independent
    call MPI_File_read_at(file, at, back, count, MPI_INTEGER, status, code)
    call check('read_at')
    at = at + ranks * elements
    call MPI_File_write_at(file, at, data, count, MPI_INTEGER, MPI_STATUS_IGNORE, code)
    call MPI_File_close(file, code)
    call MPI_Finalize(code)

contains

    subroutine check(what)
        character(len=*), intent(in) :: what
        integer :: moved
        call MPI_Get_count(status, MPI_INTEGER, moved, code)
        if (moved /= count) then
            print '(2a,i0,a,i0)', what, ': ', moved, ' elements, not ', count
            call MPI_Abort(MPI_COMM_WORLD, 1, code)
        end if
        if (index(what, 'read') > 0) then
            if (any(back /= data)) then
                print '(2a)', what, ': other data'
                call MPI_Abort(MPI_COMM_WORLD, 1, code)
            end if
            back = 0
        end if
    end subroutine check
end program mpi_fortran
