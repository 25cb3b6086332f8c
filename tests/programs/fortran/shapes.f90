! A module that the other source uses: it must be compiled first.
module shapes
  implicit none
  include 'sides.inc'
contains
  pure function perimeter(length) result(sum)
    real, intent(in) :: length
    real :: sum
    sum = sides * length
  end function
end module
