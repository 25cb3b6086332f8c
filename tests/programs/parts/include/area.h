#ifndef AREA_H
#define AREA_H

/* Area of a circle. */
double area(double radius);

#endif
