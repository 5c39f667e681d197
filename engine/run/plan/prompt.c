// SPDX-License-Identifier: Apache-2.0
// prompt.c: writes the prompts of prompt.h in three forms: continue, instruct and custom. The
// prompt of a rewriter or a completer has the first two. Three writers work side by side: `whole`
// the public prompt, `head` and `tail` the private one. A writer gets one piece of text after the
// other and tokenises each by itself. Spaces need care. SentencePiece joins a space to the word
// after it. So a piece's last space is held back and waits for the next piece. After `head` it
// waits for the reference (prompt->lead). Example: "one new " and "note" give the tokens of "one
// new", then those of " note".
#include "engine/run/plan/prompt.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "engine/cuttle/text.h"
#include "engine/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_PER_TOKEN = 16 }; /* bytes of a reference that are read per token of its limit */
enum { LEAD_SPARE = 16 };      /* tokens: a piece behind an example may be cut otherwise */
/* What stands behind each example. */
static const char example_end[] = "\n\n";
static const char placeholder[] = "{reference}", heading_place[] = "{category}",
                  document_place[] = "{document}", notes_place[] = "{notes}";
/* What a rewriter asks for, unless told otherwise, in the chat format and in plain text. Of a dozen
 * wordings these made SmolLM2-135M paraphrase; it does not begin its answers otherwise. */
static const char own_instruction[] =
    "Rewrite the input text in other words. Keep all of its information.\n\n{document}",
                  own_continuation[] =
                      "### Text\n\n{document}\n\n### The same text in other words\n\n";
/* What a completer asks for, unless told otherwise, in the chat format and in plain text. The
 * fields are those of InferDPT's extraction: the raw prefix and the perturbed generation. */
static const char own_extraction[] =
    "Extend the prefix text. Use the notes as your main material: take from "
    "them what fits the prefix text, leave out what does not, and write one "
    "coherent text that goes on where the prefix text ends. Write only the "
    "extension.\n\nPrefix text: {document}\n\nNotes: {notes}\n\nExtension:",
                  own_notes[] = "{notes}\n\n{document}";

/* A prompt being written: its tokens, and its words for the canonical string. */
struct prompt_writer {
	const struct model *model;
	struct cuttle_error *error;
	struct tokens tokens;
	enum vocab_lead lead;      /* what stands before the next piece */
	char *words;               /* all pieces so far, NUL-terminated */
	size_t length;             /* bytes of words */
	enum cuttle_status status; /* the first failure; after it nothing more is written */
	size_t fixed;              /* as in struct prompt, but not yet a multiple */
	size_t spare;              /* as in struct prompt */
};

/* The pieces of a plan's prompts. */
struct plan_writers {
	struct prompt_writer whole;  /* the public prompt */
	struct prompt_writer head;   /* the private one, before the first reference */
	struct prompt_writer middle; /* between two references; nothing where a row has one */
	struct prompt_writer tail;   /* behind the last */
};

/* Tokenises a text behind `lead` and appends its tokens. */
static void append_piece_tokens(struct prompt_writer *w, enum vocab_lead lead, const char *text,
                                size_t size, bool special) {
	const struct vocab *vocab = w->model->vocab;
	const size_t before = w->tokens.count, capacity = before + cuttle_tokens_bound(size);
	int32_t *ids = realloc(w->tokens.ids, capacity * sizeof *ids);
	if (!ids) {
		w->status =
		    status_fail(w->error, CUTTLE_NOMEM, "out of memory writing the prompts");
		return;
	}
	w->tokens.ids = ids;
	w->status = vocab_tokenize_piece(vocab, lead, text, size, special, ids, capacity,
	                                 &w->tokens.count, w->error);
	w->lead =
	    w->tokens.count > before ? vocab_lead_after(vocab, ids[w->tokens.count - 1]) : lead;
}

/* Writes one piece. `special`: it is a template's piece, so the names of special tokens in it
 * become those tokens. A single space at the end of a piece is held back: it belongs to the next
 * piece's first word. A template's pieces always mean it so (chat.h). Other pieces do with
 * SentencePiece only. */
static void write_piece(struct prompt_writer *w, const char *text, size_t size, bool special) {
	if (w->status) return;
	char *words = realloc(w->words, w->length + size + 1);
	if (!words) {
		w->status =
		    status_fail(w->error, CUTTLE_NOMEM, "out of memory writing the prompts");
		return;
	}
	w->words = words;
	memcpy(words + w->length, text, size);
	words[w->length += size] = 0;
	const bool leading_space = special && size && *text == ' ',
	           single = size > 1 ? text[size - 2] != ' ' : w->lead == VOCAB_TEXT;
	const bool trailing_space = size > leading_space && text[size - 1] == ' ' && single &&
	                            (special || vocab_is_spm(w->model->vocab));
	append_piece_tokens(w, leading_space ? VOCAB_SPACE : w->lead, text + leading_space,
	                    size - leading_space - trailing_space, special);
	if (trailing_space) w->lead = VOCAB_SPACE;
}

/* Ends a prompt. A space still held back has no word after it: here the space becomes a token. */
static void finish_prompt(struct prompt_writer *w) {
	if (!w->status && w->lead == VOCAB_SPACE) append_piece_tokens(w, VOCAB_TEXT, " ", 1, false);
}

static void write_text(struct prompt_writer *w, const char *text) {
	write_piece(w, text, strlen(text), false);
}

/* Writes a piece of a custom prompt. Each "{category}" in it becomes the heading, if there is one.
 * Returns whether a heading was written. */
static bool write_custom_piece(struct prompt_writer *w, const char *text, size_t size,
                               const char *heading) {
	const char *place =
	    heading ? memmem(text, size, heading_place, strlen(heading_place)) : NULL;
	if (!place) {
		write_piece(w, text, size, false);
		return false;
	}
	const char *rest = place + strlen(heading_place);
	write_piece(w, text, (size_t)(place - text), false);
	write_text(w, heading);
	write_custom_piece(w, rest, size - (size_t)(rest - text), heading);
	return true;
}

/* Writes a piece of a chat format. The prompt may be BOS alone so far, and the piece may begin with
 * BOS too. Then one of the two is removed. */
static void write_template_piece(struct prompt_writer *w, const char *text) {
	const bool first = w->tokens.count == 1 && w->tokens.ids[0] == vocab_bos(w->model->vocab);
	write_piece(w, text, strlen(text), true);
	if (first && w->tokens.count > 1 && w->tokens.ids[1] == w->tokens.ids[0])
		memmove(w->tokens.ids, w->tokens.ids + 1,
		        --w->tokens.count * sizeof *w->tokens.ids);
}

/* Begins a prompt. It begins with BOS, once, when the tokenizer adds it, or the chat template of
 * CUTTLE_INSTRUCT writes it, or both. */
static void start_prompt(struct prompt_writer *w, const struct model *model, enum cuttle_form form,
                         struct cuttle_error *error) {
	*w = (struct prompt_writer){.model = model, .error = error};
	const struct vocab *vocab = model->vocab;
	const bool bos = vocab_add_bos(vocab) || (form == CUTTLE_INSTRUCT && model->chat_bos);
	// The empty piece allocates the list of tokens, with room for BOS.
	write_piece(w, "", 0, false);
	if (!w->status && bos && vocab_bos(vocab) >= 0)
		w->tokens.ids[w->tokens.count++] = vocab_bos(vocab);
}

/* Writes a text, of which at most so many tokens stay. */
static void write_cut_text(struct prompt_writer *w, const char *text, size_t most) {
	const size_t before = w->tokens.count;
	write_text(w, text);
	if (w->status || w->tokens.count - before <= most) return;
	w->tokens.count = before + most;
	w->lead = vocab_lead_after(w->model->vocab, w->tokens.ids[w->tokens.count - 1]);
}

/* How many tokens a piece has behind other text. */
static size_t count_piece_tokens(struct prompt_writer *w, const char *text) {
	struct prompt_writer piece = {
	    .model = w->model, .error = w->error, .lead = VOCAB_TEXT, .status = w->status};
	write_text(&piece, text);
	w->status = piece.status;
	free(piece.words);
	free(piece.tokens.ids);
	return piece.tokens.count;
}

/* How many public examples stand before so many texts drawn before. */
static size_t count_shown(const struct cuttle_plan_params *params, size_t drawn) {
	const size_t left = params->drawn ? params->drawn->places - drawn : SIZE_MAX;
	return left < params->example_count ? left : params->example_count;
}

/* Keeps room for texts drawn before. `longest` is the most tokens up to the end of the examples,
 * over all prompts that may be; behind each public example this asks which of them goes on with
 * drawn texts from here, `each` at most as long. Example: 4 places, at most 2 drawn, 4 public
 * examples: from behind the second go 2 drawn ones, from behind the third 1, and 0 at the end. */
static void note_drawn(struct prompt_writer *w, const struct cuttle_plan_params *params,
                       size_t shown, size_t each, size_t *longest) {
	const struct cuttle_drawn *drawn = params->drawn;
	const size_t left = drawn->places - shown, most = left < drawn->count ? left : drawn->count;
	if (shown == count_shown(params, drawn->count)) w->fixed = w->tokens.count;
	if (shown < params->example_count && left > drawn->count) return;
	if (*longest < w->tokens.count + most * each) *longest = w->tokens.count + most * each;
}

/* Writes the public examples, then the texts drawn before. `opening` stands before the first. */
static void write_examples(struct prompt_writer *w, const struct cuttle_plan_params *params,
                           const char *opening, const char *before_each) {
	const size_t drawn = params->drawn && params->drawn->texts ? params->drawn->count : 0,
	             shown = count_shown(params, drawn),
	             each = params->drawn
	                        ? count_piece_tokens(w, before_each) + CUTTLE_DRAWN_TOKENS +
	                              count_piece_tokens(w, example_end)
	                        : 0;
	size_t longest = 0;
	if (shown + drawn) write_text(w, opening);
	for (size_t i = 0; i < shown; i++) {
		if (params->drawn) note_drawn(w, params, i, each, &longest);
		write_text(w, before_each);
		write_text(w, params->examples[i]);
		write_text(w, example_end);
	}
	if (params->drawn) note_drawn(w, params, shown, each, &longest);
	for (size_t i = 0; i < drawn; i++) {
		write_text(w, before_each);
		write_cut_text(w, params->drawn->texts[i], CUTTLE_DRAWN_TOKENS);
		write_text(w, example_end);
	}
	// Without an example here the first one brings the opening, too, and what follows it begins
	// behind an example.
	if (params->drawn && !shown) longest += count_piece_tokens(w, opening) + LEAD_SPARE;
	if (longest > w->tokens.count) w->spare = longest - w->tokens.count;
}

static void write_heading(struct prompt_writer *w, const char *before, const char *heading,
                          const char *after) {
	if (!heading) return;
	write_text(w, before);
	write_text(w, heading);
	write_text(w, after);
}

/* Writes a document that the model continues:
 * "A collection of KINDs.\n\n### KIND\n<example>\n\n### KIND\n". */
static void write_collection(struct prompt_writer *w, const struct cuttle_plan_params *params,
                             const char *header) {
	write_text(w, "A collection of ");
	write_text(w, params->kind);
	write_text(w, "s.\n\n");
	write_examples(w, params, "", header);
	write_text(w, header);
}

/* Ends a text, and begins the next one of the collection. */
static void write_next(struct prompt_writer *w, const char *header, const char *heading) {
	write_text(w, example_end);
	write_text(w, header);
	write_heading(w, "", heading, "\n");
}

static enum cuttle_status write_continue_form(struct plan_writers *to,
                                              const struct cuttle_plan_params *params,
                                              const char *heading) {
	char *header = malloc(strlen(params->kind) + 8);
	if (!header)
		return status_fail(to->whole.error, CUTTLE_NOMEM,
		                   "out of memory writing the prompts");
	strcat(strcat(strcpy(header, "### "), params->kind), "\n");
	write_collection(&to->whole, params, header);
	write_heading(&to->whole, "", heading, "\n");
	write_collection(&to->head, params, header);
	write_heading(&to->head, "", heading, "\n");
	// A model that continues sees each further reference, and its own text, as the next one.
	if (params->shots > 1) write_next(&to->middle, header, heading);
	write_next(&to->tail, header, heading);
	free(header);
	return CUTTLE_OK;
}

/* Opens the user's turn: the system message if there is one, then the examples. Without `system`
 * the template's own message is used. But a format given by name (chat_format) is not the
 * template's, so then the template's message does not count. */
static void open_user_turn(struct prompt_writer *w, const struct chat_pieces *pieces,
                           const struct cuttle_plan_params *params) {
	const char *own = params->chat_format ? "" : w->model->chat_system,
	           *system = params->system ? params->system : own;
	if (*system) {
		write_template_piece(w, pieces->before_system);
		write_text(w, system);
		write_template_piece(w, pieces->before_user);
	} else {
		write_template_piece(w, pieces->before_user_alone);
	}
	write_examples(w, params, "Here are examples of what is wanted.\n\n", "");
}

/* The pieces of the chat format asked for, or of the model's own. NULL and USAGE: there is none. */
static const struct chat_pieces *choose_chat_pieces(struct prompt_writer *w,
                                                    const struct cuttle_plan_params *params) {
	const enum chat_format format =
	    params->chat_format ? chat_named(params->chat_format) : w->model->chat;
	const struct chat_pieces *pieces = chat_pieces(format);
	if (!pieces && params->chat_format)
		w->status =
		    status_fail(w->error, CUTTLE_USAGE,
		                "there is no chat format \"%.20s\"; cuttle has chatml, zephyr, "
		                "llama-3, llama-3.1, llama-2, mistral, mistral-v7 and qwen3",
		                params->chat_format);
	else if (!pieces)
		w->status =
		    status_fail(w->error, CUTTLE_USAGE,
		                "the model file has no chat template that cuttle knows; use "
		                "--template continue, or name the format "
		                "with --chat-format");
	return pieces;
}

/* Announces a reference: "This is a KIND:" and the heading. */
static void announce_reference(struct prompt_writer *w, const struct cuttle_plan_params *params,
                               const char *heading) {
	write_text(w, "This is a ");
	write_text(w, params->kind);
	write_text(w, ":\n\n");
	write_heading(w, "", heading, "\n\n");
}

static enum cuttle_status write_instruct_form(struct plan_writers *to,
                                              const struct cuttle_plan_params *params,
                                              const char *heading) {
	struct prompt_writer *const whole = &to->whole, *const tail = &to->tail;
	const struct chat_pieces *pieces = choose_chat_pieces(whole, params);
	if (!pieces) return whole->status;
	open_user_turn(whole, pieces, params);
	write_text(whole, "Write one new ");
	write_text(whole, params->kind);
	write_text(whole, ". Write nothing else.");
	write_heading(whole, "\n\n", heading, "");
	write_template_piece(whole, pieces->after_user);
	open_user_turn(&to->head, pieces, params);
	announce_reference(&to->head, params, heading);
	if (params->shots > 1) {
		write_text(&to->middle, example_end);
		announce_reference(&to->middle, params, heading);
	}
	write_text(tail, "\n\nWrite one new ");
	write_text(tail, params->kind);
	write_text(tail, params->shots > 1 ? " like these. Write nothing else."
	                                   : " like it. Write nothing else.");
	write_heading(tail, "\n\n", heading, "");
	write_template_piece(tail, pieces->after_user);
	return CUTTLE_OK;
}

static enum cuttle_status write_custom_form(struct plan_writers *to,
                                            const struct cuttle_plan_params *params,
                                            const char *heading) {
	struct prompt_writer *const whole = &to->whole, *const head = &to->head;
	const char *private = params->prompt_private,
	           *place = private ? strstr(private, placeholder) : NULL;
	if (!params->prompt_public || !*params->prompt_public || !place ||
	    strstr(place + 1, placeholder))
		return status_fail(whole->error, CUTTLE_USAGE,
		                   "give both prompts; the private one must hold %s exactly once",
		                   placeholder);
	write_examples(whole, params, "", "");
	bool both = write_custom_piece(whole, params->prompt_public, strlen(params->prompt_public),
	                               heading);
	write_examples(head, params, "", "");
	const char *rest = place + strlen(placeholder);
	const bool before = write_custom_piece(head, private, (size_t)(place - private), heading);
	both &= write_custom_piece(&to->tail, rest, strlen(rest), heading) || before;
	if (params->shots > 1) write_text(&to->middle, example_end);
	if (!heading || both) return CUTTLE_OK;
	return status_fail(whole->error, CUTTLE_USAGE,
	                   "both prompts must hold %s, for the category", heading_place);
}

static void print_prompt_tokens(FILE *out, const struct tokens *tokens) {
	fputc('\n', out);
	for (size_t t = 0; t < tokens->count; t++) fprintf(out, " %d", (int)tokens->ids[t]);
}

/* Writes prompt->canonical: the words of both prompts, the mark of the form, and all tokens. Two
 * plans of the same form have the same string only when their prompts are the same. Layout:
 * "public:\nWORDS\nprivate:\nHEAD{reference}TAIL\nstop:\nMARK\ntokens:", then one line of tokens
 * for each of whole, head and tail. Where a row has several references, "MIDDLE{reference}" stands
 * before TAIL, and a line of the middle's tokens at the end. */
static enum cuttle_status join_words(struct prompt *prompt, const struct plan_writers *from,
                                     bool several, const char *mark, struct cuttle_error *error) {
	size_t size;
	FILE *out = open_memstream(&prompt->canonical, &size);
	if (!out) return status_fail(error, CUTTLE_NOMEM, "out of memory writing the prompts");
	fprintf(out, "public:\n%s\nprivate:\n%s%s", from->whole.words, from->head.words,
	        placeholder);
	if (several) fprintf(out, "%s%s", from->middle.words, placeholder);
	fprintf(out, "%s\nstop:\n%s\ntokens:", from->tail.words, mark);
	print_prompt_tokens(out, &from->whole.tokens);
	print_prompt_tokens(out, &from->head.tokens);
	print_prompt_tokens(out, &from->tail.tokens);
	if (several) print_prompt_tokens(out, &from->middle.tokens);
	if (fclose(out) || !prompt->canonical)
		return status_fail(error, CUTTLE_NOMEM, "out of memory writing the prompts");
	return CUTTLE_OK;
}

enum cuttle_status prompt_write(const struct model *model, const struct cuttle_plan_params *params,
                                const char *heading, struct prompt *prompt,
                                struct cuttle_error *error) {
	*prompt = (struct prompt){0};
	if (!params->kind || !*params->kind)
		return status_fail(error, CUTTLE_USAGE, "the kind of text may not be empty");
	const struct prompt_writer behind = {.model = model, .error = error, .lead = VOCAB_TEXT};
	struct plan_writers to = {.middle = behind, .tail = behind};
	start_prompt(&to.whole, model, params->form, error);
	start_prompt(&to.head, model, params->form, error);
	write_text(&to.middle, "");
	write_text(&to.tail, "");
	enum cuttle_status status;
	switch (params->form) {
	case CUTTLE_CONTINUE:
		status = write_continue_form(&to, params, heading);
		break;
	case CUTTLE_INSTRUCT:
		status = write_instruct_form(&to, params, heading);
		break;
	case CUTTLE_CUSTOM:
		status = write_custom_form(&to, params, heading);
		break;
	default:
		status = status_fail(error, CUTTLE_USAGE, "unknown prompt form");
	}
	finish_prompt(&to.whole);
	finish_prompt(&to.tail);
	const struct prompt_writer *writers[] = {&to.whole, &to.head, &to.middle, &to.tail};
	for (size_t i = 0; i < 4 && !status; i++) status = writers[i]->status;
	const char *mark = params->form == CUTTLE_CONTINUE ? "\n###" : "";
	if (!status) status = join_words(prompt, &to, params->shots > 1, mark, error);
	prompt->whole = to.whole.tokens;
	prompt->head = to.head.tokens;
	prompt->middle = to.middle.tokens;
	prompt->tail = to.tail.tokens;
	prompt->lead = to.head.lead;
	prompt->middle_lead = to.middle.lead;
	for (size_t i = 0; i < 4; i++) free(writers[i]->words);
	if (!status && (!prompt->whole.count || prompt->whole.count > UINT32_MAX ||
	                prompt->head.count > UINT32_MAX))
		status = status_fail(error, CUTTLE_USAGE, "the public prompt holds no token");
	if (status) {
		prompt_free(prompt);
		return status;
	}
	while (prompt->shared < prompt->whole.count - 1 && prompt->shared < prompt->head.count &&
	       prompt->whole.ids[prompt->shared] == prompt->head.ids[prompt->shared])
		prompt->shared++;
	prompt->shared -= prompt->shared % ATTENTION_TILE;
	prompt->fixed = prompt->shared;
	if (params->drawn && to.whole.fixed < prompt->fixed)
		prompt->fixed = to.whole.fixed - to.whole.fixed % ATTENTION_TILE;
	prompt->spare = to.whole.spare;
	return CUTTLE_OK;
}

/* Begins a prompt around a document: with CUTTLE_INSTRUCT it opens the user's turn, and *pieces is
 * what closes it; else *pieces is NULL. */
static enum cuttle_status open_document_prompt(struct prompt_writer *head, enum cuttle_form form,
                                               const char *system, const char *chat_format,
                                               const struct chat_pieces **pieces) {
	const struct cuttle_plan_params turn = {.system = system, .chat_format = chat_format};
	*pieces = NULL;
	if (form == CUTTLE_CONTINUE) return CUTTLE_OK;
	if (form != CUTTLE_INSTRUCT)
		return status_fail(head->error, CUTTLE_USAGE,
		                   "a document's prompt has the form continue or instruct");
	if (!(*pieces = choose_chat_pieces(head, &turn))) return head->status;
	open_user_turn(head, *pieces, &turn);
	return CUTTLE_OK;
}

/* Writes head and tail of a rewriter's prompt: the instruction with a place for the document, and
 * how the answer begins. */
static enum cuttle_status write_document_prompt(struct prompt_writer *head,
                                                struct prompt_writer *tail,
                                                const struct cuttle_rewrite_params *params) {
	const char *own = params->form == CUTTLE_CONTINUE ? own_continuation : own_instruction,
	           *instruction = params->instruction ? params->instruction : own,
	           *prefill = params->prefill ? params->prefill : "",
	           *place = strstr(instruction, document_place);
	if (!place || strstr(place + 1, document_place))
		return status_fail(head->error, CUTTLE_USAGE,
		                   "the instruction must hold %s exactly once", document_place);
	const struct chat_pieces *pieces;
	const enum cuttle_status status =
	    open_document_prompt(head, params->form, params->system, params->chat_format, &pieces);
	if (status) return status;
	write_piece(head, instruction, (size_t)(place - instruction), false);
	write_text(tail, place + strlen(document_place));
	if (pieces) write_template_piece(tail, pieces->after_user);
	write_text(tail, prefill);
	return CUTTLE_OK;
}

/* Writes prompt->canonical: "document:\nHEAD{document}TAIL\ntokens:", then one line of tokens for
 * each of head and tail. */
static enum cuttle_status join_document_words(struct prompt *prompt,
                                              const struct prompt_writer *head,
                                              const struct prompt_writer *tail,
                                              struct cuttle_error *error) {
	size_t size;
	FILE *out = open_memstream(&prompt->canonical, &size);
	if (!out) return status_fail(error, CUTTLE_NOMEM, "out of memory writing the prompts");
	fprintf(out, "document:\n%s%s%s\ntokens:", head->words, document_place, tail->words);
	print_prompt_tokens(out, &head->tokens);
	print_prompt_tokens(out, &tail->tokens);
	if (fclose(out) || !prompt->canonical)
		return status_fail(error, CUTTLE_NOMEM, "out of memory writing the prompts");
	return CUTTLE_OK;
}

/* A context has a token beyond what it shares, even one of an empty document. */
static void share_head(struct prompt *prompt) {
	if (prompt->head.count) prompt->shared = prompt->head.count - 1;
	prompt->shared -= prompt->shared % ATTENTION_TILE;
}

enum cuttle_status prompt_write_document(const struct model *model,
                                         const struct cuttle_rewrite_params *params,
                                         struct prompt *prompt, struct cuttle_error *error) {
	*prompt = (struct prompt){0};
	struct prompt_writer head, tail = {.model = model, .error = error, .lead = VOCAB_TEXT};
	start_prompt(&head, model, params->form, error);
	write_text(&tail, "");
	enum cuttle_status status = head.status ? head.status : tail.status;
	if (!status) status = write_document_prompt(&head, &tail, params);
	finish_prompt(&tail);
	if (!status) status = head.status ? head.status : tail.status;
	if (!status) status = join_document_words(prompt, &head, &tail, error);
	prompt->head = head.tokens;
	prompt->tail = tail.tokens;
	prompt->lead = head.lead;
	free(head.words);
	free(tail.words);
	if (!status && !prompt->head.count && !prompt->tail.count)
		status = status_fail(error, CUTTLE_USAGE,
		                     "the prompt holds no token beside the document");
	if (status) {
		prompt_free(prompt);
		return status;
	}
	share_head(prompt);
	return CUTTLE_OK;
}

/* Finds a placeholder. False: it stands there twice. *place is NULL when there is none. */
static bool find_single_place(const char *words, const char *name, const char **place) {
	*place = strstr(words, name);
	return !*place || !strstr(*place + 1, name);
}

/* Writes head, middle and tail of a completer's prompt. */
static enum cuttle_status write_completion_prompt(struct prompt_writer *head,
                                                  struct prompt_writer *middle,
                                                  struct prompt_writer *tail,
                                                  const struct cuttle_complete_params *params,
                                                  struct prompt *prompt) {
	const char *own = params->form == CUTTLE_CONTINUE ? own_notes : own_extraction,
	           *words = params->prompt ? params->prompt : own, *document, *notes;
	const bool single = find_single_place(words, notes_place, &notes) &&
	                    find_single_place(words, document_place, &document);
	if (!single || !document)
		return status_fail(head->error, CUTTLE_USAGE,
		                   "the prompt must hold %s exactly once, and %s at most once",
		                   document_place, notes_place);
	const struct chat_pieces *pieces;
	const enum cuttle_status status =
	    open_document_prompt(head, params->form, params->system, params->chat_format, &pieces);
	if (status) return status;
	prompt->has_notes = notes != NULL;
	prompt->notes_first = notes && notes < document;
	const char *first = prompt->notes_first ? notes : document,
	           *second = prompt->notes_first ? document : notes,
	           *rest = document + strlen(document_place);
	write_piece(head, words, (size_t)(first - words), false);
	if (second) {
		const size_t skip = strlen(prompt->notes_first ? notes_place : document_place);
		write_piece(middle, first + skip, (size_t)(second - first) - skip, false);
		if (!prompt->notes_first) rest = notes + strlen(notes_place);
	}
	write_text(tail, rest);
	if (pieces) write_template_piece(tail, pieces->after_user);
	return CUTTLE_OK;
}

enum cuttle_status prompt_write_completion(const struct model *model,
                                           const struct cuttle_complete_params *params,
                                           struct prompt *prompt, struct cuttle_error *error) {
	*prompt = (struct prompt){0};
	struct prompt_writer head, middle = {.model = model, .error = error, .lead = VOCAB_TEXT},
	                           tail = middle;
	start_prompt(&head, model, params->form, error);
	write_text(&middle, "");
	write_text(&tail, "");
	enum cuttle_status status = write_completion_prompt(&head, &middle, &tail, params, prompt);
	finish_prompt(&tail);
	prompt->head = head.tokens;
	prompt->middle = middle.tokens;
	prompt->tail = tail.tokens;
	prompt->lead = head.lead;
	prompt->middle_lead = middle.lead;
	const struct prompt_writer *writers[] = {&head, &middle, &tail};
	for (size_t i = 0; i < 3; i++) {
		if (!status) status = writers[i]->status;
		free(writers[i]->words);
	}
	if (status) {
		prompt_free(prompt);
		return status;
	}
	share_head(prompt);
	return CUTTLE_OK;
}

void prompt_free(struct prompt *prompt) {
	free(prompt->whole.ids);
	free(prompt->middle.ids);
	free(prompt->head.ids);
	free(prompt->tail.ids);
	free(prompt->canonical);
	*prompt = (struct prompt){0};
}

/* A system message or none, then user and assistant in turns, a user's last. */
static bool takes_turns(const struct cuttle_message *messages, size_t count) {
	const size_t first = count && messages[0].speaker == CUTTLE_SYSTEM;
	bool right = (count - first) % 2 == 1;
	for (size_t i = first; i < count; i++)
		right = right &&
		        messages[i].speaker == ((i - first) % 2 ? CUTTLE_ASSISTANT : CUTTLE_USER);
	return right;
}

/* Writes messages in any order, each alone, as a template without a rule about turns does. */
static void write_messages(struct prompt_writer *w, const struct chat_pieces *pieces,
                           const struct cuttle_message *messages, size_t count) {
	// Pieces that stand side by side are one: a tokenizer may join what they share.
	char piece[2 * CHAT_PIECE] = "";
	const char *own = messages[0].speaker == CUTTLE_SYSTEM ? "" : w->model->chat_system;
	if (*own || (pieces->always_system && messages[0].speaker != CUTTLE_SYSTEM)) {
		write_template_piece(w, pieces->before_system);
		write_text(w, own);
		(void)snprintf(piece, sizeof piece, "%s", pieces->after);
	}
	for (size_t i = 0; i < count; i++) {
		const enum cuttle_speaker speaker = messages[i].speaker;
		const bool first = !i && speaker == CUTTLE_SYSTEM,
		           last = i + 1 == count && speaker == CUTTLE_ASSISTANT;
		const char *text = messages[i].text;
		size_t size = messages[i].size;
		if (pieces->trims && size) utf8_trim(&text, &size);
		(void)strcat(piece, first  ? pieces->before_system
		                    : last ? pieces->answer
		                           : pieces->before[speaker]);
		write_template_piece(w, piece);
		write_piece(w, text, size, false);
		(void)snprintf(piece, sizeof piece, "%s", pieces->after);
	}
	write_template_piece(w, strcat(piece, pieces->answer));
}

static void write_turns(struct prompt_writer *w, const struct chat_pieces *pieces,
                        const struct cuttle_message *messages, size_t count) {
	size_t i = messages[0].speaker == CUTTLE_SYSTEM;
	if (i) {
		write_template_piece(w, pieces->before_system);
		write_piece(w, messages[0].text, messages[0].size, false);
		write_template_piece(w, pieces->before_user);
	} else {
		const struct cuttle_plan_params own = {.system = NULL};
		open_user_turn(w, pieces, &own);
	}
	for (; i < count; i++) {
		write_piece(w, messages[i].text, messages[i].size, false);
		write_template_piece(w, messages[i].speaker == CUTTLE_USER
		                            ? pieces->after_user
		                            : pieces->before_next_user);
	}
}

enum cuttle_status prompt_write_chat(const struct model *model,
                                     const struct cuttle_message *messages, size_t count,
                                     struct tokens *prompt, struct cuttle_error *error) {
	struct prompt_writer w;
	*prompt = (struct tokens){0};
	if (!count) return status_fail(error, CUTTLE_USAGE, "a chat has a message or more");
	for (size_t i = 0; i < count; i++)
		if (messages[i].size && !utf8_valid(messages[i].text, messages[i].size))
			return status_fail(error, CUTTLE_USAGE, "a message is not UTF-8");
	const struct chat_pieces *pieces = chat_pieces(model->chat);
	if (!pieces)
		return status_fail(error, CUTTLE_USAGE,
		                   "the model has no chat format that cuttle knows");
	if (pieces->before_next_user && !takes_turns(messages, count))
		return status_fail(error, CUTTLE_USAGE,
		                   "messages: this model's template takes one system message first "
		                   "or none, then user and assistant in turns, a user's last");
	start_prompt(&w, model, CUTTLE_INSTRUCT, error);
	if (!w.status)
		(pieces->before_next_user ? write_turns : write_messages)(&w, pieces, messages,
		                                                          count);
	finish_prompt(&w);
	free(w.words);
	if (w.status) free(w.tokens.ids);
	else *prompt = w.tokens;
	return w.status;
}

size_t prompt_reference_bytes(size_t limit) {
	return limit * BYTES_PER_TOKEN;
}

size_t prompt_reference_capacity(size_t limit) {
	return cuttle_tokens_bound(prompt_reference_bytes(limit));
}

/* NULL, blank or not UTF-8. */
static bool is_null_text(const char *text, size_t size) {
	if (!text || !utf8_valid(text, size)) return true;
	utf8_trim(&text, &size);
	return !size;
}

/* Tokenises a text behind `lead`: trimmed, cut to 16 * limit bytes and then to `limit` tokens. */
static size_t tokenize_shown(const struct model *model, enum vocab_lead lead, const char *text,
                             size_t size, size_t limit, int32_t *ids) {
	if (!text || !utf8_valid(text, size)) return 0;
	utf8_trim(&text, &size);
	if (size > prompt_reference_bytes(limit)) {
		size = prompt_reference_bytes(limit);
		while (size && ((unsigned char)text[size] & 0xc0) == 0x80) size--;
	}
	const size_t capacity = prompt_reference_capacity(limit);
	size_t count = 0;
	if (!size || vocab_tokenize_piece(model->vocab, lead, text, size, false, ids, capacity,
	                                  &count, NULL))
		return 0;
	return count < limit ? count : limit;
}

size_t prompt_reference(const struct model *model, const struct prompt *prompt, const char *text,
                        size_t size, size_t limit, int32_t *ids) {
	return tokenize_shown(model, prompt->lead, text, size, limit, ids);
}

size_t prompt_private_capacity(const struct prompt *prompt, size_t limit) {
	return prompt->head.count + prompt->spare + prompt_reference_capacity(limit) +
	       prompt->tail.count;
}

size_t prompt_row_capacity(const struct prompt *prompt, size_t places, size_t limit) {
	return prompt_private_capacity(prompt, limit) + (places > 1 ? limit : 0);
}

size_t prompt_private(const struct model *model, const struct prompt *prompt,
                      const struct prompt_shot *shots, size_t count, size_t limit, int32_t *ids) {
	const struct tokens *head = &prompt->head, *middle = &prompt->middle, *tail = &prompt->tail;
	int32_t *const shown = ids + head->count;
	size_t used = 0; // tokens of all references so far, and of what stands between them
	REQUIRE(count && limit);
	for (size_t i = 0; i < count; i++) {
		const size_t between = i ? middle->count : 0,
		             room = limit > used + between ? limit - used - between : 0;
		// Those before it may leave no room for a reference. A null one is null all the
		// same.
		if (!room && !is_null_text(shots[i].text, shots[i].size)) continue;
		const size_t own =
		    tokenize_shown(model, i ? prompt->middle_lead : prompt->lead, shots[i].text,
		                   shots[i].size, room, shown + used + between);
		if (!own) return 0;
		if (between) memcpy(shown + used, middle->ids, between * sizeof *ids);
		used += between + own;
	}
	memcpy(ids, head->ids, head->count * sizeof *ids);
	memcpy(shown + used, tail->ids, tail->count * sizeof *ids);
	return head->count + used + tail->count;
}

enum cuttle_status prompt_document(const struct model *model, const struct prompt *prompt,
                                   const char *text, size_t size, size_t limit, int32_t *ids,
                                   size_t *count, struct cuttle_error *error) {
	const struct tokens *head = &prompt->head, *tail = &prompt->tail;
	size_t own = 0;
	*count = 0;
	if (size && !utf8_valid(text, size))
		return status_fail(error, CUTTLE_USAGE, "the document is not UTF-8");
	if (size > prompt_reference_bytes(limit))
		return status_fail(
		    error, CUTTLE_USAGE,
		    "the document has %zu bytes and may have %zu, to fit the context", size,
		    prompt_reference_bytes(limit));
	const enum cuttle_status status =
	    size ? vocab_tokenize_piece(model->vocab, prompt->lead, text, size, false,
	                                ids + head->count, prompt_reference_capacity(limit), &own,
	                                error)
	         : CUTTLE_OK;
	if (status) return status;
	if (own > limit)
		return status_fail(
		    error, CUTTLE_USAGE,
		    "the document has %zu tokens and may have %zu, to fit the context", own, limit);
	memcpy(ids, head->ids, head->count * sizeof *ids);
	memcpy(ids + head->count + own, tail->ids, tail->count * sizeof *ids);
	*count = head->count + own + tail->count;
	return CUTTLE_OK;
}

bool prompt_null_document(const struct cuttle_shown *shown) {
	return is_null_text(shown->document, shown->document_size);
}

size_t prompt_completion_capacity(const struct prompt *prompt, size_t limit) {
	return prompt->head.count + prompt->middle.count + prompt->tail.count + limit + 1 +
	       2 * prompt_reference_capacity(limit);
}

static void copy_tokens(int32_t *ids, size_t *count, const int32_t *more, size_t more_count) {
	if (more_count) memcpy(ids + *count, more, more_count * sizeof *ids);
	*count += more_count;
}

size_t prompt_completion(const struct model *model, const struct prompt *prompt,
                         const struct cuttle_shown *shown, size_t limit, int32_t *ids) {
	const bool first = prompt->notes_first;
	const size_t capacity = prompt_reference_capacity(limit);
	// Behind the context there is room for all tokens of both texts, before they are cut.
	int32_t *document = ids + prompt_completion_capacity(prompt, limit) - 2 * capacity,
	        *notes = document + capacity;
	const size_t kept = tokenize_shown(model, first ? prompt->middle_lead : prompt->lead,
	                                   shown->document, shown->document_size, limit, document);
	size_t noted = prompt->has_notes
	                   ? tokenize_shown(model, first ? prompt->lead : prompt->middle_lead,
	                                    shown->notes, shown->notes_size, limit, notes)
	                   : 0,
	       count = 0;
	if (noted > limit - kept) noted = limit - kept;
	copy_tokens(ids, &count, prompt->head.ids, prompt->head.count);
	copy_tokens(ids, &count, first ? notes : document, first ? noted : kept);
	copy_tokens(ids, &count, prompt->middle.ids, prompt->middle.count);
	if (prompt->has_notes)
		copy_tokens(ids, &count, first ? document : notes, first ? kept : noted);
	copy_tokens(ids, &count, prompt->tail.ids, prompt->tail.count);
	// A model needs a token to begin with. What it writes from none is never delivered.
	if (!count) ids[count++] = 0;
	return count;
}
