// SPDX-License-Identifier: Apache-2.0
// listen.c: see listen.h.
#include "serve/http/listen.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include "serve/http/http_check.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	PEM_MOST = 1 << 20, /* bytes of a certificate or key */
	BACKLOG = 511,      /* connections that wait to be accepted */
	FIRST_HANDED = 3    /* the first descriptor that systemd hands over */
};

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	struct sockaddr_un local;
	struct sockaddr_storage storage;
};

static bool is_loopback_address(const union address *address) {
	if (address->any.sa_family == AF_INET)
		return ntohl(address->four.sin_addr.s_addr) >> 24 == 127;
	return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->six.sin6_addr);
}

static unsigned port_of(const union address *address) {
	return ntohs(address->any.sa_family == AF_INET6 ? address->six.sin6_port
	                                                : address->four.sin_port);
}

/* Adds NAME, of NAME or NAME:PORT. */
static bool add_name(struct listening *l, const char *name) {
	if (l->name_count == LISTEN_NAMES) return false;
	l->names[l->name_count] = strndup(name, http_name_size(name));
	return l->names[l->name_count++] != NULL;
}

/* The names that clients may use, with whatever port (http_host_is_ours says why). Those of the
 * loopback are right for every server: behind a tunnel or a container's published port a browser
 * uses them, and no other site can have them. A Unix socket has no names: no browser reaches it. */
static enum cuttle_status name_socket(struct listening *l, const struct listen_request *request,
                                      const union address *address, struct cuttle_error *error) {
	char host[INET6_ADDRSTRLEN] = "", shown[INET6_ADDRSTRLEN + 2];
	if (address->any.sa_family == AF_UNIX) {
		(void)snprintf(l->shown, sizeof l->shown, "unix:%s",
		               l->path ? l->path : "(handed over)");
		return CUTTLE_OK;
	}
	const bool six = address->any.sa_family == AF_INET6,
	           loopback = is_loopback_address(address);
	static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
	(void)inet_ntop(address->any.sa_family,
	                six ? (const void *)&address->six.sin6_addr
	                    : (const void *)&address->four.sin_addr,
	                host, sizeof host);
	(void)snprintf(shown, sizeof shown, six ? "[%s]" : "%s", host);
	bool named = add_name(l, shown);
	for (size_t i = 0; i < LISTEN_OWN - 1; i++) named = named && add_name(l, own[i]);
	for (size_t i = 0; i < request->name_count; i++)
		named = named && add_name(l, request->names[i]);
	(void)snprintf(l->shown, sizeof l->shown, "%s://%s:%u", l->tls ? "https" : "http", shown,
	               port_of(address));
	if (!named)
		return io_fail(error, CUTTLE_USAGE, "at most %d host names may be given",
		               LISTEN_NAMES - LISTEN_OWN);
	if (loopback || (l->tls && request->keys)) return CUTTLE_OK;
	return io_fail(
	    error, CUTTLE_USAGE,
	    "others could connect to %s: that needs --tls-cert, --tls-key and --keys, or "
	    "listen on 127.0.0.1 or unix:PATH",
	    l->shown);
}

/* The socket that systemd hands over, or -1: none. */
static int take_handed(void) {
	const char *const process = getenv("LISTEN_PID"), *const count = getenv("LISTEN_FDS");
	const bool ours =
	    process && count && strtol(process, NULL, 10) == (long)getpid() && !strcmp(count, "1");
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	if (ours) (void)fcntl(FIRST_HANDED, F_SETFD, FD_CLOEXEC);
	return ours ? FIRST_HANDED : -1;
}

static enum cuttle_status fail_address(const char *address, struct cuttle_error *error) {
	return io_fail(error, CUTTLE_USAGE,
	               "--listen %s: must be HOST:PORT (0 to 65535), with a numeric host such as "
	               "127.0.0.1 or [::1], or unix:PATH",
	               address);
}

/* A socket that nobody answers at is what a killed server left. */
static bool is_abandoned(const union address *address) {
	struct stat state;
	if (lstat(address->local.sun_path, &state) != 0 || !S_ISSOCK(state.st_mode)) return false;
	const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool refused = probe >= 0 &&
	                     connect(probe, &address->any, sizeof address->local) != 0 &&
	                     errno == ECONNREFUSED;
	if (probe >= 0) (void)close(probe);
	return refused;
}

static enum cuttle_status listen_unix(struct listening *l, const char *path, union address *address,
                                      struct cuttle_error *error) {
	*address = (union address){.local = {.sun_family = AF_UNIX}};
	if (!*path || strlen(path) >= sizeof address->local.sun_path)
		return io_fail(error, CUTTLE_USAGE, "--listen unix:%s: the path has 1 to %zu bytes",
		               path, sizeof address->local.sun_path - 1);
	strcpy(address->local.sun_path, path);
	if (is_abandoned(address)) (void)unlink(path);
	l->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	// The socket is never open to others, not even for a moment.
	const mode_t before = umask(0117);
	const int bound = bind(l->socket, &address->any, sizeof address->local);
	const int problem = errno;
	(void)umask(before);
	if (bound != 0)
		return io_fail(error, CUTTLE_USAGE, "cannot listen on unix:%s: %s", path,
		               problem == EADDRINUSE ? "another server or a file is there"
		                                     : strerror(problem));
	l->path = strdup(path);
	return l->path ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

static enum cuttle_status listen_tcp(struct listening *l, const char *text, union address *address,
                                     struct cuttle_error *error) {
	char host[128];
	const char *const colon = strrchr(text, ':'), *const port = colon ? colon + 1 : "";
	const bool bracket = *text == '[';
	const size_t size = colon ? (size_t)(colon - text) : 0, digits = strlen(port);
	// getaddrinfo takes 65536 for 0, and no digits for 0, which is whatever port is free.
	if (!digits || digits > 5 || strspn(port, "0123456789") != digits ||
	    strtoul(port, NULL, 10) > UINT16_MAX)
		return fail_address(text, error);
	if (!size || size >= sizeof host || (bracket && text[size - 1] != ']'))
		return fail_address(text, error);
	const size_t inner = bracket ? size - 2 : size;
	memcpy(host, text + bracket, inner);
	host[inner] = 0;
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,
	                               .ai_socktype = SOCK_STREAM,
	                               .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *found = NULL;
	if (getaddrinfo(!strcmp(host, "localhost") ? "127.0.0.1" : host, port, &hints, &found) != 0)
		return fail_address(text, error);
	memcpy(&address->storage, found->ai_addr, found->ai_addrlen);
	const socklen_t length = found->ai_addrlen;
	freeaddrinfo(found);
	l->socket = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;
	(void)setsockopt(l->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (l->socket < 0 || bind(l->socket, &address->any, length) != 0)
		return io_fail(error, CUTTLE_USAGE, "cannot listen on %s: %s", text,
		               strerror(errno));
	return CUTTLE_OK;
}

static enum cuttle_status open_socket(struct listening *l, const struct listen_request *request,
                                      union address *address, struct cuttle_error *error) {
	const char *const text = request->address ? request->address : LISTEN_DEFAULT;
	const bool local = !strncmp(text, LISTEN_UNIX, strlen(LISTEN_UNIX));
	enum cuttle_status status = CUTTLE_OK;
	l->socket = request->address ? -1 : take_handed();
	if (l->socket < 0)
		status = local ? listen_unix(l, text + strlen(LISTEN_UNIX), address, error)
		               : listen_tcp(l, text, address, error);
	if (status) return status;
	socklen_t size = sizeof *address;
	if (listen(l->socket, BACKLOG) != 0 || getsockname(l->socket, &address->any, &size) != 0)
		return io_fail(error, CUTTLE_USAGE, "cannot listen: %s", strerror(errno));
	return CUTTLE_OK;
}

enum cuttle_status listen_read_tls(const struct listen_request *request, char **certificate,
                                   char **secret, struct cuttle_error *error) {
	size_t size;
	*certificate = *secret = NULL;
	if (!request->secret) return CUTTLE_OK;
	enum cuttle_status status =
	    file_read(request->certificate, PEM_MOST, certificate, &size, error);
	if (!status) status = file_read_secret(request->secret, PEM_MOST, secret, &size, error);
	if (!status) return CUTTLE_OK;
	free(*certificate);
	*certificate = NULL;
	return status;
}

enum cuttle_status listen_open(const struct listen_request *request, struct listening *listening,
                               struct cuttle_error *error) {
	union address address = {0};
	*listening = (struct listening){.socket = -1, .tls = request->certificate != NULL};
	if (!request->certificate != !request->secret)
		return io_fail(error, CUTTLE_USAGE, "TLS needs both --tls-cert and --tls-key");
	enum cuttle_status status =
	    listen_read_tls(request, &listening->certificate, &listening->secret, error);
	if (!status) status = open_socket(listening, request, &address, error);
	if (!status) status = name_socket(listening, request, &address, error);
	if (status) listen_close(listening);
	return status;
}

void listen_close(struct listening *listening) {
	if (listening->socket >= 0) (void)close(listening->socket);
	if (listening->path) (void)unlink(listening->path);
	free(listening->path);
	free(listening->certificate);
	secrecy_free(listening->secret);
	for (size_t i = 0; i < LISTEN_NAMES; i++) free(listening->names[i]);
	*listening = (struct listening){.socket = -1};
}
