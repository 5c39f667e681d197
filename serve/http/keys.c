// SPDX-License-Identifier: Apache-2.0
// keys.c: see keys.h.
#include "serve/http/keys.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	FILE_MOST = 1 << 20, /* bytes of a file of keys */
	RECALLED = 256,      /* keys that are recalled, at most */
	WRONG = 64,          /* wrong ones, likewise */
	SECRET_BYTES = 32,   /* random bytes of a secret */
	LOCK_TRIES = 1000,   /* of a file that another process writes */
	LOCK_PAUSE_NS = 10000000
};

struct key_line {
	char id[KEYS_ID + 1];
	char owner[KEYS_OWNER + 1];
	enum http_role role;
	char hash[crypto_pwhash_STRBYTES];
	char datasets[KEYS_DATASETS];
};

/* A key that was right. */
struct recalled {
	unsigned char digest[crypto_generichash_BYTES]; /* of the token, under `secret` */
	size_t line;                                    /* whose key it is */
};

struct keys {
	const char *path;
	pthread_mutex_t lock; /* of all below */
	struct key_line *lines;
	size_t count;
	uint64_t reads; /* how often the file was read */
	struct recalled recalled[RECALLED];
	size_t recalled_count, recalled_next;
	unsigned char wrong[WRONG][crypto_generichash_BYTES]; /* tokens that were not */
	size_t wrong_count, wrong_next;
	unsigned char secret[crypto_generichash_KEYBYTES]; /* ends with the process */
	char nobody[crypto_pwhash_STRBYTES];               /* hash of a secret that nobody has */
};

static bool is_key_id(const char *id) {
	const size_t size = strlen(id);
	return size >= 1 && size <= KEYS_ID &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

/* Puts a word behind the list. False: there is no room. */
static bool add_dataset_word(char datasets[KEYS_DATASETS], const char *word) {
	const size_t size = strlen(datasets);
	const int added =
	    snprintf(datasets + size, KEYS_DATASETS - size, "%s%s", size ? " " : "", word);
	if (added >= 0 && (size_t)added < KEYS_DATASETS - size) return true;
	datasets[size] = 0;
	return false;
}

/* A name as the file has it. False: it is empty or too long. */
static bool encode_dataset(const char *name, char word[KEYS_DATASETS]) {
	size_t size = 0;
	for (const char *at = name; *at && size < KEYS_DATASETS - 4; at++) {
		const unsigned char byte = (unsigned char)*at;
		size += (size_t)snprintf(
		    word + size, 4, byte <= ' ' || byte == '%' || byte == 0x7f ? "%%%02X" : "%c",
		    byte);
	}
	return size > 0 && size < KEYS_DATASETS - 4;
}

bool keys_add_dataset(char datasets[KEYS_DATASETS], const char *name) {
	char word[KEYS_DATASETS];
	return encode_dataset(name, word) && add_dataset_word(datasets, word);
}

bool keys_has_dataset(const char *datasets, const char *name) {
	char word[KEYS_DATASETS];
	if (!datasets || !*datasets) return true;
	if (!encode_dataset(name, word)) return false;
	const size_t size = strlen(word);
	for (const char *at = datasets; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == size && !memcmp(at, word, size)) return true;
	return false;
}

const char *keys_place(const struct keys *keys) {
	return keys->path;
}

static bool find_id(const struct key_line *lines, size_t count, const char *id) {
	for (size_t i = 0; i < count; i++)
		if (!strcmp(lines[i].id, id)) return true;
	return false;
}

/* Names the owner of what belongs to this key. The hash has a salt, so no two keys have the same.
 */
static void name_key_owner(struct key_line *line) {
	unsigned char mark[crypto_generichash_BYTES_MIN];
	char hex[2 * sizeof mark + 1];
	(void)crypto_generichash(mark, sizeof mark, (const unsigned char *)line->hash,
	                         strlen(line->hash), NULL, 0);
	(void)sodium_bin2hex(hex, sizeof hex, mark, sizeof mark);
	(void)snprintf(line->owner, sizeof line->owner, "%s#%.*s", line->id, KEYS_MARK, hex);
}

/* Reads "ID ROLE HASH [DATASET]...". */
static bool parse_client_line(char *text, struct key_line *line) {
	char *rest = NULL;
	const char *const id = strtok_r(text, " ", &rest), *const role = strtok_r(NULL, " ", &rest),
	                  *const hash = strtok_r(NULL, " ", &rest);
	if (!id || !role || !hash || !is_key_id(id) || !http_role_find(role, &line->role) ||
	    strlen(hash) >= sizeof line->hash ||
	    strncmp(hash, crypto_pwhash_STRPREFIX, strlen(crypto_pwhash_STRPREFIX)) != 0)
		return false;
	strcpy(line->id, id);
	strcpy(line->hash, hash);
	name_key_owner(line);
	*line->datasets = 0;
	for (const char *word; (word = strtok_r(NULL, " ", &rest));)
		if (!add_dataset_word(line->datasets, word)) return false;
	return true;
}

/* Reads the lines of a file's text. An empty line, and one that begins with '#', says nothing. */
static enum cuttle_status read_key_lines(const char *path, char *text, struct key_line **lines,
                                         size_t *count, struct cuttle_error *error) {
	char *rest = NULL;
	size_t number = 0;
	*count = 0;
	*lines = calloc(KEYS_MOST, sizeof **lines);
	if (!*lines) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (char *next = text; next && *next; next = rest) {
		number++;
		rest = strchr(next, '\n');
		if (rest) *rest++ = 0;
		if (!*next || *next == '#') continue;
		struct key_line *const line = &(*lines)[*count];
		if (*count < KEYS_MOST && parse_client_line(next, line) &&
		    !find_id(*lines, *count, line->id)) {
			++*count;
			continue;
		}
		free(*lines);
		*lines = NULL;
		return io_fail(error, CUTTLE_INPUT,
		               "%s, line %zu: not \"ID ROLE HASH\", or an ID for the second "
		               "time; cuttle serve key writes such lines",
		               path, number);
	}
	return CUTTLE_OK;
}

/* The same from the file, which must be this user's alone. */
static enum cuttle_status load_key_lines(const char *path, struct key_line **lines, size_t *count,
                                         struct cuttle_error *error) {
	char *text;
	size_t size;
	*lines = NULL;
	*count = 0;
	enum cuttle_status status = file_read_secret(path, FILE_MOST, &text, &size, error);
	// Of what stands behind it nobody would know whether it holds.
	if (!status && strlen(text) != size)
		status = io_fail(error, CUTTLE_INPUT, "%s has a zero byte", path);
	if (!status) status = read_key_lines(path, text, lines, count, error);
	free(text);
	return status;
}

/* Recalls of the old lines' keys those that the new lines have with the same hash. A change of one
 * key would otherwise have all others hashed again. Under the lock. */
static void keep_recalled(struct keys *keys, const struct key_line *lines, size_t count) {
	size_t kept = 0;
	for (size_t i = 0; i < keys->recalled_count; i++) {
		const struct key_line *const old = &keys->lines[keys->recalled[i].line];
		size_t line = 0;
		while (line < count && (strcmp(lines[line].id, old->id) != 0 ||
		                        strcmp(lines[line].hash, old->hash) != 0))
			line++;
		if (line == count) continue;
		keys->recalled[kept] = keys->recalled[i];
		keys->recalled[kept++].line = line;
	}
	keys->recalled_count = kept;
	keys->recalled_next = kept % RECALLED;
}

enum cuttle_status keys_reload(struct keys *keys, struct cuttle_error *error) {
	struct key_line *lines;
	size_t count;
	const enum cuttle_status status = load_key_lines(keys->path, &lines, &count, error);
	if (status) return status;
	(void)pthread_mutex_lock(&keys->lock);
	keep_recalled(keys, lines, count);
	free(keys->lines);
	keys->lines = lines;
	keys->count = count;
	keys->reads++;
	keys->wrong_count = keys->wrong_next = 0;
	(void)pthread_mutex_unlock(&keys->lock);
	return CUTTLE_OK;
}

static bool hash_secret(const char *secret, char hash[crypto_pwhash_STRBYTES]) {
	return crypto_pwhash_str(hash, secret, strlen(secret), crypto_pwhash_OPSLIMIT_INTERACTIVE,
	                         crypto_pwhash_MEMLIMIT_INTERACTIVE) == 0;
}

enum cuttle_status keys_open(const char *path, struct keys **out, struct cuttle_error *error) {
	*out = NULL;
	struct keys *keys = calloc(1, sizeof *keys);
	if (!keys || sodium_init() < 0) {
		free(keys);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	keys->path = path;
	(void)pthread_mutex_init(&keys->lock, NULL);
	randombytes_buf(keys->secret, sizeof keys->secret);
	enum cuttle_status status = keys_reload(keys, error);
	if (!status && !hash_secret("nobody", keys->nobody))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory for the hash of a key");
	if (status) keys_free(&keys);
	*out = keys;
	return status;
}

void keys_free(struct keys **keys) {
	if (!*keys) return;
	(void)pthread_mutex_destroy(&(*keys)->lock);
	free((*keys)->lines);
	sodium_memzero(*keys, sizeof **keys);
	free(*keys);
	*keys = NULL;
}

static void digest_token(const struct keys *keys, const char *token,
                         unsigned char digest[crypto_generichash_BYTES]) {
	(void)crypto_generichash(digest, crypto_generichash_BYTES, (const unsigned char *)token,
	                         strlen(token), keys->secret, sizeof keys->secret);
}

static struct keys_holder holder_of(const struct key_line *line) {
	struct keys_holder holder = {.role = line->role};
	strcpy(holder.id, line->id);
	strcpy(holder.owner, line->owner);
	strcpy(holder.datasets, line->datasets);
	return holder;
}

bool keys_at(struct keys *keys, size_t at, struct keys_holder *holder) {
	(void)pthread_mutex_lock(&keys->lock);
	const bool is = at < keys->count;
	if (is) *holder = holder_of(&keys->lines[at]);
	(void)pthread_mutex_unlock(&keys->lock);
	return is;
}

bool keys_hold(struct keys *keys, const struct keys_holder *holder) {
	bool held = false;
	(void)pthread_mutex_lock(&keys->lock);
	for (size_t i = 0; i < keys->count && !held; i++)
		held = !strcmp(keys->lines[i].owner, holder->owner) &&
		       http_role_may(keys->lines[i].role, holder->role) &&
		       (!*keys->lines[i].datasets ||
		        !strcmp(keys->lines[i].datasets, holder->datasets));
	(void)pthread_mutex_unlock(&keys->lock);
	return held;
}

bool keys_recall(struct keys *keys, const char *token, struct keys_holder *holder) {
	unsigned char digest[crypto_generichash_BYTES];
	bool found = false;
	(void)pthread_mutex_lock(&keys->lock);
	digest_token(keys, token, digest);
	for (size_t i = 0; i < keys->recalled_count && !found; i++) {
		found = sodium_memcmp(digest, keys->recalled[i].digest, sizeof digest) == 0;
		if (found) *holder = holder_of(&keys->lines[keys->recalled[i].line]);
	}
	(void)pthread_mutex_unlock(&keys->lock);
	return found;
}

/* The line of the ID in "ID.SECRET"; keys->count: there is none. Under the lock. */
static size_t find_line(const struct keys *keys, const char *token) {
	const char *const dot = strchr(token, '.');
	size_t line = keys->count;
	for (size_t i = 0; i < keys->count && dot; i++)
		if (strlen(keys->lines[i].id) == (size_t)(dot - token) &&
		    !memcmp(keys->lines[i].id, token, (size_t)(dot - token)))
			line = i;
	return line;
}

/* Recalls the token, if its line still says what was checked. Under the lock. */
static bool recall_token(struct keys *keys, const char *token, const char *hash) {
	const size_t line = find_line(keys, token);
	if (line == keys->count || strcmp(keys->lines[line].hash, hash) != 0) return false;
	struct recalled *const place = &keys->recalled[keys->recalled_next];
	digest_token(keys, token, place->digest);
	place->line = line;
	keys->recalled_next = (keys->recalled_next + 1) % RECALLED;
	if (keys->recalled_count < RECALLED) keys->recalled_count++;
	return true;
}

/* Keeps a token that is not right. Under the lock. */
static void note_wrong(struct keys *keys, const char *token) {
	digest_token(keys, token, keys->wrong[keys->wrong_next]);
	keys->wrong_next = (keys->wrong_next + 1) % WRONG;
	if (keys->wrong_count < WRONG) keys->wrong_count++;
}

bool keys_wrong(struct keys *keys, const char *token) {
	unsigned char digest[crypto_generichash_BYTES];
	bool found = false;
	(void)pthread_mutex_lock(&keys->lock);
	digest_token(keys, token, digest);
	for (size_t i = 0; i < keys->wrong_count && !found; i++)
		found = sodium_memcmp(digest, keys->wrong[i], sizeof digest) == 0;
	(void)pthread_mutex_unlock(&keys->lock);
	return found;
}

bool keys_verify(struct keys *keys, const char *token, struct keys_holder *holder) {
	char hash[crypto_pwhash_STRBYTES];
	const char *const dot = strchr(token, '.'), *const secret = dot ? dot + 1 : "";
	(void)pthread_mutex_lock(&keys->lock);
	const size_t line = find_line(keys, token);
	const bool known = line < keys->count;
	const uint64_t reads = keys->reads;
	memcpy(hash, known ? keys->lines[line].hash : keys->nobody, sizeof hash);
	(void)pthread_mutex_unlock(&keys->lock);
	bool right = crypto_pwhash_str_verify(hash, secret, strlen(secret)) == 0 && known;
	(void)pthread_mutex_lock(&keys->lock);
	if (right) right = recall_token(keys, token, hash);
	else if (keys->reads == reads) note_wrong(keys, token);
	(void)pthread_mutex_unlock(&keys->lock);
	return right && keys_recall(keys, token, holder);
}

/* Whether the lines of the file leave room for one more. */
static enum cuttle_status check_new_line(const char *path, const struct key_line *line,
                                         struct cuttle_error *error) {
	struct key_line *lines;
	size_t count;
	enum cuttle_status status = load_key_lines(path, &lines, &count, error);
	if (!status && find_id(lines, count, line->id))
		status = io_fail(error, CUTTLE_USAGE,
		                 "%s has a key %s already: remove its line first", path, line->id);
	else if (!status && count == KEYS_MOST)
		status = io_fail(error, CUTTLE_USAGE, "%s has %d keys, which is the most", path,
		                 KEYS_MOST);
	free(lines);
	return status;
}

/* A key that is to be told to whoever asked for it. */
struct new_key {
	struct key_line line;
	char text[KEYS_TOKEN + 1]; /* "ID.SECRET", a line break */
	int out;
};

/* A key that nobody has seen must not be in the file: it is told before the file changes. */
static enum cuttle_status tell_key(const struct new_key *key, struct cuttle_error *error) {
	const int problem = file_write(key->out, key->text, strlen(key->text));
	return problem
	           ? io_fail(error, CUTTLE_INTERNAL, "cannot write the key: %s", strerror(problem))
	           : CUTTLE_OK;
}

/* Puts a file of text[size] and then of added[added_size] in the place of the one at path. The new
 * key, NULL for none, is told before that: where it cannot be, the old file stands. */
static enum cuttle_status put_key_file(const char *path, const char *text, size_t size,
                                       const char *added, size_t added_size,
                                       const struct new_key *key, struct cuttle_error *error) {
	struct sink sink;
	enum cuttle_status status = sink_open_private(&sink, path, error);
	if (!status) {
		status = sink_write(&sink, text, size, error);
		if (!status) status = sink_write(&sink, added, added_size, error);
		if (!status && key) status = tell_key(key, error);
		status = sink_close(&sink, status, error);
	}
	const int problem = status ? 0 : file_sync_folder(path);
	return problem
	           ? io_fail(error, CUTTLE_INTERNAL, "cannot write %s: %s", path, strerror(problem))
	           : status;
}

/* Puts a file with one more line in the place of the old one, whose last line may have no end. */
static enum cuttle_status replace_key_file(const char *path, const struct new_key *key,
                                           struct cuttle_error *error) {
	const struct key_line *const line = &key->line;
	char added[KEYS_ID + crypto_pwhash_STRBYTES + KEYS_DATASETS + 16], *text;
	size_t size;
	enum cuttle_status status = file_read_secret(path, FILE_MOST, &text, &size, error);
	if (status) return status;
	const bool open_end = size && text[size - 1] != '\n';
	const int length = snprintf(added, sizeof added, "%s%s %s %s%s%s\n", open_end ? "\n" : "",
	                            line->id, http_role_name(line->role), line->hash,
	                            *line->datasets ? " " : "", line->datasets);
	status = put_key_file(path, text, size, added, (size_t)length, key, error);
	free(text);
	return status;
}

/* Takes the lock of file_lock, for which others may have to be waited for. Returns 0 or the errno.
 */
static int wait_for_lock(const char *path, int *file) {
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	int problem = EWOULDBLOCK;
	for (unsigned i = 0; i < LOCK_TRIES && problem == EWOULDBLOCK; i++) {
		if (i) (void)nanosleep(&pause, NULL);
		problem = file_lock(path, file);
	}
	return problem;
}

/* Locks the file against others that write it. On failure *file is -1. */
static enum cuttle_status lock_key_file(const char *path, int *file, struct cuttle_error *error) {
	const int problem = wait_for_lock(path, file);
	return problem ? io_fail(error, CUTTLE_USAGE, "cannot open %s: %s", path,
	                         problem == EWOULDBLOCK ? "another process writes it"
	                                                : strerror(problem))
	               : CUTTLE_OK;
}

/* Adds a line to the file. Who else adds one meanwhile waits. */
static enum cuttle_status append_key(const char *path, const struct new_key *key,
                                     struct cuttle_error *error) {
	const bool fresh = access(path, F_OK) != 0;
	struct stat state;
	int file;
	enum cuttle_status status = lock_key_file(path, &file, error);
	if (status) return status;
	// Of a symbolic link, the file behind it is replaced.
	char *const real = realpath(path, NULL);
	status = check_new_line(path, &key->line, error);
	if (!status && !real) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = replace_key_file(real, key, error);
	// The lock has made the file.
	if (status && fresh && fstat(file, &state) == 0 && !state.st_size) (void)unlink(path);
	free(real);
	(void)close(file);
	return status;
}

/* Puts the file without the line of an ID in its place. */
static enum cuttle_status cut_key_line(const char *path, const char *id,
                                       struct cuttle_error *error) {
	char *text;
	size_t size, kept = 0;
	const size_t length = strlen(id);
	enum cuttle_status status = file_read_secret(path, FILE_MOST, &text, &size, error);
	if (status) return status;
	for (char *at = text, *next; at < text + size; at = next) {
		next = strchr(at, '\n');
		next = next ? next + 1 : text + size;
		// As the line is read: spaces before the ID are none of it.
		const char *const word = at + strspn(at, " ");
		const bool its = !strncmp(word, id, length) && word[length] == ' ';
		const size_t line = (size_t)(next - at);
		if (!its) memmove(text + kept, at, line);
		if (!its) kept += line;
	}
	status = put_key_file(path, text, kept, "", 0, NULL, error);
	free(text);
	return status;
}

enum cuttle_status keys_drop(const char *path, const char *id, bool *found,
                             struct cuttle_error *error) {
	struct key_line *lines;
	size_t count;
	int file;
	*found = false;
	enum cuttle_status status = lock_key_file(path, &file, error);
	if (status) return status;
	char *const real = realpath(path, NULL);
	// A file that no server takes stays whole: with its line gone, the key would still hold.
	status = real ? load_key_lines(real, &lines, &count, error)
	              : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		*found = find_id(lines, count, id);
		free(lines);
	}
	if (*found) status = cut_key_line(real, id, error);
	free(real);
	(void)close(file);
	return status;
}

enum cuttle_status keys_make(const char *path, const char *id, enum http_role role,
                             const char *datasets, int out, struct cuttle_error *error) {
	unsigned char bytes[SECRET_BYTES];
	char secret[sodium_base64_ENCODED_LEN(SECRET_BYTES,
	                                      sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
	struct new_key key = {.line.role = role, .out = out};
	if (!is_key_id(id))
		return io_fail(error, CUTTLE_USAGE,
		               "the ID of a key has 1 to %d of the letters a-z, digits and '-'",
		               KEYS_ID);
	if (sodium_init() < 0) return io_fail(error, CUTTLE_INTERNAL, "no entropy");
	randombytes_buf(bytes, sizeof bytes);
	(void)sodium_bin2base64(secret, sizeof secret, bytes, sizeof bytes,
	                        sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	strcpy(key.line.id, id);
	strcpy(key.line.datasets, datasets);
	(void)snprintf(key.text, sizeof key.text, "%s.%s\n", id, secret);
	enum cuttle_status status = CUTTLE_OK;
	if (!hash_secret(secret, key.line.hash))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory for the hash of a key");
	if (!status) status = append_key(path, &key, error);
	sodium_memzero(bytes, sizeof bytes);
	sodium_memzero(secret, sizeof secret);
	sodium_memzero(key.text, sizeof key.text);
	return status;
}
