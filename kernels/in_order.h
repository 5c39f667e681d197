// SPDX-License-Identifier: Apache-2.0
// in_order.h: keeps a compiler from computing all products first and their sum later.
// Rows may be private; nothing here looks at a value.
#ifndef CUTTLE_KERNELS_IN_ORDER_H
#define CUTTLE_KERNELS_IN_ORDER_H

/* Stands behind each addition of a product to x, a vector of integers. Integer sums have no order,
 * so gcc makes a tree of a long one. Its products then wait on the stack, for there are 16
 * registers. With weights of 4 bits and 8 rows or more that took half as long again, measured. */
#define IN_ORDER(x) __asm__("" : "+x"(x))

#endif
