// SPDX-License-Identifier: Apache-2.0
// cuttle tag: finds what is private in documents and writes them with their spans, for cuttle
// sanitize or for a look. Documents, output and the table of --against are private.
//
// io/records/source.c gives lines, and io/documents/spans.c reads one. tools/common/tagging.c finds
// the spans, and io/documents/spans.c writes the line. io/records/records.c reads CSV, of whose
// records lines are made. tools/common/agreement.c counts for --against.
#include "tools/common/verbs.h"

#include "convert/rewrite.h"
#include "io/disk/fail.h"
#include "io/disk/formats.h"
#include "io/records/records.h"
#include "io/disk/secrecy.h"
#include "io/records/source.h"
#include "tools/common/agreement.h"
#include "tools/common/tagging.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tag_values {
	struct tagging_values tagging;
	const char *input;
	const char *output;
	const char *text_field;
	const char *id_field;
	const char *spans_field; /* NULL = as the tagger needs them */
	const char *leave;       /* --leave-identifier; NULL = none */
	const char *against;     /* member with the spans to compare with; NULL = none */
	const char *delimiter;   /* between the columns of CSV, NULL = as the ending says */
	int input_format;        /* enum records_format */
	int format;              /* enum spans_format */
	int offsets;             /* enum spans_offsets */
	bool overwrite;
};

#define VALUE(member) OPTION(struct tag_values, member)

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "input", .letter = 'i', VALUE(input), .argument = "FILE",
	 .help = "the documents, JSONL, CSV or TSV, a file or a pipe (default -, standard input)"},
	FORMAT_OPTIONS(struct tag_values, input_format, delimiter),
	{.name = "output", .letter = 'o', VALUE(output), .argument = "FILE",
	 .help = "the documents with their spans, JSONL (default -, standard output). It "
	         "appears when all is written, and its owner alone can read it"},
	{.name = "overwrite", VALUE(overwrite),
	 .help = "replace an output that is there, but never an input"},
	TAGGING_OPTIONS(struct tag_values, tagging, "rules"),
	{.name = "against", VALUE(against), .argument = "FIELD",
	 .help = "compare with the spans in this member (annotations: as TAB has them). "
	         "Prints recall and precision of each type on standard output: PRIVATE"},
	{.name = "text-field", VALUE(text_field), .argument = "NAME",
	 .help = "member or column with the text (default text)"},
	{.name = "id-field", VALUE(id_field), .argument = "NAME",
	 .help = "member or column with the id, which is copied (default id)"},
	{.name = "spans-field", VALUE(spans_field), .argument = "NAME",
	 .help = "keep the spans in this member, too (default: with --tagger none those in spans)"},
	{.name = "spans-format", VALUE(format), .argument = "auto|presidio|tab",
	 .help = "of the spans in the input. presidio: a list of start, end and "
	         "entity_type (or label, or type). tab: TAB's annotations. auto: by the "
	         "members that are there"},
	{.name = "leave-identifier", VALUE(leave), .argument = "NAME",
	 .help = "of TAB: spans of this identifier_type are public, as in NO_MASK"},
	{.name = "offsets", VALUE(offsets), .argument = "codepoints|bytes|utf16",
	 .help = "what start and end count, read and written (default codepoints, as in Python)"},
};

static const char ABOUT[] =
	"Prints {\"id\",\"text\",\"spans\":[{\"start\",\"end\",\"entity_type\"}]} for each "
	"document; end is the first position behind the span. The rules find EMAIL_ADDRESS, "
	"URL, IP_ADDRESS, IBAN_CODE, CREDIT_CARD, US_SSN, PHONE_NUMBER, DATE_TIME, CODE, MONEY "
	"and STREET_ADDRESS. They find AGE from 90 years on. They find PERSON behind a title "
	"or a word such as Patient:, or with initials. They know no other names: give a list "
	"of your own with --names.\n\n"

	"A line that cannot be read, or a wrong span, ends the command. So does a tagger that "
	"dies, is late or answers another question. Then there is exit code 4, the line and "
	"the rule, and no output.\n\n"

	"--against: recall is the share of the tagged spans that lie within found ones of their "
	"type. hidden is the same of any type. Precision is the share of the found spans that "
	"touch a tagged one of their type, private one of any type.\n";
// clang-format on

static const char PRIVATE[] = "PRIVATE: these numbers come from the documents, and no guarantee "
                              "covers them. Keep them where the documents are.";

/* All that the documents need, one after the other. */
struct tag_run {
	const struct tag_values *values;
	struct spans_request request; /* how a line is read and written */
	struct tagging tagging;
	struct span_types types;
	struct spans spans;  /* of the document */
	struct spans tagged; /* those of --against */
	struct agreement agreement;
	size_t documents;
};

/* On a terminal: how many documents are done, now and then. */
static void show_documents(const struct tag_run *run, bool last) {
	enum { EACH = 64 };
	if (!isatty(STDERR_FILENO) || (!last && run->documents % EACH)) return;
	fprintf(stderr, "\r\033[K%zu documents%s", run->documents, last ? "\n" : "");
}

/* Writes the document's line. The bytes are private: they are wiped, unlike those of jsonout_write.
 */
static enum cuttle_status write_document(const struct tag_run *run, struct sink *sink,
                                         struct cuttle_error *error) {
	size_t size;
	char *line = jsonout_dump(spans_encode(&run->request, &run->spans, &run->types),
	                          JSON_COMPACT, &size);
	const enum cuttle_status status = line ? sink_write(sink, line, size, error)
	                                       : io_fail(error, CUTTLE_NOMEM, "out of memory");
	secrecy_free(line);
	return status;
}

static enum cuttle_status tag_document(struct tag_run *run, const char *line, size_t size,
                                       struct sink *sink, struct cuttle_error *error) {
	const char *against = run->values->against;
	const size_t number = run->documents + 1;
	enum cuttle_status status =
	    spans_read(&run->request, line, size, number, &run->types, &run->spans, error);
	if (!status && against) {
		struct spans_request request = run->request;
		request.spans_field = against;
		if (!strcmp(against, "annotations")) request.format = SPANS_TAB;
		status = spans_read(&request, line, size, number, &run->types, &run->tagged, error);
	}
	if (!status)
		status = tagging_text(&run->tagging, &run->request, number, &run->types,
		                      &run->spans, error);
	if (!status && against)
		status =
		    agreement_add(&run->agreement, &run->types, &run->tagged, &run->spans, error);
	if (!status) status = write_document(run, sink, error);
	run->documents = number;
	return status;
}

static enum cuttle_status tag_lines(struct tag_run *run, struct source *source, struct sink *sink,
                                    struct cuttle_error *error) {
	for (;;) {
		const char *line;
		size_t size;
		enum cuttle_status status = source_line(source, &line, &size, error);
		if (status || !line) return status;
		// A line that is too long is given as an empty one; its length makes it be refused.
		if (source->cut) size = (size_t)SOURCE_LINE + 1;
		status = tag_document(run, line, size, sink, error);
		if (status) return status;
		show_documents(run, false);
	}
}

static struct records_request make_records_request(const struct tag_values *values) {
	return (struct records_request){.path = values->input,
	                                .field = values->text_field,
	                                .id_field = values->id_field,
	                                .format = (enum records_format)values->input_format,
	                                .delimiter = values->delimiter,
	                                .limit = SIZE_MAX};
}

/* The line of JSONL that says what a record of CSV does; the caller frees it with secrecy_free.
 * NULL: out of memory. */
static char *make_line(const struct tag_run *run, const struct records *records, size_t index,
                       size_t *size) {
	size_t text_size = 0, id_size = 0;
	const char *text = records_text(records, index, &text_size);
	const char *id = records_id(records, index, &id_size);
	json_t *line = json_pack("{s:o}", run->request.text_field,
	                         json_stringn_nocheck(text ? text : "", text_size));
	if (line && id &&
	    json_object_set_new(line, run->request.id_field,
	                        json_loadb(id, id_size, JSON_DECODE_ANY, NULL)) != 0) {
		json_decref(line);
		line = NULL;
	}
	return jsonout_dump(line, JSON_COMPACT, size);
}

/* A blank cell is an empty document. Any other record without a text is refused, as a line is. */
static enum cuttle_status tag_records(struct tag_run *run, const struct records *records,
                                      struct sink *sink, struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; !status && i < records_count(records); i++) {
		const enum record_state state = records_state(records, i);
		if (state != RECORD_READABLE && state != RECORD_BLANK)
			return io_fail(error, CUTTLE_INPUT,
			               "%s: record %zu has no text that can be read: cuttle "
			               "inspect says why",
			               run->request.path, i + 1);
		size_t size;
		char *line = make_line(run, records, i, &size);
		status = line ? tag_document(run, line, size, sink, error)
		              : io_fail(error, CUTTLE_NOMEM, "out of memory");
		secrecy_free(line);
		show_documents(run, false);
	}
	return status;
}

/* Opens the output, tags what either of the two gives, and closes it. */
static enum cuttle_status tag_to_sink(struct tag_run *run, struct source *source,
                                      const struct records *records, struct cuttle_error *error) {
	struct sink sink;
	enum cuttle_status status = sink_open_private(&sink, run->values->output, error);
	if (status) return status;
	status =
	    source ? tag_lines(run, source, &sink, error) : tag_records(run, records, &sink, error);
	status = tagging_close(&run->tagging, status, error);
	return sink_close(&sink, status, error);
}

static enum cuttle_status tag_file(struct tag_run *run, struct cuttle_error *error) {
	const struct records_request request = make_records_request(run->values);
	enum cuttle_status status = tagging_open(&run->values->tagging, &run->tagging, error);
	if (status) return status;
	run->request.path = file_shown(run->values->input);
	if (records_are_csv(&request)) {
		struct records *records;
		status = records_read(&request, &records, error);
		if (!status) status = tag_to_sink(run, NULL, records, error);
		records_free(&records);
	} else {
		struct source source;
		status = source_open(&source, run->values->input, error);
		if (!status) {
			status = tag_to_sink(run, &source, NULL, error);
			source_close(&source);
		}
	}
	return tagging_close(&run->tagging, status, error);
}

/* Checks the paths before one is opened, and that the input is of no foreign format by its name.
 * Returns the exit code. */
static int check_tag_paths(const struct verb *verb, const struct tag_values *values) {
	struct cuttle_error error;
	const struct path_use uses[] = {
	    PATH_ALONE("-i", values->input, PATH_STREAM),
	    PATH_ALONE("--names", values->tagging.names, PATH_FILE),
	    PATH_ALONE("-o", values->output, PATH_OUTPUT),
	};
	const int code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
	if (code) return code;
	const struct records_request request = make_records_request(values);
	enum cuttle_status status = records_check_name(&request, &error);
	if (!status && values->delimiter && values->input_format == RECORDS_JSONL)
		status = io_fail(&error, CUTTLE_USAGE, "--delimiter is for CSV");
	if (!status) status = formats_check_lines("-o", values->output, &error);
	if (!status && strcmp(values->output, "-"))
		status = rewrite_allowed(values->output, values->overwrite, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_tag_verb(const struct verb *verb, int argc, char **argv) {
	struct tag_values values = {.tagging = TAGGING_DEFAULTS,
	                            .input = "-",
	                            .output = "-",
	                            .text_field = "text",
	                            .id_field = "id"};
	struct cuttle_error error;
	int code;
	secrecy_begin();
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	if (values.against && !strcmp(values.output, "-"))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--against prints on standard output: name the documents' file "
		                   "with -o FILE");
	if ((code = check_tag_paths(verb, &values))) return code;
	struct tag_run *run = calloc(1, sizeof *run);
	if (!run) return verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	run->values = &values;
	run->request = (struct spans_request){.text_field = values.text_field,
	                                      .id_field = values.id_field,
	                                      .spans_field = values.spans_field,
	                                      .leave_identifier = values.leave,
	                                      .format = (enum spans_format)values.format,
	                                      .offsets = (enum spans_offsets)values.offsets};
	if (!values.spans_field && tagging_takes_own(&values.tagging))
		run->request.spans_field = "spans";
	const enum cuttle_status status = tag_file(run, &error);
	if (!status) {
		show_documents(run, true);
		tagging_warn(verb, &values.tagging);
	}
	if (!status && values.against) {
		printf("%s\n", PRIVATE);
		agreement_print(&run->agreement, &run->types, stdout);
	}
	spans_free(&run->spans);
	spans_free(&run->tagged);
	secrecy_free(run);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb tag_verb = {
    .name = "tag",
    .usage = "[-i FILE] [-o FILE] [OPTION]...",
    .summary =
        "marks what is private in documents: numbers, dates, streets, titled and listed names",
    .example = "-i docs.jsonl -o tagged.jsonl --names patients.txt",
    .another = "-i docs.jsonl -o tagged.jsonl --tagger \"python3 examples/tag_presidio.py\"",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_tag_verb,
};
