! mpi_f08: strided array sections through every nonblocking procedure, and arrays of large counts. Two to four ranks.
program conf_fortran_sections
  use mpi_f08
  implicit none
  integer, parameter :: untouched = -1, total = 24
  type(MPI_Comm) :: comm, ring
  type(MPI_Request) :: request
  integer :: rank, size, previous, next, per, failed, all_failed, i, j
  ! Both sections contain `total` elements: s(1:16:3, 2:8:2) and r(1:16:3, 1:7:2).
  integer, asynchronous :: s(16, 8), r(16, 8)
  integer :: expected(total)
  integer, allocatable :: counts(:), displs(:), bytes(:)
  type(MPI_Datatype), allocatable :: types(:)

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, size)
  if (size > 4) error stop 'two to four ranks'
  call MPI_Cart_create(comm, 1, [size], [.true.], .false., ring)
  previous = modulo(rank - 1, size)
  next = modulo(rank + 1, size)
  per = total / size
  allocate (counts(size), displs(size), bytes(size), types(size))
  ! Blocks with a gap behind each.
  counts = per - 1
  displs = [((j - 1) * per, j = 1, size)]
  bytes = 4 * displs
  types = MPI_INTEGER
  failed = 0
  call rooted()
  call symmetric()
  call reductions()
  call neighbours()
  call completions()
  call persistent()
  call windows()
  call large_arrays()
  call large_errors()
  call MPI_Allreduce(failed, all_failed, 1, MPI_INTEGER, MPI_SUM, comm)
  call MPI_Comm_free(ring)
  call MPI_Comm_free(comm)
  call MPI_Finalize()
  if (rank == 0 .and. all_failed == 0) print '(a)', 'conf_fortran_sections passed'
  if (all_failed /= 0) stop 1
contains
  subroutine check(is_right, name)
    logical, intent(in) :: is_right
    character(*), intent(in) :: name
    if (.not. is_right) then
      print '(a,i0,2a)', 'rank ', rank, ' failed: ', name
      failed = failed + 1
    end if
  end subroutine

  subroutine begin()
    s = -2
    s(1:16:3, 2:8:2) = reshape([(100 * rank + i, i = 1, total)], [6, 4])
    r = untouched
    expected = untouched
  end subroutine

  ! Completes the request; the section contains the expected elements, and no other element has changed.
  subroutine verify(name)
    character(*), intent(in) :: name
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call compare(name)
  end subroutine

  subroutine compare(name)
    character(*), intent(in) :: name
    integer :: all_expected(16, 8)
    all_expected = untouched
    all_expected(1:16:3, 1:7:2) = reshape(expected, [6, 4])
    call check(all(r == all_expected), name)
  end subroutine

  ! Element `at` of the section of `r`.
  subroutine put(at, value)
    integer, intent(in) :: at, value
    r(1 + 3 * modulo(at - 1, 6), 1 + 2 * ((at - 1) / 6)) = value
  end subroutine

  subroutine rooted()
    call begin()
    if (rank == 0) call fill_section(5000)
    expected = [(5000 + i, i = 1, total)]
    call MPI_Ibcast(r(1:16:3, 1:7:2), total, MPI_INTEGER, 0, comm, request)
    call verify('Ibcast')

    call begin()
    call MPI_Igather(s(1:16:3, 2:8:2), per, MPI_INTEGER, r(1:16:3, 1:7:2), per, MPI_INTEGER, 1, comm, request)
    if (rank == 1) call expect_blocks(per, 0)
    call verify('Igather')

    call begin()
    call MPI_Igatherv(s(1:16:3, 2:8:2), per - 1, MPI_INTEGER, r(1:16:3, 1:7:2), counts, displs, MPI_INTEGER, 1, comm, &
      request)
    if (rank == 1) call expect_blocks(per - 1, 0)
    ! An element of the array that is not part of the receive buffer.
    call put(per, 77)
    expected(per) = 77
    call verify('Igatherv')

    call begin()
    call MPI_Iscatter(s(1:16:3, 2:8:2), per, MPI_INTEGER, r(1:16:3, 1:7:2), per, MPI_INTEGER, 1, comm, request)
    expected(1:per) = [(100 + rank * per + i, i = 1, per)]
    call verify('Iscatter')

    call begin()
    call MPI_Iscatterv(s(1:16:3, 2:8:2), counts, displs, MPI_INTEGER, r(1:16:3, 1:7:2), per - 1, MPI_INTEGER, 1, comm, &
      request)
    expected(1:per - 1) = [(100 + rank * per + i, i = 1, per - 1)]
    call verify('Iscatterv')
  end subroutine

  subroutine fill_section(base)
    integer, intent(in) :: base
    r(1:16:3, 1:7:2) = reshape([(base + i, i = 1, total)], [6, 4])
  end subroutine

  ! The first `length` elements of the block with this offset, from each rank.
  subroutine expect_blocks(length, offset)
    integer, intent(in) :: length, offset
    do j = 0, size - 1
      expected(j * per + 1:j * per + length) = [(100 * j + offset + i, i = 1, length)]
    end do
  end subroutine

  subroutine symmetric()
    call begin()
    call MPI_Iallgather(s(1:16:3, 2:8:2), per, MPI_INTEGER, r(1:16:3, 1:7:2), per, MPI_INTEGER, comm, request)
    call expect_blocks(per, 0)
    call verify('Iallgather')

    call begin()
    call MPI_Iallgatherv(s(1:16:3, 2:8:2), per - 1, MPI_INTEGER, r(1:16:3, 1:7:2), counts, displs, MPI_INTEGER, comm, &
      request)
    call expect_blocks(per - 1, 0)
    call verify('Iallgatherv')

    call begin()
    call MPI_Ialltoall(s(1:16:3, 2:8:2), per, MPI_INTEGER, r(1:16:3, 1:7:2), per, MPI_INTEGER, comm, request)
    call expect_blocks(per, rank * per)
    call verify('Ialltoall')

    call begin()
    call MPI_Ialltoallv(s(1:16:3, 2:8:2), counts, displs, MPI_INTEGER, r(1:16:3, 1:7:2), counts, displs, MPI_INTEGER, &
      comm, request)
    call expect_blocks(per - 1, rank * per)
    call verify('Ialltoallv')

    call begin()
    call MPI_Ialltoallw(s(1:16:3, 2:8:2), counts, bytes, types, r(1:16:3, 1:7:2), counts, bytes, types, comm, request)
    call expect_blocks(per - 1, rank * per)
    call verify('Ialltoallw')

    call begin()
    call fill_section(100 * rank)
    call MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INTEGER, r(1:16:3, 1:7:2), per, MPI_INTEGER, comm, request)
    if (size * per < total) expected(size * per + 1:) = [(100 * rank + i, i = size * per + 1, total)]
    call expect_blocks(per, rank * per)
    call verify('Ialltoall in place')
  end subroutine

  ! The sum of element `i` of ranks 0 to `last`.
  pure integer function sum_to(last, i)
    integer, intent(in) :: last, i
    sum_to = 100 * last * (last + 1) / 2 + (last + 1) * i
  end function

  subroutine reductions()
    integer :: code
    complex(8), asynchronous :: z(10), w(10)
    call begin()
    call MPI_Ireduce(s(1:16:3, 2:8:2), r(1:16:3, 1:7:2), total, MPI_INTEGER, MPI_SUM, 1, comm, request)
    if (rank == 1) expected = [(sum_to(size - 1, i), i = 1, total)]
    call verify('Ireduce')

    call begin()
    call MPI_Iallreduce(s(1:16:3, 2:8:2), r(1:16:3, 1:7:2), total, MPI_INTEGER, MPI_SUM, comm, request, code)
    expected = [(sum_to(size - 1, i), i = 1, total)]
    call verify('Iallreduce')
    call check(code == MPI_SUCCESS, 'code of Iallreduce')

    call begin()
    call fill_section(100 * rank)
    call MPI_Iallreduce(MPI_IN_PLACE, r(1:16:3, 1:7:2), total, MPI_INTEGER, MPI_SUM, comm, request)
    expected = [(sum_to(size - 1, i), i = 1, total)]
    call verify('Iallreduce in place')

    call begin()
    call MPI_Iscan(s(1:16:3, 2:8:2), r(1:16:3, 1:7:2), total, MPI_INTEGER, MPI_SUM, comm, request)
    expected = [(sum_to(rank, i), i = 1, total)]
    call verify('Iscan')

    call begin()
    call MPI_Iexscan(s(1:16:3, 2:8:2), r(1:16:3, 1:7:2), total, MPI_INTEGER, MPI_SUM, comm, request)
    if (rank > 0) expected = [(sum_to(rank - 1, i), i = 1, total)]
    call verify('Iexscan')

    call begin()
    call MPI_Ireduce_scatter_block(s(1:16:3, 2:8:2), r(1:16:3, 1:7:2), per, MPI_INTEGER, MPI_SUM, comm, request)
    expected(1:per) = [(sum_to(size - 1, rank * per + i), i = 1, per)]
    call verify('Ireduce_scatter_block')

    call begin()
    call MPI_Ireduce_scatter(s(1:16:3, 2:8:2), r(1:16:3, 1:7:2), counts, MPI_INTEGER, MPI_SUM, comm, request)
    expected(1:per - 1) = [(sum_to(size - 1, rank * (per - 1) + i), i = 1, per - 1)]
    call verify('Ireduce_scatter')

    z = [(cmplx(rank, i, 8), i = 1, 10)]
    w = 0
    call MPI_Iallreduce(z(10:2:-2), w(1:9:2), 5, MPI_DOUBLE_COMPLEX, MPI_SUM, comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(w(1:9:2) == [(cmplx(size * (size - 1) / 2, size * i, 8), i = 10, 2, -2)]), 'a reversed section')
    call check(all(w(2:10:2) == 0), 'elements between the results')
  end subroutine

  subroutine neighbours()
    integer(MPI_ADDRESS_KIND) :: at(2)
    integer :: both(2), offsets(2)
    both = per - 1
    offsets = [0, per]
    at = 4 * offsets
    call begin()
    call MPI_Ineighbor_allgather(s(1:16:3, 2:8:2), per, MPI_INTEGER, r(1:16:3, 1:7:2), per, MPI_INTEGER, ring, request)
    expected(1:2 * per) = [[(100 * previous + i, i = 1, per)], [(100 * next + i, i = 1, per)]]
    call verify('Ineighbor_allgather')

    call begin()
    call MPI_Ineighbor_allgatherv(s(1:16:3, 2:8:2), per - 1, MPI_INTEGER, r(1:16:3, 1:7:2), both, offsets, MPI_INTEGER, &
      ring, request)
    expected(1:per - 1) = [(100 * previous + i, i = 1, per - 1)]
    expected(per + 1:2 * per - 1) = [(100 * next + i, i = 1, per - 1)]
    call verify('Ineighbor_allgatherv')

    ! The block that the previous rank sends up, and the one that the next rank sends down.
    call begin()
    call MPI_Ineighbor_alltoall(s(1:16:3, 2:8:2), per, MPI_INTEGER, r(1:16:3, 1:7:2), per, MPI_INTEGER, ring, request)
    expected(1:2 * per) = [[(100 * previous + per + i, i = 1, per)], [(100 * next + i, i = 1, per)]]
    call verify('Ineighbor_alltoall')

    call begin()
    call MPI_Ineighbor_alltoallv(s(1:16:3, 2:8:2), both, offsets, MPI_INTEGER, r(1:16:3, 1:7:2), both, offsets, &
      MPI_INTEGER, ring, request)
    expected(1:per - 1) = [(100 * previous + per + i, i = 1, per - 1)]
    expected(per + 1:2 * per - 1) = [(100 * next + i, i = 1, per - 1)]
    call verify('Ineighbor_alltoallv')

    call begin()
    call MPI_Ineighbor_alltoallw(s(1:16:3, 2:8:2), both, at, types(1:2), r(1:16:3, 1:7:2), both, at, types(1:2), ring, &
      request)
    expected(1:per - 1) = [(100 * previous + per + i, i = 1, per - 1)]
    expected(per + 1:2 * per - 1) = [(100 * next + i, i = 1, per - 1)]
    call verify('Ineighbor_alltoallw')
  end subroutine

  ! Each way to complete a request copies the result.
  subroutine completions()
    type(MPI_Request) :: requests(3)
    integer, asynchronous :: a(5), b(5), c(5)
    integer :: way, at(3), done, index
    logical :: flag
    character(1) :: digit
    do way = 1, 7
      a = 0
      b = 0
      c = 0
      call MPI_Iallreduce([1, 2, 3], a(1:5:2), 3, MPI_INTEGER, MPI_SUM, comm, requests(1))
      call MPI_Ibarrier(comm, requests(2))
      call MPI_Iallreduce([4, 5, 6], b(1:5:2), 3, MPI_INTEGER, MPI_SUM, comm, requests(3))
      select case (way)
      case (1)
        call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
      case (2)
        do i = 1, 3
          call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE)
        end do
      case (3)
        do
          call MPI_Waitsome(3, requests, done, at, MPI_STATUSES_IGNORE)
          if (done == MPI_UNDEFINED) exit
        end do
      case (4)
        flag = .false.
        do while (.not. flag)
          call MPI_Testall(3, requests, flag, MPI_STATUSES_IGNORE)
        end do
      case (5)
        do
          call MPI_Testany(3, requests, index, flag, MPI_STATUS_IGNORE)
          if (flag .and. index == MPI_UNDEFINED) exit
        end do
      case (6)
        do
          call MPI_Testsome(3, requests, done, at, MPI_STATUSES_IGNORE)
          if (done == MPI_UNDEFINED) exit
        end do
      case (7)
        do i = 1, 3, 2
          flag = .false.
          do while (.not. flag)
            call MPI_Request_get_status(requests(i), flag, MPI_STATUS_IGNORE)
          end do
        end do
      end select
      write (digit, '(i1)') way
      call check(all(a == [size, 0, 2 * size, 0, 3 * size]), 'first result of completion ' // digit)
      call check(all(b == [4 * size, 0, 5 * size, 0, 6 * size]), 'second result of completion ' // digit)
      if (way == 7) call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
      call check(all(requests == MPI_REQUEST_NULL), 'requests of completion ' // digit)
    end do
  end subroutine

  subroutine persistent()
    type(MPI_Request) :: requests(2)
    integer :: turn
    call begin()
    call MPI_Send_init(s(1:16:3, 2:8:2), total, MPI_INTEGER, next, 1, comm, requests(1))
    call MPI_Recv_init(r(1:16:3, 1:7:2), total, MPI_INTEGER, previous, 1, comm, requests(2))
    do turn = 1, 2
      call begin()
      s = s + turn
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      expected = [(100 * previous + i + turn, i = 1, total)]
      call compare('persistent requests')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  subroutine windows()
    type(MPI_Win) :: win
    integer, asynchronous :: memory(total), old(5)
    memory = 0
    call MPI_Win_create(memory, 4_MPI_ADDRESS_KIND * total, 4, MPI_INFO_NULL, comm, win)
    call MPI_Win_lock_all(0, win)
    call begin()
    call MPI_Rput(s(1:16:3, 2:8:2), total, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, total, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_flush_all(win)
    call MPI_Barrier(comm)
    call MPI_Rget(r(1:16:3, 1:7:2), total, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, total, MPI_INTEGER, win, request)
    expected = [(100 * rank + i, i = 1, total)]
    call verify('Rput and Rget')
    call MPI_Barrier(comm)
    call MPI_Raccumulate(s(1:16:3, 2:8:2), total, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, total, MPI_INTEGER, MPI_SUM, &
      win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_flush_all(win)
    call begin()
    call MPI_Rget_accumulate(s(1:16:3, 2:8:2), total, MPI_INTEGER, r(1:16:3, 1:7:2), total, MPI_INTEGER, next, &
      0_MPI_ADDRESS_KIND, total, MPI_INTEGER, MPI_REPLACE, win, request)
    expected = [(2 * (100 * rank + i), i = 1, total)]
    call verify('Raccumulate and Rget_accumulate')
    old = untouched
    call MPI_Fetch_and_op([3, 4], old(2:5:3), MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, MPI_SUM, win)
    call MPI_Win_flush_all(win)
    call check(all(old == [-1, 100 * rank + 1, -1, -1, -1]), 'Fetch_and_op')
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine

  ! Arrays of counts and displacements of kind MPI_COUNT_KIND and MPI_ADDRESS_KIND.
  subroutine large_arrays()
    integer(MPI_COUNT_KIND) :: many(size), one
    integer(MPI_ADDRESS_KIND) :: at(size), in_bytes(size), two(2)
    integer :: sent(total), got(total)
    many = counts
    at = displs
    in_bytes = bytes
    one = per - 1
    sent = [(100 * rank + i, i = 1, total)]
    call expect_blocks(per - 1, 0)

    got = untouched
    expected = untouched
    call expect_blocks(per - 1, 0)
    call MPI_Allgatherv(sent, one, MPI_INTEGER, got, many, at, MPI_INTEGER, comm)
    call check(all(got == expected), 'Allgatherv with large counts')
    got = untouched
    if (rank == 1) then
      call MPI_Gatherv(sent, one, MPI_INTEGER, got, many, at, MPI_INTEGER, 1, comm)
      call check(all(got == expected), 'Gatherv with large counts')
    else
      ! Not significant, and shorter than at the root.
      call MPI_Gatherv(sent, one, MPI_INTEGER, got, many(1:1), at(1:1), MPI_INTEGER, 1, comm)
    end if
    expected = untouched
    call expect_blocks(per - 1, rank * per)
    got = untouched
    call MPI_Alltoallv(sent, many, at, MPI_INTEGER, got, many, at, MPI_INTEGER, comm)
    call check(all(got == expected), 'Alltoallv with large counts')
    got = untouched
    call MPI_Alltoallw(sent, many, in_bytes, types, got, many, in_bytes, types, comm)
    call check(all(got == expected), 'Alltoallw with large counts')
    call begin()
    call MPI_Ialltoallv(s(1:16:3, 2:8:2), many, at, MPI_INTEGER, r(1:16:3, 1:7:2), many, at, MPI_INTEGER, comm, request)
    call expect_blocks(per - 1, rank * per)
    call verify('Ialltoallv of sections with large counts')
    got = untouched
    call MPI_Reduce_scatter(sent, got, many, MPI_INTEGER, MPI_SUM, comm)
    call check(all(got(1:per - 1) == [(sum_to(size - 1, rank * (per - 1) + i), i = 1, per - 1)]), &
      'Reduce_scatter with large counts')
    got = untouched
    two = [0, per]
    call MPI_Neighbor_alltoallv(sent, many(1:2), two, MPI_INTEGER, got, many(1:2), two, MPI_INTEGER, ring)
    call check(all(got(1:per - 1) == [(100 * previous + per + i, i = 1, per - 1)]), &
      'Neighbor_alltoallv with large counts')
    call large_datatypes()
  end subroutine

  subroutine large_datatypes()
    type(MPI_Datatype) :: indexed, structure
    integer(MPI_COUNT_KIND) :: lengths(2), places(2), two
    integer :: sent(10), got(10)
    two = 2
    lengths = [2, 1]
    places = [1, 5]
    sent = [(i, i = 1, 10)]
    got = 0
    call MPI_Type_indexed(two, lengths, places, MPI_INTEGER, indexed)
    places = [0, 12]
    call MPI_Type_create_struct(two, lengths, places, [MPI_INTEGER, MPI_INTEGER], structure)
    call MPI_Type_commit(indexed)
    call MPI_Type_commit(structure)
    call MPI_Sendrecv(sent, 1, indexed, rank, 1, got, 1, structure, rank, 1, comm, MPI_STATUS_IGNORE)
    call check(all(got(1:5) == [2, 3, 0, 6, 0]), 'datatypes with large counts')
    call MPI_Type_free(indexed)
    call MPI_Type_free(structure)
  end subroutine

  subroutine large_errors()
    integer(MPI_COUNT_KIND) :: lengths(2)
    integer :: code
    type(MPI_Datatype) :: datatype
    lengths = [1_MPI_COUNT_KIND, 2_MPI_COUNT_KIND ** 31]
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Type_indexed(2_MPI_COUNT_KIND, lengths, lengths, MPI_INTEGER, datatype, code)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call check(code == MPI_ERR_COUNT, 'a length that does not fit an integer')
  end subroutine
end program
