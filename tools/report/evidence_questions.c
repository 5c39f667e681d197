// SPDX-License-Identifier: Apache-2.0
// questions.md: ten questions of an officer, each answered with file and line.
//
// The other pages are there already. A line is found by words that stand in it, so it is right
// whatever the receipts say.
#include "tools/report/evidence_pages.h"

#include <math.h>
#include <string.h>

/* What is being written, and where lines are looked for. */
struct asking {
	FILE *file;
	const struct dossier *dossier;
	const struct evidence_page *pages; /* [count] */
	size_t count;
	bool lost; /* a line was not found */
};

/* The number of the first line that begins with these words, or has them, in JSON lines; 0 = none.
 * A foreign word is in the middle of a line, so it is never taken for one of ours. */
static size_t find_words_line(const char *text, const char *words, bool within) {
	size_t line = 1;
	for (const char *at = text; at && *at; line++) {
		const size_t length = strcspn(at, "\n");
		const char *found = within ? strstr(at, words) : at + strspn(at, " ");
		if (found && found < at + length && !strncmp(found, words, strlen(words)))
			return line;
		at += length + (at[length] == '\n');
	}
	return 0;
}

/* A source: the line with these words in the file of that name, if the folder has the file. */
static void put_source(struct asking *asking, const char *name, const char *words) {
	for (size_t i = 0; i < asking->count; i++) {
		if (strcmp(asking->pages[i].name, name) != 0) continue;
		const size_t line =
		    find_words_line(asking->pages[i].text, words, !strcmp(name, "ledger.jsonl"));
		if (!line) asking->lost = true;
		fprintf(asking->file, "- `%s:%zu`: `%s`\n", name, line, words);
	}
}

static void ask(struct asking *asking, int number, const char *question, const char *answer) {
	fprintf(asking->file, "\n## %d. %s\n\n%s\n\n", number, question, answer);
}

static void put_yours(struct asking *asking, const char *what) {
	fprintf(asking->file, "- %s: " EVIDENCE_YOURS "\n", what);
}

/* The same line of each receipt. */
static void put_receipt_sources(struct asking *asking, const char *words) {
	for (size_t i = 0; i < asking->dossier->holding; i++)
		put_source(asking, asking->dossier->receipts[i].name, words);
}

static const char *name_readers(const struct dossier *dossier) {
	if (!dossier->holding) return "Against nobody: no receipt here holds.";
	if (!evidence_guarded(dossier))
		return "Of an output with a stamp above, against nobody. Of the others, as their "
		       "receipts say.";
	if (dossier->counts_lots)
		return "Against any reader of the output, with any computer, and any knowledge but "
		       "that of the lots. Who knows which batch a record was in may learn more, "
		       "and "
		       "that epsilon has a row of its own. Not against who watches the machine at "
		       "work, nor against who runs it.";
	return "Against any reader of the output, with any knowledge and any computer. Not against "
	       "who watches the machine at work, nor against who runs it.";
}

static void ask_promise(struct asking *asking) {
	const struct dossier *dossier = asking->dossier;
	const bool held = evidence_guarded(dossier);
	ask(asking, 1, "What is protected?",
	    !dossier->holding ? "Nothing: no receipt here holds."
	    : held ? "The unit of each receipt, and how far conclusions about it may move."
	           : "Only what receipts without a stamp above say. The others protect nothing.");
	put_receipt_sources(asking, "\"unit\":");
	put_receipt_sources(asking, "\"guarantee\":");
	put_source(asking, "verify.txt", "exit code");
	if (dossier->holding) put_source(asking, "dpia.md", "| Unit and neighbours 1 |");
	ask(asking, 2, "Against whom?", name_readers(dossier));
	put_source(asking, "sp800-226.md", "| Threat and trust model |");
	put_source(asking, "sp800-226.md", "| Hazard: timing |");
	put_source(asking, "hipaa.md", "| Other information |");
	if (dossier->counts_lots)
		put_source(asking, "dpia.md", "| epsilon if the record's batch is known |");
	ask(asking, 3, "For how long?",
	    !dossier->holding ? "Nothing is promised, so there is no time to tell."
	                      : "For ever: nothing that is learnt or computed later makes a bound "
	                        "weaker. Further runs over the same records add to it.");
	put_source(asking, "hipaa.md", "| Other information |");
	put_source(asking, "sp800-226.md", "| Composition and budget |");
}

static void ask_budget(struct asking *asking) {
	const struct dossier *dossier = asking->dossier;
	ask(asking, 4, "What adds up?",
	    "All runs over the same records. So do several records of one person, and an "
	    "evaluation "
	    "that asked the records through noise. Reading an output again costs nothing.");
	put_source(asking, "sp800-226.md", "| Composition and budget |");
	put_source(asking, "sp800-226.md", "| Unit of privacy |");
	put_source(asking, "ledger.jsonl", "\"kind\":\"reserve\"");
	ask(asking, 5, "What if we run it again?",
	    dossier->is_counted
	        ? "It is a second run, and costs again. The ledger refuses it where the limit "
	          "would be exceeded (exit code 3)."
	        : "It is a second run, and costs again. Not every run here was found in a ledger, "
	          "so nobody may notice.");
	put_source(asking, "dpia.md", "| Counting of runs |");
	put_source(asking, "ledger.jsonl", "\"kind\":\"dataset\"");
	put_source(asking, "sp800-226.md", "| Composition and budget |");
}

static void ask_tests(struct asking *asking) {
	const struct report *report = &asking->dossier->report;
	ask(asking, 6, "What was tested?",
	    report->audit_count
	        ? "Each receipt was made anew and compared. The audits of the table were run."
	        : "Each receipt was made anew and compared. No audit is in this folder.");
	put_source(asking, "verify.txt", "$ cuttle receipt verify");
	put_source(asking, "dpia.md", "| Attribute and membership inference, 55(i) |");
	put_source(asking, "sp800-226.md", "| Tests of the implementation |");
	ask(asking, 7, "What did you not test?",
	    "Rows that say *not run*, everything in the list of what is not covered, and rows that "
	    "say *yours*. An attack that failed shows nothing about another.");
	put_source(asking, "dpia.md", "| Exfiltration, 55(ii) |");
	put_source(asking, "dpia.md", "| What is not covered |");
	put_source(asking, "sp800-226.md", "| Utility |");
	if (report->left_out) {
		fputs("- ", asking->file);
		evidence_left_out(asking->file, asking->dossier);
		fputc('\n', asking->file);
	}
}

static void ask_keeping(struct asking *asking) {
	const struct dossier *dossier = asking->dossier;
	ask(asking, 8, "Who can verify?",
	    "Whoever has this folder and cuttle can repeat verify.txt, with the outputs and the "
	    "ledger beside it. A signature says who wrote a receipt, not that it is true.");
	put_source(asking, "verify.txt", "$ cuttle receipt verify");
	put_source(asking, "dpia.md", "| Signature |");
	ask(asking, 9, "What must we keep?",
	    "The receipts, the outputs as they are, the ledger and its newest hash, and the public "
	    "key. How long is yours.");
	put_source(asking, "verify.txt", "$ cuttle receipt verify");
	put_receipt_sources(asking, "\"output_sha256\":");
	put_yours(asking, "Retention of the records");
	ask(asking, 10, "When must we say no?",
	    "When a page is stamped, a receipt does not hold, or the ledger refuses. When you "
	    "cannot "
	    "defend the epsilon, or settings were chosen by looking at the records.");
	put_source(asking, "verify.txt", "exit code");
	put_source(asking, "dpia.md", "## Risk as odds");
	put_source(asking, "sp800-226.md", "| Hazard: a large epsilon |");
	put_yours(asking, "Which epsilon you can defend");
	if (!dossier->holding) put_yours(asking, "Why no receipt holds");
}

bool evidence_write_questions(FILE *file, const struct dossier *dossier,
                              const struct evidence_page *pages, size_t count) {
	struct asking asking = {file, dossier, pages, count, false};
	evidence_head(file, dossier, "Ten questions",
	              "Each answer is followed by the lines that say so: file, line, and words "
	              "that stand there.");
	ask_promise(&asking);
	ask_budget(&asking);
	ask_tests(&asking);
	ask_keeping(&asking);
	return !asking.lost;
}
