// SPDX-License-Identifier: Apache-2.0
// npy.h: reads vectors that others computed, from a NumPy file.
//
// Vectors may be those of private texts. They are handed to the caller, who wipes them, and no
// message has a number of them. The file is untrusted.
// It is read when it is a table of `rows` rows: versions 1.0 to 3.0, type <f4 or <f8, in C order.
//     numpy.save("features.npy", model.encode(texts).astype("float32"))
// Source: the NumPy enhancement proposal 1, "A Simple File Format for NumPy Arrays".
#ifndef CUTTLE_IO_TABLES_NPY_H
#define CUTTLE_IO_TABLES_NPY_H

#include "engine/cuttle/status.h"

enum { NPY_WIDTH = 1 << 16 }; /* numbers of a row, at most */

struct npy {
	float *rows;  /* [count][width]; <f8 is rounded to float */
	size_t count; /* rows */
	size_t width; /* numbers of a row */
};

/* Reads a file of at most 4 GiB. After a failure *npy is empty.
 * INPUT: it cannot be read, is no such file, has another size than its header says, has no rows or
 * more than NPY_WIDTH numbers a row, or a number that is not finite. NOMEM. */
enum cuttle_status npy_read(const char *path, struct npy *npy, struct cuttle_error *error);

/* Wipes the rows and frees them. */
void npy_free(struct npy *npy);

#endif
