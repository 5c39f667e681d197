// SPDX-License-Identifier: Apache-2.0
// catalog.c: see catalog.h.
#include "tools/catalog.h"

#include "io/disk/jsonout.h"
#include <string.h>

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

/* By enum option_kind. */
static const char *const KINDS[] = {"flag", "text", "list", "real", "count", "count", "choice"};

/* Appends the value, which it takes; false: that failed. Either may be NULL. */
static bool push_value(json_t *list, json_t *value) {
	return json_array_append_new(list, value) == 0;
}

static json_t *make_name(const char *text) {
	return text ? json_string(text) : json_null();
}

/* The names between the bars of "auto|json|off". */
static json_t *make_choices(const char *argument) {
	json_t *names = json_array();
	bool good = names != NULL;
	for (const char *at = argument; good && at;) {
		const size_t length = strcspn(at, "|");
		good = push_value(names, json_stringn(at, length));
		at = at[length] ? at + length + 1 : NULL;
	}
	if (good) return names;
	json_decref(names);
	return NULL;
}

/* The greatest value of a number, or how often a list may be given; 0 = the kind has no such. */
static uint64_t find_most(const struct option_entry *entry) {
	switch (entry->kind) {
	case OPTION_LIST:
		return entry->most ? entry->most : OPTION_MOST;
	case OPTION_SMALL:
		return entry->most ? entry->most : UINT32_MAX;
	case OPTION_COUNT:
		return entry->most;
	default:
		return 0;
	}
}

static json_t *make_option(const struct verb *verb, const struct option_entry *entry) {
	const char letter[2] = {entry->letter, 0};
	const bool counted = entry->kind == OPTION_COUNT || entry->kind == OPTION_SMALL;
	const uint64_t most = find_most(entry);
	const struct jsonout_member members[] = {
	    {"name", json_string(entry->name)},
	    {"letter", make_name(entry->letter ? letter : NULL)},
	    {"kind", json_string(KINDS[entry->kind])},
	    {"argument", make_name(entry->argument)},
	    {"choices", entry->kind == OPTION_CHOICE ? make_choices(entry->argument) : json_null()},
	    {"least", counted ? json_integer((json_int_t)entry->least) : json_null()},
	    {"most", most ? json_integer((json_int_t)most) : json_null()},
	    {"range", make_name(entry->range)},
	    {"group", entry->group ? json_integer(entry->group) : json_null()},
	    {"heading", make_name(options_heading(verb, entry->name))},
	    {"first", json_boolean(entry->first)},
	    {"help", json_string(entry->help)},
	};
	return jsonout_extend(json_object(), members, COUNT_OF(members));
}

static json_t *make_options(const struct verb *verb) {
	json_t *options = json_array();
	bool good = options != NULL;
	for (size_t i = 0; good && i < verb->option_count; i++)
		good = push_value(options, make_option(verb, &verb->options[i]));
	if (good) return options;
	json_decref(options);
	return NULL;
}

static json_t *make_actions(const struct verb *verb) {
	json_t *actions = json_array();
	bool good = actions != NULL;
	for (size_t i = 0; good && i < verb->action_count; i++)
		good = push_value(actions, json_string(verb->actions[i]));
	if (good) return actions;
	json_decref(actions);
	return NULL;
}

static json_t *make_verb(const struct verb *verb) {
	const struct jsonout_member members[] = {
	    {"name", json_string(verb->name)},       {"usage", json_string(verb->usage)},
	    {"summary", json_string(verb->summary)}, {"example", make_name(verb->example)},
	    {"another", make_name(verb->another)},   {"about", make_name(verb->about)},
	    {"actions", make_actions(verb)},         {"options", make_options(verb)},
	};
	return jsonout_extend(json_object(), members, COUNT_OF(members));
}

json_t *catalog_json(const struct manual *manual) {
	json_t *verbs = json_array(), *codes = json_array();
	bool good = verbs && codes;
	for (size_t i = 0; good && i < manual->verb_count; i++)
		good = push_value(verbs, make_verb(manual->verbs[i]));
	for (size_t i = 0; good && i < manual->exit_code_count; i++) {
		const struct jsonout_member members[] = {
		    {"code", json_integer(manual->exit_codes[i].code)},
		    {"meaning", json_string(manual->exit_codes[i].meaning)},
		};
		good = push_value(codes, jsonout_extend(json_object(), members, COUNT_OF(members)));
	}
	if (!good) {
		json_decref(verbs);
		json_decref(codes);
		return NULL;
	}
	const struct jsonout_member members[] = {
	    {"version", json_string(cuttle_version())},
	    {"about", json_string(manual->about)},
	    {"verbs", verbs},
	    {"exit_codes", codes},
	};
	return jsonout_extend(json_object(), members, COUNT_OF(members));
}
