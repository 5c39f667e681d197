// SPDX-License-Identifier: Apache-2.0
// tls.c: see tls.h. The HTTP thread picks the certificate of a connection, another thread puts a
// new one in its place. A connection that has begun may still need the old one for a while.
#include "serve/http/tls.h"

#include "base/library.h"
#include "io/disk/fail.h"
#include "serve/http/http_exchange.h"
#include <gnutls/abstract.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	TLS_CHAIN = 16, /* certificates, at most */
	TLS_KEEP_S =
	    6 * HTTP_REQUEST_S /* seconds that an old one is kept: no handshake is longer */
};

static struct {
	__typeof__(gnutls_certificate_allocate_credentials) *allocate;
	__typeof__(gnutls_certificate_free_credentials) *release;
	__typeof__(gnutls_certificate_set_x509_key_mem) *match;
	__typeof__(gnutls_pcert_list_import_x509_raw) *read_chain;
	__typeof__(gnutls_pcert_deinit) *drop_certificate;
	__typeof__(gnutls_privkey_init) *make_key;
	__typeof__(gnutls_privkey_import_x509_raw) *read_key;
	__typeof__(gnutls_privkey_deinit) *drop_key;
	__typeof__(gnutls_record_send) *send;
} gnutls;

struct identity {
	gnutls_pcert_st chain[TLS_CHAIN]; /* [count] the server's own first */
	unsigned count;
	gnutls_privkey_t key;
	double replaced;       /* http_now() since when another one is shown */
	struct identity *next; /* the one before */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `shown` */
static struct identity *shown;                           /* the newest; NULL = none */

static bool load_gnutls(void) {
	const struct library_function functions[] = {
	    {"gnutls_certificate_allocate_credentials", &gnutls.allocate},
	    {"gnutls_certificate_free_credentials", &gnutls.release},
	    {"gnutls_certificate_set_x509_key_mem", &gnutls.match},
	    {"gnutls_pcert_list_import_x509_raw", &gnutls.read_chain},
	    {"gnutls_pcert_deinit", &gnutls.drop_certificate},
	    {"gnutls_privkey_init", &gnutls.make_key},
	    {"gnutls_privkey_import_x509_raw", &gnutls.read_key},
	    {"gnutls_privkey_deinit", &gnutls.drop_key},
	    {"gnutls_record_send", &gnutls.send}};
	return library_load("libgnutls.so.30", functions, sizeof functions / sizeof *functions);
}

static gnutls_datum_t datum_of(const char *text) {
	return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

/* Whether the key is that of the certificate. */
static bool belong_together(const gnutls_datum_t *certificate, const gnutls_datum_t *secret) {
	gnutls_certificate_credentials_t pair;
	if (gnutls.allocate(&pair) != 0) return false;
	const bool match = gnutls.match(pair, certificate, secret, GNUTLS_X509_FMT_PEM) >= 0;
	gnutls.release(pair);
	return match;
}

static void free_identity(struct identity *identity) {
	for (unsigned i = 0; i < identity->count; i++) gnutls.drop_certificate(&identity->chain[i]);
	if (identity->key) gnutls.drop_key(identity->key);
	free(identity);
}

static bool read_identity(struct identity *identity, const char *certificate, const char *secret) {
	const gnutls_datum_t chain = datum_of(certificate), key = datum_of(secret);
	if (!belong_together(&chain, &key)) return false;
	unsigned count = TLS_CHAIN;
	if (gnutls.read_chain(identity->chain, &count, &chain, GNUTLS_X509_FMT_PEM, 0) != 0)
		return false;
	identity->count = count;
	return gnutls.make_key(&identity->key) == 0 &&
	       gnutls.read_key(identity->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0) == 0;
}

/* Frees what nobody needs any more, behind the newest. Under the lock. */
static void drop_old(double now) {
	struct identity **link = &shown->next;
	while (*link) {
		struct identity *const old = *link;
		if (now - old->replaced < TLS_KEEP_S) {
			link = &old->next;
			continue;
		}
		*link = old->next;
		free_identity(old);
	}
}

enum cuttle_status tls_take(const char *certificate, const char *secret,
                            struct cuttle_error *error) {
	if (!load_gnutls())
		return io_fail(error, CUTTLE_USAGE,
		               "libgnutls.so.30 cannot be loaded: install the Debian package "
		               "libgnutls30");
	struct identity *const identity = calloc(1, sizeof *identity);
	if (!identity) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!read_identity(identity, certificate, secret)) {
		free_identity(identity);
		return io_fail(error, CUTTLE_USAGE,
		               "certificate and key must be PEM and belong together");
	}
	(void)pthread_mutex_lock(&lock);
	identity->next = shown;
	if (shown) shown->replaced = http_now();
	shown = identity;
	drop_old(http_now());
	(void)pthread_mutex_unlock(&lock);
	return CUTTLE_OK;
}

static int pick_identity(gnutls_session_t session, const gnutls_datum_t *authorities,
                         int authority_count, const gnutls_pk_algorithm_t *algorithms,
                         int algorithm_count, gnutls_pcert_st **chain, unsigned *count,
                         gnutls_privkey_t *key) {
	(void)session, (void)authorities, (void)authority_count, (void)algorithms;
	(void)algorithm_count;
	(void)pthread_mutex_lock(&lock);
	*chain = shown->chain;
	*count = shown->count;
	*key = shown->key;
	(void)pthread_mutex_unlock(&lock);
	return 0;
}

void *tls_callback(void) {
	gnutls_certificate_retrieve_function2 *const pick = pick_identity;
	void *callback;
	// A function is no object, and here it is passed on as one.
	memcpy(&callback, &pick, sizeof callback);
	return callback;
}

void tls_send(void *session, const void *bytes, size_t size) {
	const ssize_t sent = gnutls.send((gnutls_session_t)session, bytes, size);
	(void)sent;
}

void tls_drop(void) {
	while (shown) {
		struct identity *const identity = shown;
		shown = identity->next;
		free_identity(identity);
	}
}
