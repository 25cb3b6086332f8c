! Fortran's input and output, of which a test compares each line with that of the host's compiler. Files are in the
! current directory. Prints nothing that depends on the machine.
program fortran_io
  use, intrinsic :: ieee_arithmetic
  use, intrinsic :: iso_fortran_env
  implicit none
  call numbers()
  call formats()
  call internal_files()
  call files()
  call environment()
  call functions()
  write (error_unit, '(a)') 'to standard error'
  flush (output_unit)
  stop 3

contains

  subroutine numbers()
    real(real64) :: x
    real(real32) :: s
    integer :: i
    print *, 'list-directed', 42, -1.5, 2.25d0, .false., (0.5, -2.0), 'text'
    s = 0
    x = 3.0d0
    do i = 1, 6
       x = x / 11.0d0
       write (*, '(es25.17e3, 1x, f21.18, 1x, g16.8, 1x, e13.5, 1x, en15.4)') x, x, x, x, x
    end do
    write (*, '(f42.32)') 0.3d0
    write (*, '(es48.38)') 0.7d0
    write (*, '(f6.2, f6.2, f5.1, f5.1)') 0.004999d0, 0.005, 0.25, 0.35
    print *, huge(x), tiny(x), epsilon(x), -0.0d0
    print *, huge(s), tiny(s), spacing(s + 1), 0.3
    print *, ieee_value(x, ieee_quiet_nan), ieee_value(x, ieee_negative_inf)
    print *, real(2, real128) / 3, sqrt(2.0_real128)
    print *, huge(1), huge(1_int64), huge(1_int8), -huge(1_int64)
  end subroutine

  subroutine formats()
    integer :: i
    write (*, '(i6.4, z10, o10, b12, l4, a8, a3, 2x, "literal")') 37, 4095, 64, 9, .true., 'right', 'cut off'
    write (*, '(i2, f4.1, f3.0)') 123456, 98765.0, 3.5
    write (*, '(3(f7.3, :, ";"), /, a, t20, a)') 0.5, 1.5, 2.5, 'next', 'column'
    write (*, '(sp, i5, ss, i5, bn, 1p, e12.4)') 7, 7, 1234.5
    write (*, '(*(i0, :, ","))') (i * i, i = 1, 8)
    write (*, '(a)', advance='no') 'one '
    write (*, '(a)') 'line'
  end subroutine

  subroutine internal_files()
    character(60) :: line, word
    real(real64) :: x
    integer :: i
    logical :: l
    namelist /group/ i, x, l, word
    write (line, '(f12.5)') 2.718281828d0
    read (line, *) x
    print *, trim(adjustl(line)), x
    line = ' 17, 4.5e-3 F "quoted, text" '
    read (line, *) i, x, l, word
    print *, i, x, l, trim(word)
    line = '0099 2.5D+02'
    read (line, '(i4, 1x, f8.0)') i, x
    print *, i, x
    write (*, nml=group)
    read (line, '(i4)', iostat=i) i
    print *, i
    line = 'no number'
    word = ''
    read (line, *, iostat=i, iomsg=word) x
    print *, i > 0, trim(word)
  end subroutine

  subroutine files()
    integer :: unit, other, i, n, status, values(4)
    real(real64) :: x
    logical :: l
    character(80) :: message
    open (newunit=unit, status='scratch', iostat=status, iomsg=message)
    print *, 'scratch', status
    write (unit, *) 1.25d0
    rewind (unit)
    read (unit, *) x
    close (unit)
    print *, x
    open (newunit=unit, file='lines.txt', status='new', action='readwrite')
    do i = 1, 4
       write (unit, *) i, i * 0.25d0
    end do
    rewind (unit)
    n = 0
    do
       read (unit, *, iostat=status) i, x
       if (status /= 0) exit
       n = n + i
    end do
    print *, n, status == iostat_end
    backspace (unit)
    inquire (unit, size=n)
    print *, 'size', n
    message = ''
    open (newunit=other, file='lines.txt', status='old', iostat=status, iomsg=message)
    print *, status > 0, ' ', trim(message)
    if (status == 0) close (other)
    close (unit)
    open (newunit=unit, file='lines.txt', status='new', iostat=status, iomsg=message)
    print *, status > 0, trim(message)
    open (newunit=unit, file='lines.txt', position='append')
    write (unit, '(a)') 'appended'
    close (unit, status='delete')
    open (newunit=unit, file='none.txt', status='old', iostat=status, iomsg=message)
    print *, status, trim(message)
    open (newunit=unit, file='bytes.bin', form='unformatted', access='stream', status='replace')
    write (unit) 2.5d0, 9
    read (unit, pos=1) x, i
    print *, x, i
    close (unit, status='delete')
    open (newunit=unit, file='records.bin', form='unformatted', status='replace')
    write (unit) [4, 3, 2, 1]
    rewind (unit)
    read (unit) values
    print *, values
    close (unit, status='delete')
    open (newunit=unit, file='direct.bin', form='unformatted', access='direct', recl=8, status='replace')
    write (unit, rec=5) 8.125d0
    read (unit, rec=5) x
    print *, x
    close (unit, status='delete')
    inquire (file='direct.bin', exist=l)
    print *, l
  end subroutine

  subroutine environment()
    character(40) :: text
    integer :: length, status, values(8), rate
    real(real64) :: seconds
    call get_command_argument(1, text, length, status)
    print *, command_argument_count(), trim(text), length, status
    call get_environment_variable('NO_SUCH_VARIABLE', text, status=status)
    print *, status
    call date_and_time(values=values)
    print *, 'date', values(1) >= 2025, values(2) <= 12
    call system_clock(count_rate=rate)
    call cpu_time(seconds)
    print *, rate, seconds >= 0
  end subroutine

  subroutine functions()
    real(real64) :: m(3, 2), y(5)
    character(:), allocatable :: text
    complex(real64) :: z
    m = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [3, 2])
    print '(4f9.3)', matmul(transpose(m), m)
    print *, sum([2, 4, 6]), maxloc([5, 1, 9]), pack([1, 2, 3], [.false., .true., .true.]), count(m > 2)
    text = 'ab' // repeat('cd', 2)
    print *, len(text), text, index(text, 'd', back=.true.), adjustr('x  ') // '|', achar(iachar('A') + 2)
    z = exp((0d0, 1d0))
    ! Twelve digits: the last bit depends on the C library's functions.
    print '(2es20.11)', z, sqrt(z), log(z) + 1
    print '(4es24.16)', sin(0.5d0), gamma(4.5d0), erf(0.25d0), hypot(5d0, 12d0)
    print *, popcnt(255_int64), shiftl(1_int64, 40), ieor(12, 10), nearest(1d0, 1d0), exponent(10d0)
    call random_seed()
    call random_number(y)
    print *, all(y >= 0 .and. y < 1)
    print *, selected_real_kind(15), selected_int_kind(12), kind(1.0_real128)
  end subroutine
end program
