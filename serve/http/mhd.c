// SPDX-License-Identifier: Apache-2.0
// mhd.c: finds the functions of libmicrohttpd: see mhd.h. Called when a server starts.
#include "serve/http/mhd.h"

#include "base/library.h"
#include "io/disk/fail.h"

struct mhd mhd;

enum cuttle_status mhd_load(struct cuttle_error *error) {
	const struct library_function functions[] = {
	    {"MHD_start_daemon", &mhd.start_daemon},
	    {"MHD_stop_daemon", &mhd.stop_daemon},
	    {"MHD_suspend_connection", &mhd.suspend},
	    {"MHD_resume_connection", &mhd.resume},
	    {"MHD_queue_response", &mhd.queue},
	    {"MHD_destroy_response", &mhd.destroy_response},
	    {"MHD_create_response_from_buffer", &mhd.from_buffer},
	    {"MHD_create_response_from_fd64", &mhd.from_file},
	    {"MHD_create_response_from_callback", &mhd.from_callback},
	    {"MHD_add_response_header", &mhd.add_header},
	    {"MHD_get_connection_values", &mhd.values},
	    {"MHD_lookup_connection_value", &mhd.value},
	    {"MHD_get_connection_info", &mhd.connection_info},
	    {"MHD_is_feature_supported", &mhd.has_feature},
	    {"MHD_get_reason_phrase_for", &mhd.reason}};
	if (library_load("libmicrohttpd.so.12", functions, sizeof functions / sizeof *functions))
		return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE,
	               "libmicrohttpd.so.12 cannot be loaded: install the Debian package "
	               "libmicrohttpd12");
}
