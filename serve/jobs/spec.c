// SPDX-License-Identifier: Apache-2.0
// The list of members that a request may have. Whether a number makes sense is not asked here: the
// command itself says so, when it is asked what the job would cost (serve/jobs/jobs_quote.c).
#include "serve/jobs/spec.h"

#include "serve/jobs/runner.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum spec_kind {
	SPEC_REAL,   /* a number: --temperature 0.8 */
	SPEC_COUNT,  /* a whole number that is not negative: --num 100 */
	SPEC_FLAG,   /* true: --complete; false: not given */
	SPEC_STRING, /* a text: --kind "discharge note" */
	SPEC_FIELD,  /* the name of a field: --unit-key patient */
	SPEC_ONE,    /* one of the names in `names` */
	SPEC_ALWAYS, /* the one name in `names`, for which the command has no option */
	SPEC_MANY,   /* one of them or several with a comma between */
	SPEC_STOPS,  /* a text or a list of texts, each --stop of its own */
	SPEC_GBNF,   /* the text of a grammar, which is a file to the command: --grammar FILE */
	SPEC_SCHEMA, /* a JSON Schema, as its text or itself: --schema FILE */
	SPEC_GROUPS  /* a list of names of types with -e: ["PERSON:2"] is --group PERSON:2 */
};

struct spec_member {
	const char *name;
	bool generate; /* which types of jobs have it */
	bool sanitize;
	enum spec_kind kind;
	const char *names; /* of SPEC_ONE and SPEC_MANY, with | between */
};

/* Members of "plan". No member names a file or a command, says where things go, or is about the
 * machine. None is a seed, or a method that promises less. None needs the input twice, as lots and
 * private categories do: references come by a pipe. */
// clang-format off
static const struct spec_member PLAN[] = {
	{"num", true, false, SPEC_COUNT, NULL},
	{"batch_size", true, false, SPEC_COUNT, NULL},
	{"shots", true, false, SPEC_COUNT, NULL},
	{"epsilon", true, true, SPEC_REAL, NULL},
	{"clip", true, false, SPEC_REAL, NULL},
	{"divergence", false, true, SPEC_REAL, NULL},
	{"alpha", false, true, SPEC_COUNT, NULL},
	{"delta", true, true, SPEC_REAL, NULL},
	{"accountant", true, false, SPEC_ONE, "zcdp|exact"},
	{"charge", true, false, SPEC_ONE, "epsilon|rho"},
	{"mix", false, true, SPEC_ONE, "all|average|capped"},
	{"group", false, true, SPEC_GROUPS, NULL},
	{"leave", false, true, SPEC_GROUPS, NULL},
	{"hide_other", false, true, SPEC_FLAG, NULL},
	{"max_tokens", true, true, SPEC_COUNT, NULL},
	{"max_length", false, true, SPEC_COUNT, NULL},
	{"temperature", true, true, SPEC_REAL, NULL},
	{"top_k", true, true, SPEC_COUNT, NULL},
	{"center", true, false, SPEC_ONE, "median|none"},
	{"gain", true, false, SPEC_REAL, NULL},
	{"token_bank", true, false, SPEC_FLAG, NULL},
	{"public_when", true, true, SPEC_REAL, NULL},
	{"complete", true, true, SPEC_FLAG, NULL},
	{"free_tokens", true, true, SPEC_COUNT, NULL},
	{"stop", true, true, SPEC_STOPS, NULL},
	{"trim", true, false, SPEC_ONE, "sentence|none"},
	{"drop", true, false, SPEC_MANY, "duplicates|loops"},
	{"grammar", true, false, SPEC_GBNF, NULL},
	{"schema", true, false, SPEC_SCHEMA, NULL},
	{"rounds", true, false, SPEC_COUNT, NULL},
	{"kind", true, false, SPEC_STRING, NULL},
	{"template", true, true, SPEC_ONE, "continue|instruct"},
	{"chat_format", true, true, SPEC_FIELD, NULL},
	{"system", true, true, SPEC_STRING, NULL},
	{"placeholder", false, true, SPEC_STRING, NULL},
	{"prefill", false, true, SPEC_STRING, NULL},
	{"paper", false, true, SPEC_FLAG, NULL},
	{"sweep", false, true, SPEC_FLAG, NULL},
	{"no_sweep", false, true, SPEC_FLAG, NULL},
	{"tagger", false, true, SPEC_ONE, "rules|none"},
	{"unit_key", true, true, SPEC_FIELD, NULL},
	{"one_per_unit", true, false, SPEC_FLAG, NULL},
	{"records_per_unit", true, false, SPEC_COUNT, NULL},
	{"ctx_size", true, true, SPEC_COUNT, NULL},
};
/* Members of "references": what the upload will be. */
static const struct spec_member REFERENCES[] = {
	{"format", true, false, SPEC_ONE, "jsonl|csv"},
	{"format", false, true, SPEC_ALWAYS, "jsonl"},
	{"text_field", true, true, SPEC_FIELD, NULL},
	{"id_field", false, true, SPEC_FIELD, NULL},
	{"spans_field", false, true, SPEC_FIELD, NULL},
	{"spans_format", false, true, SPEC_ONE, "auto|presidio|tab"},
	{"offsets", false, true, SPEC_ONE, "codepoints|bytes|utf16"},
	{"leave_identifier", false, true, SPEC_FIELD, NULL},
};
// clang-format on

/* Says what is wrong, for "return refuse_member(...)". */
static bool __attribute__((format(printf, 4, 5)))
refuse_member(struct spec_fault *fault, const char *code, const char *param, const char *format,
              ...) {
	va_list arguments;
	fault->code = code;
	(void)snprintf(fault->param, sizeof fault->param, "%.63s", param);
	va_start(arguments, format);
	(void)vsnprintf(fault->message, sizeof fault->message, format, arguments);
	va_end(arguments);
	return false;
}

static bool add_spec_word(struct spec *spec, const char *word) {
	if (spec->count == SPEC_WORDS) return false;
	spec->words[spec->count] = strdup(word);
	return spec->words[spec->count] && ++spec->count;
}

/* Adds --NAME, with - for _. */
static bool add_option(struct spec *spec, const char *name) {
	char option[64];
	(void)snprintf(option, sizeof option, "--%s",
	               !strcmp(name, "format") ? "input-format" : name);
	for (char *at = option; *at; at++)
		if (*at == '_') *at = '-';
	return add_spec_word(spec, option);
}

/* A text of 1 to `most` bytes without control characters but white space, none with `plain`. */
static bool is_good_text(const json_t *value, size_t most, bool plain) {
	const char *text = json_string_value(value);
	if (!text || strlen(text) != json_string_length(value) || strlen(text) > most) return false;
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' && (plain || !strchr("\t\n\r", *at))) return false;
	return !plain || *text;
}

/* Whether text[size] is one of the names. */
static bool is_one_of(const char *names, const char *text, size_t size) {
	for (const char *at = names; at; at = strchr(at, '|')) {
		if (*at == '|') at++;
		if (strcspn(at, "|") == size && !strncmp(at, text, size)) return true;
	}
	return false;
}

/* Whether each part of the text, with commas between, is one of the names. */
static bool are_all_of(const char *names, const char *text) {
	for (;;) {
		const size_t size = strcspn(text, ",");
		if (!is_one_of(names, text, size)) return false;
		if (!text[size]) return true;
		text += size + 1;
	}
}

/* A list of groups: each is a word of its own behind the option. Its letters are those that types,
 * names and numbers have; a word that begins with - could be another option. */
static bool add_groups(struct spec *spec, const char *name, const json_t *list, const char **why) {
	static const char letters[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_,=:.+-";
	*why = "must be a list of 1 to 16 texts such as \"PERSON:2\"";
	if (!json_is_array(list) || !json_array_size(list) || json_array_size(list) > 16)
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *text = json_string_value(item);
		if (!is_good_text(item, SPEC_NAME, true) || *text == '-' ||
		    text[strspn(text, letters)])
			return false;
		if (!add_option(spec, name) || !add_spec_word(spec, text)) return false;
	}
	return true;
}

/* A text, or a list of texts: each is the value of an option of its own. */
static bool add_stops(struct spec *spec, const char *name, const json_t *value, const char **why) {
	const size_t count = json_is_array(value) ? json_array_size(value) : 1;
	*why = "must be a text of 1 to 256 bytes, or a list of 1 to 16";
	for (size_t i = 0; i < count && i < 16; i++) {
		const json_t *word = json_is_array(value) ? json_array_get(value, i) : value;
		if (!is_good_text(word, 256, false) || !json_string_length(word) ||
		    !add_option(spec, name) || !add_spec_word(spec, json_string_value(word)))
			return false;
	}
	return count && count <= 16;
}

/* Keeps a text for the command to read as a file. Of an object it is the compact JSON. */
static bool add_file(struct spec *spec, const struct spec_member *member, const json_t *value,
                     const char **why) {
	if (spec->file) {
		*why = "excludes the other of grammar and schema: leave out one";
		return false;
	}
	*why = member->kind == SPEC_GBNF
	           ? "must be a text in GBNF of 1 byte to 1 MiB"
	           : "must be a JSON Schema of at most 512 KiB, itself or as a text";
	if (json_is_string(value)) {
		spec->file_size = json_string_length(value);
		spec->file = malloc(spec->file_size + 1);
		if (spec->file) memcpy(spec->file, json_string_value(value), spec->file_size + 1);
	} else if (json_is_object(value) && member->kind == SPEC_SCHEMA) {
		spec->file = json_dumps(value, JSON_COMPACT);
		spec->file_size = spec->file ? strlen(spec->file) : 0;
	}
	return spec->file && spec->file_size && spec->file_size <= SPEC_FILE &&
	       add_option(spec, member->name) && add_spec_word(spec, RUNNER_FILE);
}

/* Adds a value behind its option. False: *why says what it must be. */
static bool add_value(struct spec *spec, const struct spec_member *member, const json_t *value,
                      const char **why) {
	char number[48];
	const char *word = number;
	switch (member->kind) {
	case SPEC_REAL:
		*why = "must be a number";
		if (!json_is_number(value)) return false;
		(void)snprintf(number, sizeof number, "%.17g", json_number_value(value));
		break;
	case SPEC_COUNT:
		*why = "must be a whole number, 0 or more";
		if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
		(void)snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT,
		               json_integer_value(value));
		break;
	case SPEC_FLAG:
		*why = "must be true or false";
		if (!json_is_boolean(value)) return false;
		return json_is_false(value) || add_option(spec, member->name);
	case SPEC_STRING:
		*why = "must be a text of at most 4096 bytes";
		if (!is_good_text(value, SPEC_TEXT, false)) return false;
		word = json_string_value(value);
		break;
	case SPEC_FIELD:
		*why = "must be a name of at most 128 bytes";
		if (!is_good_text(value, SPEC_NAME, true)) return false;
		word = json_string_value(value);
		break;
	case SPEC_ONE:
	case SPEC_MANY:
		*why = member->names;
		if (!is_good_text(value, SPEC_NAME, true)) return false;
		word = json_string_value(value);
		if (member->kind == SPEC_ONE ? !is_one_of(member->names, word, strlen(word))
		                             : !are_all_of(member->names, word))
			return false;
		break;
	case SPEC_ALWAYS:
		*why = member->names;
		return json_is_string(value) && !strcmp(json_string_value(value), member->names);
	case SPEC_STOPS:
		return add_stops(spec, member->name, value, why);
	case SPEC_GBNF:
	case SPEC_SCHEMA:
		return add_file(spec, member, value, why);
	case SPEC_GROUPS:
		return add_groups(spec, member->name, value, why);
	}
	return add_option(spec, member->name) && add_spec_word(spec, word);
}

/* Adds all members of an object, which may be absent. */
static bool add_members(struct spec *spec, const char *where, const json_t *object,
                        const struct spec_member *table, size_t count, struct spec_fault *fault) {
	const bool generate = !strcmp(spec->type, "generate");
	const char *name;
	json_t *value;
	if (object && !json_is_object(object))
		return refuse_member(fault, "invalid_value", where, "%s must be an object", where);
	json_object_foreach((json_t *)(uintptr_t)object, name, value) {
		const struct spec_member *member = NULL;
		char param[64];
		const char *why = "";
		(void)snprintf(param, sizeof param, "%s.%.48s", where, name);
		for (size_t i = 0; i < count && !member; i++)
			if ((generate ? table[i].generate : table[i].sanitize) &&
			    !strcmp(table[i].name, name))
				member = &table[i];
		if (!member)
			return refuse_member(fault, "unsupported_parameter", param,
			                     "%s: a job of type %s has no such member", param,
			                     spec->type);
		if (!add_value(spec, member, value, &why))
			return refuse_member(fault, "invalid_value", param, "%s: %s%s", param,
			                     member->names ? "must be one of " : "", why);
	}
	return true;
}

/* Members of the request itself. Whatever has another name is a mistake. */
static bool check_members(const json_t *request, struct spec_fault *fault) {
	static const char names[] = "type|dataset|plan|references|dry_run";
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)request, name, value) {
		if (!is_one_of(names, name, strlen(name)))
			return refuse_member(fault, "unsupported_parameter", name,
			                     "%.48s: a job has no such member", name);
	}
	return true;
}

static bool read_spec_request(const json_t *request, struct spec *spec, struct spec_fault *fault) {
	const json_t *type = json_object_get(request, "type"),
	             *dataset = json_object_get(request, "dataset"),
	             *plan = json_object_get(request, "plan"),
	             *dry_run = json_object_get(request, "dry_run");
	if (!check_members(request, fault)) return false;
	if (!is_good_text(type, SPEC_NAME, true) ||
	    !is_one_of("generate|sanitize", json_string_value(type), json_string_length(type)))
		return refuse_member(fault, "invalid_value", "type",
		                     "type: must be one of generate|sanitize");
	if (!is_good_text(dataset, SPEC_NAME, true))
		return refuse_member(fault, "invalid_value", "dataset",
		                     "dataset: must be a name of at most 128 bytes");
	if (dry_run && !json_is_boolean(dry_run))
		return refuse_member(fault, "invalid_value", "dry_run",
		                     "dry_run: must be true or false");
	spec->type = json_string_value(type);
	spec->dataset = json_string_value(dataset);
	spec->dry_run = json_is_true(dry_run);
	const char *key = json_string_value(json_object_get(plan, "unit_key"));
	spec->unit_key = key ? key : "";
	if (!add_spec_word(spec, "--dataset") || !add_spec_word(spec, spec->dataset))
		return refuse_member(fault, "invalid_value", "dataset", "out of memory");
	return add_members(spec, "plan", plan, PLAN, sizeof PLAN / sizeof *PLAN, fault) &&
	       add_members(spec, "references", json_object_get(request, "references"), REFERENCES,
	                   sizeof REFERENCES / sizeof *REFERENCES, fault);
}

bool spec_read(const json_t *request, struct spec *spec, struct spec_fault *fault) {
	*spec = (struct spec){0};
	const bool good = read_spec_request(request, spec, fault);
	if (!good) spec_free(spec);
	return good;
}

void spec_free(struct spec *spec) {
	for (size_t i = 0; i < spec->count; i++) free(spec->words[i]);
	free(spec->file);
	*spec = (struct spec){0};
}
