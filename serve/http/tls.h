// SPDX-License-Identifier: Apache-2.0
// tls.h: the certificate that a server shows, and its key. Both may change while it runs.
//
// No private data but the key passes through. There is one certificate for the process, since
// libmicrohttpd asks for it without saying for which server. GnuTLS is loaded when it is first
// needed, as libmicrohttpd is (serve/http/mhd.h).
#ifndef CUTTLE_SERVE_HTTP_TLS_H
#define CUTTLE_SERVE_HTTP_TLS_H

#include "engine/cuttle/status.h"

/* Takes a certificate with its chain, and its key, both as PEM text. Who connects from here on sees
 * it; connections that are there go on. Called by one thread at a time.
 * USAGE: they are no PEM, do not belong together, or there is no GnuTLS; what was taken before
 * stays. NOMEM. */
enum cuttle_status tls_take(const char *certificate, const char *secret,
                            struct cuttle_error *error);
/* What libmicrohttpd calls for each new connection: MHD_OPTION_HTTPS_CERT_CALLBACK. */
void *tls_callback(void);
/* No server shows it any more. */
void tls_drop(void);

/* Sends bytes on a connection whose handshake is done, without waiting. */
void tls_send(void *session, const void *bytes, size_t size);

#endif
