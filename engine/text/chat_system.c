// SPDX-License-Identifier: Apache-2.0
// Walks over the template once. The tags {% if %}, {% elif %}, {% else %} and {% endif %} tell
// which branches a literal stands in. In
//     {% if m['role'] != 'system' %}{{ '<|im_start|>system\nBe kind.<|im_end|>' }}{% endif %}
// the literal is in a branch for a missing system message, and the message is "Be kind.".
// Sources: the chat_template texts of SmolLM2, Qwen1.5, Qwen2 and Qwen2.5; the Jinja template
// designer documentation.
#include "engine/text/chat_system.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DEPTH = 32 }; /* nested ifs; literals in deeper ones are passed over */

/* A piece of the template, from `at` up to but not including `end`. */
struct template_span {
	const char *at, *end;
};

/* The branch of an {% if %} in which the walk is. */
struct branch {
	bool missing;      /* it is for a missing system message */
	bool next_missing; /* an {% else %} after it is for a missing system message */
	bool tools;        /* its condition names tools */
};

struct walk {
	struct branch open[DEPTH]; /* the branches around this place, outermost first */
	size_t depth;              /* how many there are; may exceed DEPTH */
};

static bool span_begins(struct template_span span, const char *word) {
	const size_t size = strlen(word);
	return (size_t)(span.end - span.at) >= size && !memcmp(span.at, word, size);
}

static bool span_contains(struct template_span span, const char *word) {
	return memmem(span.at, (size_t)(span.end - span.at), word, strlen(word)) != NULL;
}

/* Reads from a condition what its branch is for. A condition that is not understood makes a branch
 * for nothing. */
static struct branch read_condition(struct template_span tag) {
	const bool system = span_contains(tag, "'system'") || span_contains(tag, "\"system\"");
	const bool unequal = span_contains(tag, "!="), equal = span_contains(tag, "=="),
	           simple = unequal != equal && !span_contains(tag, " not ");
	return (struct branch){.missing = system && simple && unequal,
	                       .next_missing = system && simple && equal,
	                       .tools = span_contains(tag, "tool")};
}

/* Changes the open branches as the tag demands. `tag` is the text between {% and %}. */
static void enter_tag(struct walk *walk, struct template_span tag) {
	while (tag.at < tag.end && strchr("-+ \t\r\n", *tag.at)) tag.at++;
	struct branch *last =
	    walk->depth && walk->depth <= DEPTH ? &walk->open[walk->depth - 1] : NULL;
	if (span_begins(tag, "if")) {
		if (walk->depth < DEPTH) walk->open[walk->depth] = read_condition(tag);
		walk->depth++;
	} else if (span_begins(tag, "endif")) {
		walk->depth -= walk->depth > 0;
	} else if (last && span_begins(tag, "elif")) {
		*last = read_condition(tag);
	} else if (last && span_begins(tag, "else")) {
		*last = (struct branch){.missing = last->next_missing};
	}
}

/* Whether a literal here is for conversations without system message and without tools. */
static bool is_default(const struct walk *walk) {
	if (!walk->depth || walk->depth > DEPTH || !walk->open[walk->depth - 1].missing)
		return false;
	for (size_t i = 0; i < walk->depth; i++)
		if (walk->open[i].tools) return false;
	return true;
}

/* Takes one character of a literal that ends with `quote`, or of the text outside all braces (quote
 * 0). Returns 0 for a character that no message has: an end, a brace, an unknown escape. */
static char read_character(struct template_span *rest, char quote) {
	const char c = *rest->at++;
	if (!quote) return c == '{' || c == '}' ? 0 : c;
	if (c == quote) return 0;
	if (c != '\\') return c;
	if (rest->at == rest->end) return 0;
	const char escaped = *rest->at++;
	return escaped == 'n'             ? '\n'
	       : escaped == 't'           ? '\t'
	       : strchr("\\'\"", escaped) ? escaped
	                                  : 0;
}

/* Reads the message; `rest` begins after "<|im_start|>system". False when there is none. */
static bool read_message(struct template_span rest, char quote, char message[CHAT_SYSTEM]) {
	static const char stop[] = "<|im_end|>";
	size_t count = 0;
	if (rest.at == rest.end || read_character(&rest, quote) != '\n') return false;
	while (rest.at < rest.end && !span_begins(rest, stop)) {
		const char c = read_character(&rest, quote);
		if (!c || count + 1 == CHAT_SYSTEM) return false;
		message[count++] = c;
	}
	message[count] = 0;
	return rest.at < rest.end && count && utf8_valid(message, count);
}

void chat_default_system(const char *text, size_t size, char message[CHAT_SYSTEM]) {
	static const char start[] = "<|im_start|>system";
	struct walk walk = {0};
	struct template_span rest = {text, text + size};
	while (size && rest.at < rest.end) {
		if (span_begins(rest, "{%")) {
			rest.at += 2;
			const char *end = memmem(rest.at, (size_t)(rest.end - rest.at), "%}", 2);
			if (!end) break;
			enter_tag(&walk, (struct template_span){rest.at, end});
			rest.at = end + 2;
		} else if (span_begins(rest, start)) {
			const char before = rest.at > text ? rest.at[-1] : 0;
			rest.at += strlen(start);
			if (is_default(&walk) &&
			    read_message(rest, before == '\'' || before == '"' ? before : 0,
			                 message))
				return;
		} else {
			rest.at++;
		}
	}
	message[0] = 0;
}
