// SPDX-License-Identifier: Apache-2.0
// health.h: asks a server of this machine whether it answers, for what watches a container.
//
// No private data: GET /health, without a key. Build without libcurl: health_none.c.
#ifndef CUTTLE_SERVE_HTTP_HEALTH_H
#define CUTTLE_SERVE_HTTP_HEALTH_H

#include "engine/cuttle/status.h"
#include <stdbool.h>

/* Asks once, for five seconds at most. `address` is as the server's --listen, NULL = its default;
 * `tls`: it speaks TLS.
 * INTERNAL: nobody answers there, or not as a healthy server would. USAGE: the address is none, or
 * libcurl cannot be loaded. */
enum cuttle_status health_ask(const char *address, bool tls, struct cuttle_error *error);

#endif
