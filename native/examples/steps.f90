! Four rounds of 2 MB each, written by Fortran's own I/O; between two rounds the program can be paused.
program steps
    use, intrinsic :: iso_c_binding, only: c_int64_t
    use penstock
    implicit none
    integer, parameter :: rounds = 4, reals = 250000
    type(penstock_job) :: job
    real(8) :: field(reals)
    integer :: unit, round, code

    field = 1.5d0
    code = penstock_open(job, name="solver", nodes=16)
    if (code < 0) error stop "penstock_open failed"
    open (newunit=unit, file="field.dat", access="stream", form="unformatted", status="replace")
    code = penstock_prepare(job, volume=int(rounds, c_int64_t) * 8 * reals, rounds=rounds)
    do round = 1, rounds
        code = penstock_inform(job)
        code = penstock_wait(job)
        write (unit) field
        flush (unit)
        code = penstock_release(job)
    end do
    code = penstock_complete(job)
    if (code < 0) print '(a)', penstock_message(code)
    close (unit)
    code = penstock_close(job)
    print '(a)', "done"
end program steps
