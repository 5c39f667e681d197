// SPDX-License-Identifier: Apache-2.0
// in_order.h: keeps a compiler from computing all products first and their sum later.
// Rows may be private; nothing here looks at a value.
#ifndef CUTTLE_KERNELS_IN_ORDER_H
#define CUTTLE_KERNELS_IN_ORDER_H

/* x, a vector of integers, after the next product is added to it. Integer sums have no order, so
 * gcc makes a tree of a long one. Its products then wait on the stack, for there are 16 registers:
 * measured with 4-bit weights that doubles the time of 8 rows and more. */
#define IN_ORDER(x) __asm__("" : "+x"(x))

#endif
