#include <math.h>

#include "area.h"

double area(double radius)
{
    return acos(-1.0) * pow(radius, 2.0);
}
