// SPDX-License-Identifier: Apache-2.0
// steady.c: a library that tests/cli/goldens.sh loads before the others (LD_PRELOAD), so that a
// command draws the same each time and knows one date alone. No private data passes through.
// Every process begins its streams anew, from STEADY_SEED in the environment. Each purpose has a
// stream of its own, so that one more scratch file does not change which tokens are drawn:
//
//     getrandom() of the command      tokens, noise, lots of the mechanisms (dp/entropy.c)
//     getrandom() of libraries        what libsodium asks for when it begins, by its version
//     randombytes_buf() of N bytes    keys, names of runs and scratch files, a stream for each N
//     the other randombytes_          pauses, identifiers of jobs
//
// A connection to port 7 of this machine goes to port STEADY_PORT, where a test's own server
// listens, so that its address, and every hash of it, is the same each time.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SIZES = 256, OF_COMMAND = SIZES, OF_LIBRARIES, OF_NUMBERS, STREAMS };

#define SHOWN __attribute__((visibility("default")))

static const time_t NOW = 1700000000; /* 14 November 2023, 22:13:20 UTC */

static atomic_uint_fast64_t drawn[STREAMS];

/* splitmix64, a public-domain generator by S. Vigna: number `place` of stream `stream`. */
static uint64_t find_number(uint64_t stream, uint64_t place) {
	const char *seed = getenv("STEADY_SEED");
	uint64_t number = seed ? strtoull(seed, NULL, 10) : 0;
	number = (number << 9 | stream) * 0xd1342543de82ef95u + (place + 1) * 0x9e3779b97f4a7c15u;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
	number = (number ^ number >> 27) * 0x94d049bb133111ebu;
	return number ^ number >> 31;
}

static void fill_steadily(uint64_t stream, void *bytes, size_t size) {
	unsigned char *next = bytes;
	while (size > 0) {
		const uint64_t number = find_number(stream, atomic_fetch_add(&drawn[stream], 1));
		const size_t part = size < sizeof number ? size : sizeof number;
		memcpy(next, &number, part);
		next += part;
		size -= part;
	}
}

/* Whether `code` is an instruction of the command itself, and not of a library. */
static bool is_of_command(const void *code) {
	Dl_info here, command;
	return dladdr(code, &here) && dladdr((const void *)getauxval(AT_ENTRY), &command) &&
	       here.dli_fbase == command.dli_fbase;
}

SHOWN ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
	(void)flags;
	const void *caller = __builtin_return_address(0);
	fill_steadily(is_of_command(caller) ? OF_COMMAND : OF_LIBRARIES, bytes, size);
	return (ssize_t)size;
}

SHOWN int getentropy(void *bytes, size_t size) {
	fill_steadily(OF_LIBRARIES, bytes, size);
	return 0;
}

/* libsodium's, whose header is not needed for this. */
SHOWN void randombytes_buf(void *bytes, size_t size);
SHOWN uint32_t randombytes_random(void);
SHOWN uint32_t randombytes_uniform(uint32_t bound);

void randombytes_buf(void *bytes, size_t size) {
	fill_steadily(size < SIZES ? size : 0, bytes, size);
}

uint32_t randombytes_random(void) {
	uint32_t number;
	fill_steadily(OF_NUMBERS, &number, sizeof number);
	return number;
}

uint32_t randombytes_uniform(uint32_t bound) {
	return bound ? randombytes_random() % bound : 0;
}

SHOWN time_t time(time_t *now) {
	if (now) *now = NOW;
	return NOW;
}

SHOWN int connect(int socket, const struct sockaddr *address, socklen_t size) {
	const char *port = getenv("STEADY_PORT");
	struct sockaddr_in there;
	if (port && size == sizeof there && address->sa_family == AF_INET) {
		memcpy(&there, address, sizeof there);
		if (there.sin_port == htons(7)) {
			there.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
			address = (const struct sockaddr *)&there;
		}
	}
	return (int)syscall(SYS_connect, socket, address, size);
}
