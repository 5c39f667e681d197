// SPDX-License-Identifier: Apache-2.0
// gen_edits FILE... makes edits of receipts, one at a time, and asks workflow/report/verification
// of each. It ends with 1, and names the edits, where one is accepted. Each member, at any depth,
// is left out, made null, another type, below 0, empty, or a list far too long. A receipt may lack
// some members, and some may be null: the tables below say which.
#include "io/receipts/receipt.h"
#include "workflow/report/verification.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_ROOM = 256, MANY = 5000 };

static const char *const EDITS[] = {"left out", "null", "another type", "below 0", "empty", "long"};
enum { OUT, NONE, TYPE, BELOW, EMPTY, LONG, EDIT_COUNT };

/* Edits that leave a receipt as it could be: it claims less, is of a version that did not say it,
 * or says what nobody can check. */
static const struct {
	int edit;
	const char *path;
} ALLOWED[] = {
    {OUT, "center"},
    {OUT, "filters"},
    {OUT, "filters.dropped.duplicates"},
    {OUT, "filters.dropped.loops"},
    {OUT, "marks_chosen"},
    {OUT, "rounds"},
    {OUT, "stop"},
    {OUT, "stop.-"},
    {EMPTY, "stop"},
    {NONE, "dataset"},
    {TYPE, "dataset"}, // null: then any name is one
    {NONE, "unit_key"},
    {NONE, "ledger"},
    {EMPTY, "model_name"},
    {EMPTY, "placeholder"},
    {EMPTY, "tagger"},
    {EMPTY, "types_left"},
    {OUT, "types_left.-"},
    {TYPE, "unit_key"},
    {NONE, "epsilon_exact"},
    {BELOW, "histogram.counts.-"},
    {EMPTY, "categories.-.values.*"},
    {EMPTY, "command_sha256"},
    {EMPTY, "output_sha256"},
    {EMPTY, "isa"},
};
/* What a receipt of an expansion repeats of the one before, which alone can show it. */
static const char *const REPEATED[] = {"accountant", "adjacency", "delta",        "epsilon",
                                       "rho",        "unit",      "unit_limited", "unit_weight"};

static char scratch[] = "/tmp/cuttle-edits-XXXXXX";
static size_t tried, accepted;

/* A new value in place of `value`; NULL: there is no such edit of it. */
static json_t *edit_value(const json_t *value, int edit) {
	switch (edit) {
	case NONE:
		return json_is_null(value) ? NULL : json_null();
	case TYPE:
		if (json_is_string(value)) return json_integer(7);
		return json_is_array(value) ? json_object() : json_string("x");
	case BELOW:
		if (json_is_integer(value)) return json_integer(-1);
		return json_is_real(value) ? json_real(-1) : NULL;
	case EMPTY:
		if (json_is_string(value) && *json_string_value(value)) return json_string("");
		if (json_is_array(value) && json_array_size(value)) return json_array();
		return json_is_object(value) ? json_object() : NULL;
	case LONG: {
		if (!json_is_array(value)) return NULL;
		json_t *list = json_deep_copy(value),
		       *first = json_array_size(value) ? json_array_get(value, 0) : json_null();
		while (json_array_size(list) < MANY) json_array_append(list, first);
		return list;
	}
	default:
		return NULL;
	}
}

static bool is_allowed(const struct verification *v, const char *path, int edit) {
	for (size_t i = 0; i < sizeof ALLOWED / sizeof *ALLOWED; i++)
		if (ALLOWED[i].edit == edit && !fnmatch(ALLOWED[i].path, path, FNM_NOESCAPE))
			return true;
	bool repeated = false;
	for (size_t i = 0; i < sizeof REPEATED / sizeof *REPEATED; i++)
		repeated |= !strcmp(REPEATED[i], path);
	return repeated && edit != OUT && v->evidence.kind == &EXPAND_KIND;
}

/* Asks of the receipt as it is now. */
static void ask(json_t *root, const char *path, int edit) {
	size_t size;
	struct cuttle_error error = {{0}};
	struct verification v;
	char *text = receipt_canonical(json_deep_copy(root), &size);
	FILE *file = fopen(scratch, "w");
	if (!text || !file || fwrite(text, 1, size, file) != size || fclose(file)) abort();
	free(text);
	const enum cuttle_status status = verification_open(&v, scratch, NULL, &error);
	const bool allowed = !status && is_allowed(&v, path, edit);
	verification_close(&v);
	tried++;
	if (status == CUTTLE_INPUT || status == CUTTLE_LEDGER || allowed) return;
	accepted++;
	printf("%s %s: status %d %s\n", path, EDITS[edit], status, error.message);
}

static void edit_members(json_t *root, json_t *within, const char *before);

/* All edits of one member: `key` of an object, or element `index` of a list. */
static void edit_member(json_t *root, json_t *within, const char *key, size_t index,
                        const char *path) {
	json_t *value =
	    json_incref(key ? json_object_get(within, key) : json_array_get(within, index));
	for (int edit = OUT; edit < EDIT_COUNT; edit++) {
		json_t *other = edit == OUT ? NULL : edit_value(value, edit);
		if (edit != OUT && (!other || json_equal(other, value))) {
			json_decref(other);
			continue;
		}
		if (key && other) json_object_set_new(within, key, other);
		else if (key) json_object_del(within, key);
		else if (other) json_array_set_new(within, index, other);
		else json_array_remove(within, index);
		ask(root, path, edit);
		if (key) json_object_set(within, key, value);
		else if (other) json_array_set(within, index, value);
		else json_array_insert(within, index, value);
	}
	edit_members(root, value, path);
	json_decref(value);
}

static void edit_members(json_t *root, json_t *within, const char *before) {
	char path[PATH_ROOM];
	const char *dot = *before ? "." : "";
	if (json_is_object(within)) {
		const size_t count = json_object_size(within);
		const char **keys = calloc(count + 1, sizeof *keys), *key;
		json_t *value;
		size_t at = 0;
		json_object_foreach(within, key, value) keys[at++] = strdup(key);
		for (size_t i = 0; i < count; i++) {
			(void)snprintf(path, sizeof path, "%s%s%s", before, dot, keys[i]);
			edit_member(root, within, keys[i], 0, path);
			free((void *)(uintptr_t)keys[i]);
		}
		free(keys);
		json_object_set_new(within, "zzz", json_integer(1));
		(void)snprintf(path, sizeof path, "%s%szzz", before, dot);
		ask(root, path, TYPE);
		json_object_del(within, "zzz");
	}
	for (size_t i = 0; json_is_array(within) && i < json_array_size(within); i++) {
		(void)snprintf(path, sizeof path, "%s.-", before);
		edit_member(root, within, NULL, i, path);
	}
}

int main(int count, char **arguments) {
	if (mkstemp(scratch) < 0) return 2;
	for (int i = 1; i < count; i++) {
		struct verification v;
		struct cuttle_error error = {{0}};
		const size_t before = accepted;
		json_t *root = json_load_file(arguments[i], 0, NULL);
		const bool good = root && !verification_open(&v, arguments[i], NULL, &error);
		if (!good) printf("%s: %s\n", arguments[i], error.message);
		if (good) verification_close(&v);
		accepted += !good;
		if (good) edit_members(root, root, "");
		if (accepted > before) printf("in %s\n", arguments[i]);
		json_decref(root);
	}
	(void)remove(scratch);
	printf("%zu edits, %zu accepted\n", tried, accepted);
	return accepted > 0;
}
