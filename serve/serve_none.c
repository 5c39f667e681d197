// SPDX-License-Identifier: Apache-2.0
// serve_none.c: the server of a build without libmicrohttpd (HTTP=0): it refuses to begin. The
// other files of this room are left out, but for keys.c and what it asks. No private data.
#include "serve/serve.h"

#include "io/disk/fail.h"

enum cuttle_status serve_run(const struct serve_request *request, struct cuttle_error *error) {
	(void)request;
	return io_fail(error, CUTTLE_USAGE,
	               "this cuttle was built without a server: install the Debian package "
	               "libmicrohttpd-dev and build it again");
}
