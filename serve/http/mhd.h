// SPDX-License-Identifier: Apache-2.0
// mhd.h: the functions of libmicrohttpd that the server calls, once the library is loaded.
//
// No private data passes through. The library is loaded when a server starts, so that no other verb
// has it in its process; so io/remote/remote.c loads libcurl.
#ifndef CUTTLE_SERVE_HTTP_MHD_H
#define CUTTLE_SERVE_HTTP_MHD_H

#include "engine/cuttle/status.h"
#include <microhttpd.h>

/* Each is NULL before mhd_load has succeeded. */
extern struct mhd {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
	__typeof__(MHD_suspend_connection) *suspend;
	__typeof__(MHD_resume_connection) *resume;
	__typeof__(MHD_queue_response) *queue;
	__typeof__(MHD_destroy_response) *destroy_response;
	__typeof__(MHD_create_response_from_buffer) *from_buffer;
	__typeof__(MHD_create_response_from_fd64) *from_file;
	__typeof__(MHD_create_response_from_callback) *from_callback;
	__typeof__(MHD_add_response_header) *add_header;
	__typeof__(MHD_get_connection_values) *values;
	__typeof__(MHD_lookup_connection_value) *value;
	__typeof__(MHD_get_connection_info) *connection_info;
	__typeof__(MHD_is_feature_supported) *has_feature;
	__typeof__(MHD_get_reason_phrase_for) *reason;
} mhd;

/* Loads the library, once for the process. USAGE: there is none, or an old one. */
enum cuttle_status mhd_load(struct cuttle_error *error);

#endif
