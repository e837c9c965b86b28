! The Fortran module over libpenstock: the I/O of an application, coordinated with that of others.
!
! Volumes are bytes, rates bytes/s, times seconds. Functions return 0 or more, or a negative code that
! penstock_message explains. penstock(3) describes the library.
module penstock
    use, intrinsic :: iso_c_binding
    implicit none
    private

    public :: penstock_job, penstock_state
    public :: penstock_open, penstock_close, penstock_get_state, penstock_message
    public :: penstock_begin, penstock_end, penstock_write, penstock_read, penstock_write_at, penstock_read_at
    public :: penstock_prepare, penstock_inform, penstock_check, penstock_wait, penstock_release, penstock_complete

    type :: penstock_job
        private
        type(c_ptr) :: handle = c_null_ptr
    end type penstock_job

    type, bind(c) :: penstock_state
        integer(c_int) :: coordinated = 0
        real(c_double) :: rate = 0
        real(c_double) :: waited = 0
        integer(c_int64_t) :: moved = 0
        integer(c_int64_t) :: application = -1
        character(kind=c_char) :: policy(64) = c_null_char
    end type penstock_state

    type, bind(c) :: options_type
        integer(c_size_t) :: size
        type(c_ptr) :: name = c_null_ptr
        type(c_ptr) :: address = c_null_ptr
        type(c_ptr) :: token_file = c_null_ptr
        integer(c_int64_t) :: nodes = 0
        real(c_double) :: bandwidth = -1
        real(c_double) :: lead = 0
        real(c_double) :: whole = -1
        real(c_double) :: patience = -1
        type(c_funptr) :: notice = c_null_funptr
        type(c_ptr) :: context = c_null_ptr
    end type options_type

    type, bind(c) :: info_type
        integer(c_int64_t) :: volume = -1
        integer(c_int64_t) :: rounds = -1
        integer(c_int64_t) :: files = -1
    end type info_type

    interface
        integer(c_int) function c_open(job, options) bind(c, name="penstock_open")
            import :: c_int, c_ptr, options_type
            type(c_ptr), intent(out) :: job
            type(options_type), intent(in) :: options
        end function c_open

        integer(c_int) function c_close(job) bind(c, name="penstock_close")
            import :: c_int, c_ptr
            type(c_ptr), value :: job
        end function c_close

        integer(c_int) function c_get_state(job, state) bind(c, name="penstock_get_state")
            import :: c_int, c_ptr, penstock_state
            type(c_ptr), value :: job
            type(penstock_state), intent(out) :: state
        end function c_get_state

        type(c_ptr) function c_strerror(code) bind(c, name="penstock_strerror")
            import :: c_int, c_ptr
            integer(c_int), value :: code
        end function c_strerror

        integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
        end function c_strlen

        integer(c_int) function c_begin(job, volume, rounds) bind(c, name="penstock_begin")
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: job
            integer(c_int64_t), value :: volume, rounds
        end function c_begin

        integer(c_int) function c_end(job) bind(c, name="penstock_end")
            import :: c_int, c_ptr
            type(c_ptr), value :: job
        end function c_end

        integer(c_size_t) function c_write(job, file, data, size) bind(c, name="penstock_write")
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: job, data
            integer(c_int), value :: file
            integer(c_size_t), value :: size
        end function c_write

        integer(c_size_t) function c_read(job, file, data, size) bind(c, name="penstock_read")
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: job, data
            integer(c_int), value :: file
            integer(c_size_t), value :: size
        end function c_read

        integer(c_size_t) function c_write_at(job, file, data, size, at) bind(c, name="penstock_write_at")
            import :: c_int, c_long, c_ptr, c_size_t
            type(c_ptr), value :: job, data
            integer(c_int), value :: file
            integer(c_size_t), value :: size
            integer(c_long), value :: at
        end function c_write_at

        integer(c_size_t) function c_read_at(job, file, data, size, at) bind(c, name="penstock_read_at")
            import :: c_int, c_long, c_ptr, c_size_t
            type(c_ptr), value :: job, data
            integer(c_int), value :: file
            integer(c_size_t), value :: size
            integer(c_long), value :: at
        end function c_read_at

        integer(c_int) function c_prepare(job, info) bind(c, name="penstock_prepare")
            import :: c_int, c_ptr, info_type
            type(c_ptr), value :: job
            type(info_type), intent(in) :: info
        end function c_prepare

        integer(c_int) function c_inform(job, info) bind(c, name="penstock_inform")
            import :: c_int, c_ptr, info_type
            type(c_ptr), value :: job
            type(info_type), intent(in) :: info
        end function c_inform

        integer(c_int) function c_check(job) bind(c, name="penstock_check")
            import :: c_int, c_ptr
            type(c_ptr), value :: job
        end function c_check

        integer(c_int) function c_wait(job, seconds) bind(c, name="penstock_wait")
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: job
            real(c_double), value :: seconds
        end function c_wait

        integer(c_int) function c_release(job, moved) bind(c, name="penstock_release")
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: job
            integer(c_int64_t), value :: moved
        end function c_release

        integer(c_int) function c_complete(job) bind(c, name="penstock_complete")
            import :: c_int, c_ptr
            type(c_ptr), value :: job
        end function c_complete
    end interface

contains

    ! Open a job. What is left out comes from Slurm's variables and the environment.
    integer function penstock_open(job, name, address, nodes, bandwidth, lead, whole, patience)
        type(penstock_job), intent(out) :: job
        character(*), intent(in), optional :: name, address
        integer, intent(in), optional :: nodes
        real(c_double), intent(in), optional :: bandwidth, lead, whole, patience
        character(kind=c_char), target, allocatable :: c_name(:), c_address(:)
        type(options_type), target :: options
        options%size = c_sizeof(options)
        if (present(name)) then
            c_name = c_string(name)
            options%name = c_loc(c_name)
        end if
        if (present(address)) then
            c_address = c_string(address)
            options%address = c_loc(c_address)
        end if
        if (present(nodes)) options%nodes = int(nodes, c_int64_t)
        if (present(bandwidth)) options%bandwidth = bandwidth
        if (present(lead)) options%lead = lead
        if (present(whole)) options%whole = whole
        if (present(patience)) options%patience = patience
        penstock_open = c_open(job%handle, options)
    end function penstock_open

    ! End the job, and its operation if it has one.
    integer function penstock_close(job)
        type(penstock_job), intent(inout) :: job
        penstock_close = c_close(job%handle)
        job%handle = c_null_ptr
    end function penstock_close

    ! How the job is doing now.
    integer function penstock_get_state(job, state)
        type(penstock_job), intent(in) :: job
        type(penstock_state), intent(out) :: state
        penstock_get_state = c_get_state(job%handle, state)
    end function penstock_get_state

    ! What a negative code says, in one line.
    function penstock_message(code) result(message)
        integer, intent(in) :: code
        character(:), allocatable :: message
        character(kind=c_char), pointer :: text(:)
        type(c_ptr) :: found
        integer :: i
        found = c_strerror(int(code, c_int))
        call c_f_pointer(found, text, [c_strlen(found)])
        allocate (character(size(text)) :: message)
        do i = 1, size(text)
            message(i:i) = text(i)
        end do
    end function penstock_message

    ! Announce an operation of so many bytes, which can be paused between its rounds (default: rounds of 16 MiB).
    integer function penstock_begin(job, volume, rounds)
        type(penstock_job), intent(in) :: job
        integer(c_int64_t), intent(in) :: volume
        integer, intent(in), optional :: rounds
        integer(c_int64_t) :: parts
        parts = 0
        if (present(rounds)) parts = int(rounds, c_int64_t)
        penstock_begin = c_begin(job%handle, volume, parts)
    end function penstock_begin

    ! End the operation, complete or not.
    integer function penstock_end(job)
        type(penstock_job), intent(in) :: job
        penstock_end = c_end(job%handle)
    end function penstock_end

    ! Move bytes between memory (c_loc of an array) and a file descriptor, at the rate that is granted.
    integer(c_int64_t) function penstock_write(job, file, data, bytes)
        type(penstock_job), intent(in) :: job
        integer(c_int), intent(in) :: file
        type(c_ptr), intent(in) :: data
        integer(c_int64_t), intent(in) :: bytes
        penstock_write = int(c_write(job%handle, file, data, int(bytes, c_size_t)), c_int64_t)
    end function penstock_write

    integer(c_int64_t) function penstock_read(job, file, data, bytes)
        type(penstock_job), intent(in) :: job
        integer(c_int), intent(in) :: file
        type(c_ptr), intent(in) :: data
        integer(c_int64_t), intent(in) :: bytes
        penstock_read = int(c_read(job%handle, file, data, int(bytes, c_size_t)), c_int64_t)
    end function penstock_read

    integer(c_int64_t) function penstock_write_at(job, file, data, bytes, at)
        type(penstock_job), intent(in) :: job
        integer(c_int), intent(in) :: file
        type(c_ptr), intent(in) :: data
        integer(c_int64_t), intent(in) :: bytes, at
        penstock_write_at = int(c_write_at(job%handle, file, data, int(bytes, c_size_t), int(at, c_long)), c_int64_t)
    end function penstock_write_at

    integer(c_int64_t) function penstock_read_at(job, file, data, bytes, at)
        type(penstock_job), intent(in) :: job
        integer(c_int), intent(in) :: file
        type(c_ptr), intent(in) :: data
        integer(c_int64_t), intent(in) :: bytes, at
        penstock_read_at = int(c_read_at(job%handle, file, data, int(bytes, c_size_t), int(at, c_long)), c_int64_t)
    end function penstock_read_at

    ! Push what is known about the next I/O onto a stack; an inner level is a part of the one around it.
    integer function penstock_prepare(job, volume, rounds, files)
        type(penstock_job), intent(in) :: job
        integer(c_int64_t), intent(in), optional :: volume
        integer, intent(in), optional :: rounds, files
        penstock_prepare = c_prepare(job%handle, described(volume, rounds, files))
    end function penstock_prepare

    ! Announce the operation that the stack and these values describe, or that its next step starts.
    integer function penstock_inform(job, volume, rounds, files)
        type(penstock_job), intent(in) :: job
        integer(c_int64_t), intent(in), optional :: volume
        integer, intent(in), optional :: rounds, files
        penstock_inform = c_inform(job%handle, described(volume, rounds, files))
    end function penstock_inform

    ! 1 if the step may access the I/O system now, 0 if not yet.
    integer function penstock_check(job)
        type(penstock_job), intent(in) :: job
        penstock_check = c_check(job%handle)
    end function penstock_check

    ! Wait until it may, for so many seconds at most (default: without limit). 1 if it may, 0 if not yet.
    integer function penstock_wait(job, seconds)
        type(penstock_job), intent(in) :: job
        real(c_double), intent(in), optional :: seconds
        real(c_double) :: limit
        limit = -1
        if (present(seconds)) limit = seconds
        penstock_wait = c_wait(job%handle, limit)
    end function penstock_wait

    ! End the step, which has moved so many bytes (default: a round, or everything if it is the only step).
    integer function penstock_release(job, moved)
        type(penstock_job), intent(in) :: job
        integer(c_int64_t), intent(in), optional :: moved
        integer(c_int64_t) :: bytes
        bytes = -1
        if (present(moved)) bytes = moved
        penstock_release = c_release(job%handle, bytes)
    end function penstock_release

    ! Pop a level off the stack, and end the operation if it was announced at this level or below.
    integer function penstock_complete(job)
        type(penstock_job), intent(in) :: job
        penstock_complete = c_complete(job%handle)
    end function penstock_complete

    pure function described(volume, rounds, files) result(info)
        integer(c_int64_t), intent(in), optional :: volume
        integer, intent(in), optional :: rounds, files
        type(info_type) :: info
        if (present(volume)) info%volume = volume
        if (present(rounds)) info%rounds = int(rounds, c_int64_t)
        if (present(files)) info%files = int(files, c_int64_t)
    end function described

    pure function c_string(text) result(copy)
        character(*), intent(in) :: text
        character(kind=c_char), allocatable :: copy(:)
        integer :: i
        allocate (copy(len_trim(text) + 1))
        do i = 1, len_trim(text)
            copy(i) = text(i:i)
        end do
        copy(len_trim(text) + 1) = c_null_char
    end function c_string
end module penstock
