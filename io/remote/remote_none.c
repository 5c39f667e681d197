// SPDX-License-Identifier: Apache-2.0
// Stands for remote.c where cuttle is built without libcurl (make CURL=0): it opens no connection.
#include "io/remote/remote.h"

#include "base/misuse.h"
#include "io/disk/fail.h"

enum cuttle_status remote_open(const struct remote_request *request,
                               const struct remote_events *events, struct remote **remote,
                               struct cuttle_error *error) {
	(void)events;
	*remote = NULL;
	enum cuttle_status status = remote_check(request, error);
	if (status) return status;
	return io_fail(error, CUTTLE_USAGE,
	               "this cuttle was built without libcurl: install libcurl4-openssl-dev and "
	               "build it anew, or send the perturbed texts yourself");
}

enum cuttle_status remote_send(struct remote *remote, const char *body, size_t size,
                               struct reply *reply, struct cuttle_error *error) {
	(void)remote;
	(void)body;
	(void)size;
	(void)reply;
	(void)error;
	cuttle_misuse("remote_send without remote_open");
}

void remote_close(struct remote **remote) {
	*remote = NULL;
}
