// SPDX-License-Identifier: Apache-2.0
// Fuzzes io/tables/npy.c: the bytes are the file. It fails on a crash, if what is read breaks the
// reader's promises, or if a failure's message has two lines.
#include "base/misuse.h"
#include "io/tables/npy.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	const int file = memfd_create("npy", 0);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	REQUIRE(file >= 0 && write(file, bytes, size) == (ssize_t)size);
	struct npy npy;
	struct cuttle_error error = {""};
	const enum cuttle_status status = npy_read(path, &npy, &error);
	if (!status) {
		REQUIRE(npy.count && npy.width && npy.width <= NPY_WIDTH);
		REQUIRE(npy.count * npy.width * 4 < size);
		for (size_t i = 0; i < npy.count * npy.width; i++) REQUIRE(isfinite(npy.rows[i]));
	}
	REQUIRE(!status ||
	        (status == CUTTLE_INPUT && *error.message && !strchr(error.message, '\n')));
	npy_free(&npy);
	close(file);
	return 0;
}

#define NPY_HEAD(version, length) "\x93NUMPY" version "\0" length
uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL(NPY_HEAD("\1", "\x3c\0") "{'descr': '<f4', 'fortran_order': False, "
	                                          "'shape': (1, 2), }\n"
	                                          "\0\0\x80\x3f\0\0\0\x40"),
	    FUZZ_LITERAL(NPY_HEAD("\2", "\x3d\0\0\0") "{'shape':(1,1),'fortran_order':False,"
	                                              "'descr':'<f8'}   \n      "
	                                              "\0\0\0\0\0\0\xf0\x3f")};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
