// SPDX-License-Identifier: Apache-2.0
// How replies are kept: see replies.h, which shows the lines.
//
// A line is right if it is, byte for byte, the line that its members make, with the check that the
// key makes of them. So nothing else of a line needs to be looked at.
#include "io/remote/replies.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/jsonout.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char FORMAT[] = "{\"cuttle-replies\":"; /* how the file of any version begins */
enum { FIRST_LINE = 18 + 17 + 64 + 10 + 64 + 3 };    /* bytes of the first line: 176 */

struct replies {
	char *path;                                   /* owned */
	int file;                                     /* descriptor; the lock is on it */
	unsigned char key[crypto_shorthash_KEYBYTES]; /* of the checks */
	size_t count;                                 /* requests of the run */
	struct reply *all;                            /* [count]; text NULL = missing */
};

enum replies_state {
	REPLIES_NEW,     /* it never held a reply */
	REPLIES_OURS,    /* of this run; they are loaded */
	REPLIES_OTHER,   /* of another run */
	REPLIES_DAMAGED, /* of this run, but damaged */
	REPLIES_FOREIGN  /* somebody's file */
};

/* Writes the first line, and makes the key of the checks from it. */
static void render_owner(struct replies *replies, const struct replies_owner *owner,
                         char line[FIRST_LINE + 1]) {
	const int size =
	    snprintf(line, FIRST_LINE + 1, "%s1,\"fingerprint\":\"%s\",\"sent\":\"%s\"}\n", FORMAT,
	             owner->fingerprint, owner->sent);
	REQUIRE(size == FIRST_LINE);
	(void)crypto_generichash(replies->key, sizeof replies->key, (const unsigned char *)line,
	                         FIRST_LINE, NULL, 0);
}

static json_t *make_reply_object(size_t index, const struct reply *reply) {
	const struct jsonout_member members[] = {{"index", json_integer((json_int_t)index)},
	                                         {"text", json_stringn(reply->text, reply->size)},
	                                         {"finish", json_string(reply->finish)}};
	return jsonout_extend(json_object(), members, 3);
}

/* The line of a reply, with its newline; the caller frees it. NULL: out of memory. */
static char *render_reply_line(const struct replies *replies, size_t index,
                               const struct reply *reply, size_t *size) {
	unsigned char check[crypto_shorthash_BYTES];
	char digits[2 * sizeof check + 1];
	char *plain = jsonout_dump(make_reply_object(index, reply), JSON_COMPACT, size);
	if (!plain) return NULL;
	(void)crypto_shorthash(check, (const unsigned char *)plain, *size, replies->key);
	free(plain);
	const struct jsonout_member member = {
	    "check", json_string(sodium_bin2hex(digits, sizeof digits, check, sizeof check))};
	return jsonout_dump(jsonout_extend(make_reply_object(index, reply), &member, 1),
	                    JSON_COMPACT, size);
}

/* Makes a copy that reply_free frees. False: out of memory. */
static bool copy_reply(struct reply *copy, const char *text, size_t size, const char *finish) {
	*copy = (struct reply){.text = malloc(size + 1), .size = size};
	if (!copy->text) return false;
	memcpy(copy->text, text, size);
	copy->text[size] = 0;
	reply_clean(finish, copy->finish);
	return true;
}

/* Reads line[size], which has its newline. Returns 0, EINVAL for a wrong line, or ENOMEM. */
static int parse_reply_line(const struct replies *replies, const char *line, size_t size,
                            size_t *index, struct reply *reply) {
	json_t *root = json_loadb(line, size, 0, NULL);
	const json_t *number = json_object_get(root, "index"),
	             *text = json_object_get(root, "text"),
	             *finish = json_object_get(root, "finish");
	const bool formed = json_is_integer(number) && json_integer_value(number) >= 0 &&
	                    json_is_string(text) && json_is_string(finish);
	*reply = (struct reply){0};
	int problem = formed ? 0 : EINVAL;
	size_t again_size = 0;
	char *again = NULL;
	if (formed) {
		*index = (size_t)json_integer_value(number);
		if (!copy_reply(reply, json_string_value(text), json_string_length(text),
		                json_string_value(finish)))
			problem = ENOMEM;
	}
	json_decref(root);
	if (!problem) {
		again = render_reply_line(replies, *index, reply, &again_size);
		problem = !again                                             ? ENOMEM
		          : again_size == size && !memcmp(again, line, size) ? 0
		                                                             : EINVAL;
	}
	free(again);
	if (problem) reply_free(reply);
	return problem;
}

/* Loads the lines from byte FIRST_LINE on. *good is the number of bytes before the first wrong
 * line. Returns 0, ENOMEM, or EINVAL: the file is damaged. */
static int parse_replies(struct replies *replies, const char *bytes, size_t size, size_t *good) {
	bool torn = false;
	*good = FIRST_LINE;
	for (size_t at = FIRST_LINE; at < size;) {
		const char *newline = memchr(bytes + at, '\n', size - at);
		const size_t end = newline ? (size_t)(newline - bytes) + 1 : size;
		struct reply reply;
		size_t index = 0;
		const int problem =
		    newline ? parse_reply_line(replies, bytes + at, end - at, &index, &reply)
		            : EINVAL;
		if (problem == ENOMEM) return ENOMEM;
		at = end;
		torn |= problem != 0;
		if (problem) continue;
		if (torn || index >= replies->count || replies->all[index].text) {
			reply_free(&reply);
			return EINVAL;
		}
		replies->all[index] = reply;
		*good = at;
	}
	return 0;
}

static enum replies_state read_owner(const char line[FIRST_LINE + 1], const char *bytes,
                                     size_t size) {
	const size_t format = sizeof FORMAT - 1;
	if (memcmp(bytes, FORMAT, size < format ? size : format) != 0) return REPLIES_FOREIGN;
	// Nothing is asked for before the first line is durable.
	const char *newline = memchr(bytes, '\n', size);
	if (!newline || newline + 1 == bytes + size) return REPLIES_NEW;
	return size > FIRST_LINE && !memcmp(bytes, line, FIRST_LINE) ? REPLIES_OURS : REPLIES_OTHER;
}

/* Reads the file, cuts a torn end off, and says what it is. Returns 0 or the errno. */
static int load_replies(struct replies *replies, const char line[FIRST_LINE + 1],
                        enum replies_state *state) {
	char *bytes;
	size_t size = 0, good = 0;
	int problem = file_read_open(replies->file, &bytes, &size);
	if (problem) return problem;
	*state = read_owner(line, bytes, size);
	if (*state == REPLIES_OURS) problem = parse_replies(replies, bytes, size, &good);
	free(bytes);
	if (problem == EINVAL) *state = REPLIES_DAMAGED;
	if (problem) return problem == EINVAL ? 0 : problem;
	if (*state == REPLIES_OURS && good < size && ftruncate(replies->file, (off_t)good) != 0)
		return errno;
	return 0;
}

/* Empties the file and writes the first line. Returns 0 or the errno. */
static int begin_replies(struct replies *replies, const char line[FIRST_LINE + 1]) {
	for (size_t i = 0; i < replies->count; i++) reply_free(&replies->all[i]);
	if (ftruncate(replies->file, 0) != 0) return errno;
	int problem = file_write(replies->file, line, FIRST_LINE);
	if (!problem && fsync(replies->file) != 0) problem = errno;
	return problem ? problem : file_sync_folder(replies->path);
}

static enum cuttle_status settle_replies(struct replies *replies, const struct replies_owner *owner,
                                         bool overwrite, struct cuttle_error *error) {
	char line[FIRST_LINE + 1];
	enum replies_state state = REPLIES_DAMAGED;
	render_owner(replies, owner, line);
	int problem = load_replies(replies, line, &state);
	if (problem == ENOMEM) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (problem)
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", replies->path,
		               strerror(problem));
	if (state == REPLIES_OURS) return CUTTLE_OK;
	if (state == REPLIES_FOREIGN)
		return io_fail(error, CUTTLE_USAGE,
		               "%s is in the way: it does not hold replies of cuttle; move it, or "
		               "choose another output name",
		               replies->path);
	if (state == REPLIES_OTHER && !overwrite)
		return io_fail(error, CUTTLE_USAGE,
		               "%s belongs to another command: run that again to finish it, or "
		               "--overwrite it",
		               replies->path);
	if (state == REPLIES_DAMAGED && !overwrite)
		return io_fail(error, CUTTLE_INPUT,
		               "%s is damaged; --overwrite asks for all replies anew",
		               replies->path);
	problem = begin_replies(replies, line);
	if (!problem) return CUTTLE_OK;
	return io_fail(error, CUTTLE_PARTIAL,
	               "cannot write %s: %s; the same command continues from here", replies->path,
	               strerror(problem));
}

enum cuttle_status replies_open(const char *path, const struct replies_owner *owner, size_t count,
                                bool overwrite, struct replies **replies,
                                struct cuttle_error *error) {
	*replies = NULL;
	struct replies *made = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	*made = (struct replies){.path = strdup(path),
	                         .file = -1,
	                         .count = count,
	                         .all = calloc(count ? count : 1, sizeof *made->all)};
	enum cuttle_status status = CUTTLE_OK;
	if (!made->path || !made->all) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	const int problem = status ? 0 : file_lock(path, &made->file);
	if (problem == EWOULDBLOCK)
		status = io_fail(error, CUTTLE_USAGE,
		                 "another process is writing this output (it holds %s)", path);
	else if (problem)
		status =
		    io_fail(error, CUTTLE_USAGE, "cannot create %s: %s", path, strerror(problem));
	if (!status) status = settle_replies(made, owner, overwrite, error);
	if (status) replies_close(&made);
	*replies = made;
	return status;
}

const struct reply *replies_get(const struct replies *replies, size_t index) {
	REQUIRE(index < replies->count);
	return replies->all[index].text ? &replies->all[index] : NULL;
}

enum cuttle_status replies_keep(struct replies *replies, size_t index, const struct reply *reply,
                                struct cuttle_error *error) {
	REQUIRE(!replies_get(replies, index));
	struct reply copy;
	size_t size = 0;
	char *line = render_reply_line(replies, index, reply, &size);
	if (!line || !copy_reply(&copy, reply->text, reply->size, reply->finish)) {
		free(line);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	int problem = file_write(replies->file, line, size);
	if (!problem && fdatasync(replies->file) != 0) problem = errno;
	free(line);
	if (!problem) {
		replies->all[index] = copy;
		return CUTTLE_OK;
	}
	reply_free(&copy);
	return io_fail(error, CUTTLE_PARTIAL,
	               "cannot write %s: %s; the same command continues from here", replies->path,
	               strerror(problem));
}

int replies_remove(struct replies *replies) {
	return unlink(replies->path) != 0 && errno != ENOENT ? errno : 0;
}

void replies_close(struct replies **replies) {
	struct replies *old = *replies;
	if (!old) return;
	for (size_t i = 0; old->all && i < old->count; i++) reply_free(&old->all[i]);
	if (old->file >= 0) (void)close(old->file);
	free(old->all);
	free(old->path);
	free(old);
	*replies = NULL;
}
