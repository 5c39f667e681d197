// SPDX-License-Identifier: Apache-2.0
// last_word.c: see last_word.h. No private data: an exit code is public.
#include "tools/common/last_word.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number of a descriptor beyond the standard streams, or -1. */
static int read_descriptor(const char *text) {
	char *end;
	errno = 0;
	const long number = strtol(text, &end, 10);
	const bool whole = isdigit((unsigned char)*text) && !*end && !errno;
	return whole && number > STDERR_FILENO && number <= INT_MAX ? (int)number : -1;
}

/* Whether it is the writing end of a pipe or a socket. A file would be written over. */
static bool takes_word(int file) {
	struct stat about;
	const int flags = fcntl(file, F_GETFL);
	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && fstat(file, &about) == 0 &&
	       (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

bool last_word_open(int *file) {
	const char *text = getenv(LAST_WORD_VARIABLE);
	*file = -1;
	if (!text || !*text) return true;
	const int named = read_descriptor(text);
	if (named < 0 || !takes_word(named) || fcntl(named, F_SETFD, FD_CLOEXEC) != 0) {
		fprintf(stderr, "cuttle: " LAST_WORD_VARIABLE
		                " in the environment must be the number of an open pipe or socket, "
		                "from 3 on: unset it\n");
		return false;
	}
	(void)unsetenv(LAST_WORD_VARIABLE);
	*file = named;
	return true;
}

void last_word_say(int file, int code) {
	char word[16];
	struct pollfd room = {.fd = file, .events = POLLOUT};
	if (file < 0 || poll(&room, 1, 0) != 1) return;
	const int size = snprintf(word, sizeof word, "%d\n", code);
	while (write(file, word, (size_t)size) < 0 && errno == EINTR) {}
}
