// SPDX-License-Identifier: Apache-2.0
// manual.c: see manual.h. Pages are in mdoc (mdoc(7)): a line that begins with a dot is a macro.
// Completions are one function in bash, one in zsh, and a line an option in fish.
#include "tools/manual.h"

#include <ctype.h>
#include <string.h>

/* A page says when it was written: the day of this version. */
#define MANUAL_DATE "November 25, 2026"

/* Most columns of a text line in a page. */
enum { PAGE_WIDTH = 78 };

/* ---- pages ----------------------------------------------------------------------------------- */

/* Prints one word so that nothing in it is markup. A backslash begins an escape, and a hyphen may
 * become another character. A dot may begin a macro, and after a macro so may a word such as Ar. */
static void print_page_word(const char *word, size_t length, FILE *file) {
	if (strchr(".'", word[0]) || isupper((unsigned char)word[0])) fputs("\\&", file);
	for (size_t i = 0; i < length; i++) {
		if (word[i] == '\\') fputs("\\e", file);
		else if (word[i] == '-') fputs("\\-", file);
		else if (word[i] == '"') fputs("\\(dq", file);
		else fputc(word[i], file);
	}
}

/* Whether a word ends a sentence. Pages begin each on a line of its own. */
static bool ends_sentence(const char *word, size_t length) {
	while (length > 1 && strchr("\"')", word[length - 1])) length--;
	return strchr(".?!", word[length - 1]) != NULL;
}

/* Prints text in short lines. An empty line in it begins a paragraph. */
static void print_page_text(const char *text, FILE *file) {
	size_t at = 0; /* columns used in this line */
	for (;;) {
		const size_t blank = strspn(text, " \n"), word = strcspn(text + blank, " \n");
		const bool paragraph = blank >= 2 && text[0] == '\n' && text[1] == '\n';
		text += blank;
		if (at > 0 && (word == 0 || paragraph || at + 1 + word > PAGE_WIDTH)) {
			fputc('\n', file);
			at = 0;
		}
		if (word == 0) return;
		if (paragraph) fprintf(file, ".Pp\n");
		if (at > 0) at += (size_t)fprintf(file, " ");
		print_page_word(text, word, file);
		at += word;
		if (ends_sentence(text, word)) at = PAGE_WIDTH;
		text += word;
	}
}

static void print_page_head(const char *name, const char *summary, FILE *file) {
	fprintf(file, ".Dd " MANUAL_DATE "\n.Dt ");
	for (const char *c = name; *c; c++) fputc(toupper((unsigned char)*c), file);
	fprintf(file, " 1\n.Os\n.Sh NAME\n.Nm %s\n.Nd ", name);
	fprintf(file, "%s\n", summary);
}

static void print_page_exits(const struct manual *manual, FILE *file) {
	fprintf(file, ".Sh EXIT STATUS\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < manual->exit_code_count; i++) {
		fprintf(file, ".It %d\n", manual->exit_codes[i].code);
		print_page_text(manual->exit_codes[i].meaning, file);
	}
	fprintf(file, ".El\n");
}

static void print_page_environment(FILE *file) {
	fprintf(file, ".Sh ENVIRONMENT\n");
	print_page_text("Each long option can also be set in the environment: its name in "
	                "capitals behind CUTTLE_, with _ for -. The command line wins. "
	                "Another name that begins with CUTTLE_ is refused. "
	                "SOURCE_DATE_EPOCH, seconds since 1970, says which day a receipt "
	                "has. CUTTLE_API_KEY is the key of cuttle infer. CUTTLE_END_FD is for "
	                "callers to which an exit code can get lost: the number of an open pipe or "
	                "socket, from 3 on. The command writes its exit code there as the last "
	                "thing it does.",
	                file);
}

/* A command line, as it is typed. */
static void print_page_example(const struct verb *verb, const char *example, FILE *file) {
	if (!example) return;
	fprintf(file, ".Bd -literal -offset indent\n");
	fprintf(file, "cuttle %s ", verb->name);
	print_page_word(example, strlen(example), file);
	fprintf(file, "\n.Ed\n");
}

static void print_page_options(const struct verb *verb, FILE *file) {
	bool open = false;
	size_t count;
	const struct option_entry *listed = options_listed(verb, &count);
	for (size_t i = 0; i < count; i++) {
		const struct option_entry *entry = &listed[i];
		const char *heading = options_heading(verb, entry->name);
		if (heading && open) fprintf(file, ".El\n");
		if (heading) fprintf(file, ".Ss %s\n", heading);
		if (heading || !open) fprintf(file, ".Bl -tag -width Ds\n");
		open = true;
		fprintf(file, ".It ");
		if (entry->letter) fprintf(file, "Fl %c , ", entry->letter);
		fprintf(file, "Fl ");
		print_page_word("-", 1, file);
		print_page_word(entry->name, strlen(entry->name), file);
		if (entry->argument) {
			fprintf(file, " Ar ");
			print_page_word(entry->argument, strlen(entry->argument), file);
		}
		fputc('\n', file);
		print_page_text(entry->help, file);
	}
	if (open) fprintf(file, ".El\n");
}

static void print_verb_page(const struct manual *manual, const struct verb *verb, FILE *file) {
	char name[64];
	(void)snprintf(name, sizeof name, "cuttle-%s", verb->name);
	print_page_head(name, verb->summary, file);
	fprintf(file, ".Sh SYNOPSIS\n.Nm cuttle %s\n", verb->name);
	print_page_text(verb->usage, file);
	fprintf(file, ".Sh DESCRIPTION\n");
	print_page_text(verb->about ? verb->about : verb->summary, file);
	fprintf(file, ".Sh OPTIONS\n");
	print_page_options(verb, file);
	print_page_environment(file);
	print_page_exits(manual, file);
	fprintf(file, ".Sh EXAMPLES\n");
	print_page_example(verb, verb->example, file);
	print_page_example(verb, verb->another, file);
	fprintf(file, ".Sh SEE ALSO\n.Xr cuttle 1\n");
}

/* The verb that follows `last` in the alphabet; the first one where it is NULL. */
static const struct verb *find_next_verb(const struct manual *manual, const struct verb *last) {
	const struct verb *next = NULL;
	for (size_t i = 0; i < manual->verb_count; i++) {
		const struct verb *verb = manual->verbs[i];
		if ((!last || strcmp(verb->name, last->name) > 0) &&
		    (!next || strcmp(verb->name, next->name) < 0))
			next = verb;
	}
	return next;
}

static void print_command_page(const struct manual *manual, FILE *file) {
	print_page_head("cuttle", "private text from sensitive documents", file);
	fprintf(file, ".Sh SYNOPSIS\n.Nm\n.Ar verb\n.Op Ar option ...\n.Nm\n.Cm help\n.Op Ar verb "
	              "Op Fl \\-\\-all\n"
	              ".Sh DESCRIPTION\n");
	print_page_text(manual->about, file);
	fprintf(file, ".Pp\nThe verbs are:\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < manual->verb_count; i++) {
		fprintf(file, ".It Cm %s\n", manual->verbs[i]->name);
		print_page_text(manual->verbs[i]->summary, file);
	}
	fprintf(file, ".El\n");
	print_page_environment(file);
	print_page_exits(manual, file);
	fprintf(file, ".Sh EXAMPLES\n");
	for (size_t i = 0; i < manual->verb_count; i++)
		print_page_example(manual->verbs[i], manual->verbs[i]->example, file);
	fprintf(file, ".Sh SEE ALSO\n");
	const struct verb *last = NULL;
	for (size_t i = 0; i < manual->verb_count; i++) {
		last = find_next_verb(manual, last);
		fprintf(file, ".Xr cuttle-%s 1%s\n", last->name,
		        i + 1 < manual->verb_count ? " ," : "");
	}
}

void manual_page(const struct manual *manual, const struct verb *verb, FILE *file) {
	if (verb) print_verb_page(manual, verb, file);
	else print_command_page(manual, file);
}

/* ---- completions ----------------------------------------------------------------------------- */

/* The words that an option takes, with a blank between them and none at the ends. Without any it is
 * a number, a name or a file. */
static void print_choices(const struct option_entry *entry, FILE *file) {
	if (entry->kind != OPTION_CHOICE) return;
	for (const char *c = entry->argument; *c; c++) fputc(*c == '|' ? ' ' : *c, file);
}

static void print_bash(const struct manual *manual, FILE *file) {
	fprintf(file, "# bash completion for cuttle, made by cuttle help --completion bash\n"
	              "_cuttle() {\n"
	              "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
	              "verbs options=\n\tCOMPREPLY=()\n\tverbs='");
	for (size_t i = 0; i < manual->verb_count; i++)
		fprintf(file, "%s ", manual->verbs[i]->name);
	fprintf(file, "help'\n"
	              "\tif [ \"$COMP_CWORD\" = 1 ] || [ \"$COMP_CWORD:$before\" = 2:help ]; then\n"
	              "\t\tmapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$word\")\n"
	              "\t\treturn\n"
	              "\tfi\n"
	              "\tcase ${COMP_WORDS[1]}:$before in\n");
	for (size_t i = 0; i < manual->verb_count; i++) {
		const struct verb *verb = manual->verbs[i];
		for (size_t k = 0; k < verb->option_count; k++) {
			const struct option_entry *entry = &verb->options[k];
			if (entry->kind != OPTION_CHOICE) continue;
			fprintf(file, "\t%s:--%s) options='", verb->name, entry->name);
			print_choices(entry, file);
			fprintf(file, "' ;;\n");
		}
	}
	fprintf(file, "\t*)\n\t\t[[ $word == -* ]] && case ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < manual->verb_count; i++) {
		const struct verb *verb = manual->verbs[i];
		fprintf(file, "\t\t%s) options='", verb->name);
		for (size_t k = 0; k < verb->option_count; k++)
			fprintf(file, "--%s ", verb->options[k].name);
		fprintf(file, "--help' ;;\n");
	}
	fprintf(file, "\t\tesac\n\t\t;;\n\tesac\n"
	              "\tif [ -n \"$options\" ]; then\n"
	              "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
	              "\telse\n"
	              "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
	              "\tfi\n"
	              "}\n"
	              "complete -o filenames -F _cuttle cuttle\n");
}

/* Prints text inside the quotes ' of a shell, and without what zsh reads in a description. */
static void print_quoted(const char *text, FILE *file) {
	for (const char *c = text; *c; c++) {
		if (*c == '\'') fputs("'\\''", file);
		else if (strchr("[]:\\", *c)) fprintf(file, "\\%c", *c);
		else fputc(*c == '\n' ? ' ' : *c, file);
	}
}

static void print_zsh(const struct manual *manual, FILE *file) {
	fprintf(file, "#compdef cuttle\n# made by cuttle help --completion zsh\n"
	              "local -a verbs\nverbs=(\n");
	for (size_t i = 0; i < manual->verb_count; i++) {
		fprintf(file, "\t'%s:", manual->verbs[i]->name);
		print_quoted(manual->verbs[i]->summary, file);
		fprintf(file, "'\n");
	}
	fprintf(file, "\t'help:shows what a verb does'\n)\n"
	              "if ((CURRENT == 2)) || { ((CURRENT == 3)) && [[ $words[2] == help ]]; }; "
	              "then\n"
	              "\t_describe verb verbs\n\treturn\nfi\n"
	              "shift words\n((CURRENT--))\n"
	              "case $words[1] in\n");
	for (size_t i = 0; i < manual->verb_count; i++) {
		const struct verb *verb = manual->verbs[i];
		fprintf(file, "%s)\n\t_arguments \\\n", verb->name);
		for (size_t k = 0; k < verb->option_count; k++) {
			const struct option_entry *entry = &verb->options[k];
			fprintf(file, "\t\t'--%s[", entry->name);
			print_quoted(entry->help, file);
			fprintf(file, "]");
			if (entry->kind == OPTION_CHOICE) {
				fprintf(file, ":value:(");
				print_choices(entry, file);
				fprintf(file, ")");
			} else if (entry->argument) {
				fprintf(file, ":");
				print_quoted(entry->argument, file);
				fprintf(file, ":_files");
			}
			fprintf(file, "' \\\n");
		}
		fprintf(file, "\t\t'--help[shows this verb]' '*:file:_files'\n\t;;\n");
	}
	fprintf(file, "esac\n");
}

/* Prints text inside the quotes ' of fish, which has an escape for them. */
static void print_fish_quoted(const char *text, FILE *file) {
	for (const char *c = text; *c; c++) {
		if (*c == '\'' || *c == '\\') fputc('\\', file);
		fputc(*c == '\n' ? ' ' : *c, file);
	}
}

static void print_fish(const struct manual *manual, FILE *file) {
	fprintf(file, "# fish completion for cuttle, made by cuttle help --completion fish\n"
	              "complete -c cuttle -n '__fish_is_nth_token 1' -f -a help "
	              "-d 'shows what a verb does'\n");
	for (size_t i = 0; i < manual->verb_count; i++) {
		const struct verb *verb = manual->verbs[i];
		fprintf(file,
		        "complete -c cuttle -n '__fish_is_nth_token 1; or "
		        "__fish_seen_subcommand_from help' -f -a %s -d '",
		        verb->name);
		print_fish_quoted(verb->summary, file);
		fprintf(file, "'\n");
		for (size_t k = 0; k < verb->option_count; k++) {
			const struct option_entry *entry = &verb->options[k];
			fprintf(file,
			        "complete -c cuttle -n '__fish_seen_subcommand_from %s' -l %s ",
			        verb->name, entry->name);
			if (entry->letter) fprintf(file, "-s %c ", entry->letter);
			if (entry->kind == OPTION_CHOICE) {
				fprintf(file, "-x -a '");
				print_choices(entry, file);
				fprintf(file, "' ");
			} else if (entry->argument) {
				fprintf(file, "-r ");
			}
			fprintf(file, "-d '");
			print_fish_quoted(entry->help, file);
			fprintf(file, "'\n");
		}
	}
}

bool manual_completion(const struct manual *manual, const char *shell, FILE *file) {
	if (!strcmp(shell, "bash")) print_bash(manual, file);
	else if (!strcmp(shell, "zsh")) print_zsh(manual, file);
	else if (!strcmp(shell, "fish")) print_fish(manual, file);
	else return false;
	return true;
}
