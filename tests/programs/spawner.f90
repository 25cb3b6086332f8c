! Starts three processes of this program with MPI_Comm_spawn and with MPI_Comm_spawn_multiple; each checks its arguments.
program spawner
    use mpi
    implicit none
    integer :: parent, inter, rank, total, code, value(1), codes(3)
    character(len=256) :: self, word
    character(len=256) :: commands(2), arguments(3), matrix(2, 3)

    call MPI_Init(code)
    call MPI_Comm_get_parent(parent, code)
    if (parent /= MPI_COMM_NULL) then
        call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
        call get_command_argument(1, word)
        value(1) = 0
        if (command_argument_count() == 2 .and. word == 'one two') value(1) = 1
        call get_command_argument(2, word)
        if (word == 'a') value(1) = value(1) + 10
        if (word == 'b') value(1) = value(1) + 100
        call MPI_Reduce(value, total, 1, MPI_INTEGER, MPI_SUM, 0, parent, code)
        call MPI_Comm_disconnect(parent, code)
        call MPI_Finalize(code)
        stop
    end if

    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call get_command_argument(0, self)
    arguments = [character(len=256) :: 'one two', 'a', ' ']
    codes = -1
    call MPI_Comm_spawn(self, arguments, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, codes, code)
    call MPI_Reduce(value, total, 1, MPI_INTEGER, MPI_SUM, merge(MPI_ROOT, MPI_PROC_NULL, rank == 0), inter, code)
    call MPI_Comm_disconnect(inter, code)
    if (rank == 0) print '(a,i0,l2)', 'spawn: ', total, all(codes == MPI_SUCCESS)

    commands = self
    matrix = ' '
    matrix(1, 1) = 'one two'
    matrix(1, 2) = 'a'
    matrix(2, 1) = 'one two'
    matrix(2, 2) = 'b'
    call MPI_Comm_spawn_multiple(2, commands, matrix, [1, 2], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_WORLD, &
                                 inter, MPI_ERRCODES_IGNORE, code)
    call MPI_Reduce(value, total, 1, MPI_INTEGER, MPI_SUM, merge(MPI_ROOT, MPI_PROC_NULL, rank == 0), inter, code)
    call MPI_Comm_disconnect(inter, code)
    if (rank == 0) print '(a,i0)', 'spawn_multiple: ', total
    call MPI_Finalize(code)
end program
