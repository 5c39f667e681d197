// SPDX-License-Identifier: Apache-2.0
// The entries that the list of jobs keeps are read first: a server that runs meanwhile may only add
// to the file, and what was on the disk then must be in it.
#include "serve/jobs/trail_check.h"

#include "io/disk/fail.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An entry that the list has. */
struct kept {
	uint64_t number;
	bool written;
	char hash[HASH_TEXT];
	char *line; /* [size] and a NUL; owned */
	size_t size;
};

struct comparison {
	const char *path;
	const char *wanted; /* NULL = none */
	bool found;         /* an entry has that hash */
	struct kept *kept;  /* [count] owned */
	size_t count;
};

static enum cuttle_status keep_entry(void *user, const struct store_entry *entry) {
	struct comparison *c = user;
	struct kept *grown = reallocarray(c->kept, c->count + 1, sizeof *grown);
	if (!grown) return CUTTLE_NOMEM;
	c->kept = grown;
	struct kept *kept = &grown[c->count];
	*kept = (struct kept){.number = (uint64_t)entry->number,
	                      .written = entry->written,
	                      .line = strdup(entry->line),
	                      .size = strlen(entry->line)};
	if (!kept->line) return CUTTLE_NOMEM;
	(void)trail_hash(kept->line, kept->size, kept->hash);
	c->count++;
	return CUTTLE_OK;
}

static enum cuttle_status compare_entry(void *user, const struct trail_head *head,
                                        struct cuttle_error *error) {
	struct comparison *c = user;
	c->found = c->found || (c->wanted && !strcmp(c->wanted, head->hash));
	for (size_t i = 0; i < c->count; i++)
		if (c->kept[i].number == head->number && strcmp(c->kept[i].hash, head->hash) != 0)
			return io_fail(error, CUTTLE_LEDGER,
			               "%s: entry %" PRIu64
			               " is another one than the server wrote: the trail was "
			               "written anew",
			               c->path, head->number);
	return CUTTLE_OK;
}

/* The entries behind the file's last: each must wait to be written, and follow. */
static enum cuttle_status take_waiting(const struct comparison *c, struct trail_check *check,
                                       struct cuttle_error *error) {
	const uint64_t last = check->end.head.number;
	const off_t size = check->end.size;
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < c->count && !status; i++) {
		const struct kept *kept = &c->kept[i];
		if (kept->number <= last) continue;
		if (kept->written || kept->number != check->end.head.number + 1)
			return io_fail(error, CUTTLE_LEDGER,
			               "%s: it ends with entry %" PRIu64
			               ", and the server has written entry %" PRIu64
			               ": it was cut, or an older copy was put back",
			               c->path, last,
			               kept->written ? kept->number : kept->number - 1);
		char *grown = realloc(check->waiting, check->waiting_size + kept->size + 1);
		if (!grown) return io_fail(error, CUTTLE_NOMEM, "out of memory");
		memcpy(grown + check->waiting_size, kept->line, kept->size + 1);
		check->waiting = grown;
		check->waiting_size += kept->size;
		check->waiting_count++;
		status = trail_take(&check->end, c->path, kept->line, kept->size, error);
	}
	check->end.size = size;
	return status;
}

/* Half a line may be what a kill left of the entry that comes next. */
static enum cuttle_status judge_torn(const struct comparison *c, const struct trail_check *check,
                                     struct cuttle_error *error) {
	const struct trail_end *end = &check->end;
	if (!end->torn || (check->waiting && end->torn_size < check->waiting_size &&
	                   !memcmp(end->torn, check->waiting, end->torn_size)))
		return CUTTLE_OK;
	return io_fail(error, CUTTLE_LEDGER,
	               "%s: its last line, behind entry %" PRIu64 ", is no whole one", c->path,
	               end->head.number - check->waiting_count);
}

static enum cuttle_status find_last_entry(void *user, const struct store_entry *entry) {
	*(uint64_t *)user = (uint64_t)entry->number;
	return CUTTLE_OK;
}

/* The list has each entry before the file does. So the file may have more than was read of the list
 * only where a server has gone on meanwhile: then the list has them now. */
static enum cuttle_status judge_last(const struct comparison *c, const char *list,
                                     const struct trail_check *check, struct cuttle_error *error) {
	uint64_t last = c->count ? c->kept[c->count - 1].number : check->end.head.number;
	enum cuttle_status status = CUTTLE_OK;
	if (last < check->end.head.number && list)
		status = store_trail_peek(list, find_last_entry, &last, error);
	if (status || last >= check->end.head.number) return status;
	return io_fail(error, CUTTLE_LEDGER,
	               "%s: the server has written no entry behind %" PRIu64
	               ": somebody else has, or an older list of jobs was put back",
	               c->path, last);
}

static enum cuttle_status judge_trail(const struct comparison *c, const char *list,
                                      struct trail_check *check, struct cuttle_error *error) {
	enum cuttle_status status = take_waiting(c, check, error);
	if (!status) status = judge_torn(c, check, error);
	if (!status) status = judge_last(c, list, check, error);
	if (status || !c->wanted || c->found) return status;
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->kept[i].hash, c->wanted)) return CUTTLE_OK;
	return io_fail(error, CUTTLE_LEDGER,
	               "%s: no entry has the hash %.12s...: the trail was cut or written anew",
	               c->path, c->wanted);
}

enum cuttle_status trail_check(const char *trail, const char *list, struct store *store,
                               const char *wanted, struct trail_check *check,
                               struct cuttle_error *error) {
	struct comparison c = {.path = trail, .wanted = wanted};
	*check = (struct trail_check){0};
	enum cuttle_status status = CUTTLE_OK;
	if (store) status = store_trail_walk(store, keep_entry, &c, error);
	else if (list) status = store_trail_peek(list, keep_entry, &c, error);
	if (status == CUTTLE_NOMEM) (void)io_fail(error, status, "out of memory");
	if (!status) status = trail_walk(trail, compare_entry, &c, &check->end, error);
	if (!status) status = judge_trail(&c, list, check, error);
	check->known = c.count > 0;
	for (size_t i = 0; i < c.count; i++) free(c.kept[i].line);
	free(c.kept);
	if (status) trail_check_free(check);
	return status;
}

void trail_check_free(struct trail_check *check) {
	free(check->end.torn);
	free(check->waiting);
	*check = (struct trail_check){0};
}
