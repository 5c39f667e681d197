// SPDX-License-Identifier: Apache-2.0
// health.c: see health.h. libcurl is loaded when it asks, as in io/remote/remote.c. An image
// without a shell has no other program that could ask.
#include "serve/http/health.h"

#include "base/library.h"
#include "io/disk/fail.h"
#include "serve/http/listen.h"
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

enum {
	HEALTH_MS = 5000, /* milliseconds that an answer may take */
	HEALTH_URL = 256  /* bytes */
};

static struct {
	__typeof__(curl_global_init) *begin;
	__typeof__(curl_easy_init) *open;
	__typeof__(curl_easy_setopt) *set;
	__typeof__(curl_easy_perform) *ask;
	__typeof__(curl_easy_getinfo) *tell;
	__typeof__(curl_easy_strerror) *explain;
	__typeof__(curl_easy_cleanup) *close;
} asking;

static bool load_asking(const char *library) {
	const struct library_function functions[] = {
	    {"curl_global_init", &asking.begin}, {"curl_easy_init", &asking.open},
	    {"curl_easy_setopt", &asking.set},   {"curl_easy_perform", &asking.ask},
	    {"curl_easy_getinfo", &asking.tell}, {"curl_easy_strerror", &asking.explain},
	    {"curl_easy_cleanup", &asking.close}};
	return library_load(library, functions, sizeof functions / sizeof *functions);
}

/* The status alone counts. */
static size_t drop_health_body(char *bytes, size_t size, size_t count, void *user) {
	(void)bytes;
	(void)user;
	return size * count;
}

/* Sets what is asked. What stands in the environment, such as a proxy, has no say. */
static bool prepare_health(CURL *curl, const char *url, const char *socket) {
	bool set = asking.set(curl, CURLOPT_URL, url) == CURLE_OK;
	if (socket) set &= asking.set(curl, CURLOPT_UNIX_SOCKET_PATH, socket) == CURLE_OK;
	set &= asking.set(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
	set &= asking.set(curl, CURLOPT_PROXY, "") == CURLE_OK;
	set &= asking.set(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
	set &= asking.set(curl, CURLOPT_TIMEOUT_MS, (long)HEALTH_MS) == CURLE_OK;
	set &= asking.set(curl, CURLOPT_WRITEFUNCTION, drop_health_body) == CURLE_OK;
	// The certificate has the name that clients call, not this one, and no secret is sent.
	set &= asking.set(curl, CURLOPT_SSL_VERIFYPEER, 0L) == CURLE_OK;
	set &= asking.set(curl, CURLOPT_SSL_VERIFYHOST, 0L) == CURLE_OK;
	return set;
}

static CURLcode ask_health(CURL *curl, const char *text, bool tls) {
	const bool local = !strncmp(text, LISTEN_UNIX, strlen(LISTEN_UNIX));
	char url[HEALTH_URL];
	(void)snprintf(url, sizeof url, "%s://%s/health", tls ? "https" : "http",
	               local ? "localhost" : text);
	if (!prepare_health(curl, url, local ? text + strlen(LISTEN_UNIX) : NULL))
		return CURLE_FAILED_INIT;
	return asking.ask(curl);
}

enum cuttle_status health_ask(const char *address, bool tls, struct cuttle_error *error) {
	const char *const text = address ? address : LISTEN_DEFAULT;
	const bool local = !strncmp(text, LISTEN_UNIX, strlen(LISTEN_UNIX));
	// More than an address would make another URL of it.
	if (strlen(text) >= HEALTH_URL - sizeof "https:///health" ||
	    (!local && strpbrk(text, "/@?#\\ ")))
		return io_fail(error, CUTTLE_USAGE,
		               "--listen %s: must be the server's own HOST:PORT or unix:PATH",
		               text);
	if (!load_asking("libcurl.so.4") && !load_asking("libcurl-gnutls.so.4"))
		return io_fail(error, CUTTLE_USAGE,
		               "libcurl.so.4 cannot be loaded: install the Debian package "
		               "libcurl4");
	CURL *const curl = asking.begin(CURL_GLOBAL_DEFAULT) == CURLE_OK ? asking.open() : NULL;
	if (!curl) return io_fail(error, CUTTLE_INTERNAL, "libcurl cannot begin");
	CURLcode code = ask_health(curl, text, tls);
	// A server with TLS closes a connection that begins without it, and says no more.
	const bool other = (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR) && !tls &&
	                   ask_health(curl, text, true) == CURLE_OK;
	long answer = 0;
	if (code == CURLE_OK) (void)asking.tell(curl, CURLINFO_RESPONSE_CODE, &answer);
	asking.close(curl);
	if (other || code == CURLE_SSL_CONNECT_ERROR)
		return io_fail(error, CUTTLE_INTERNAL, "no answer from %s: %s", text,
		               other ? "the server has TLS: add its --tls-cert FILE"
		                     : "there is no TLS: leave out --tls-cert");
	if (code != CURLE_OK)
		return io_fail(error, CUTTLE_INTERNAL, "no answer from %s: %s", text,
		               asking.explain(code));
	if (answer != 200)
		return io_fail(error, CUTTLE_INTERNAL, "%s answers %ld instead of 200", text,
		               answer);
	return CUTTLE_OK;
}
