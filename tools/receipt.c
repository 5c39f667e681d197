// SPDX-License-Identifier: Apache-2.0
// cuttle receipt verify: checks whether a receipt agrees with itself, its output, its model and its
// ledger. Then it says in words what the receipt promises and what it does not.
//
// tools/report/verify_text compares it and prints the words. A receipt is public: no private data
// passes through.
#include "tools/common/verbs.h"

#include "io/ledger/ledger.h"
#include "tools/report/verify_text.h"
#include <string.h>

#define VALUE(member) OPTION(struct receipt_values, member)

struct receipt_values {
	struct verification_files files;
	const char *key; /* 64 hex digits, or the path of a file with them; NULL = any key */
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "output", .letter = 'o', VALUE(files.output), .argument = "FILE",
	 .help = "the output: its hash must be the receipt's"},
	{.name = "dropped", VALUE(files.dropped), .argument = "FILE",
	 .help = "the texts that --drop left out: their hash must be the receipt's"},
	{.name = "model", .letter = 'm', VALUE(files.model), .argument = "FILE",
	 .help = "the model: its hash must be the receipt's"},
	{.name = "words", VALUE(files.words), .argument = "FILE",
	 .help = "the words file of cuttle perturb: its hash must be the receipt's"},
	{.name = "grammar", VALUE(files.grammar), .argument = "FILE",
	 .help = "the grammar of the texts: its hash must be the receipt's"},
	{.name = "schema", VALUE(files.schema), .argument = "FILE",
	 .help = "the schema of the records: its hash must be the receipt's"},
	{.name = "bias", VALUE(files.bias), .argument = "FILE",
	 .help = "the bias of cuttle learn: its hash must be the receipt's, and its own receipt, "
	         "beside it, must hold and promise what this one says"},
	{.name = "parent", VALUE(files.parent), .argument = "FILE",
	 .help = "of cuttle expand: the receipt of the output that it expanded, which must hold "
	         "and be the one that is named"},
	{.name = "ledger", VALUE(files.ledger), .argument = "FILE",
	 .help = "the ledger: it must have the receipt's entry, with its numbers and closed with "
	         "its output, in an unbroken chain"},
	{.name = "key", VALUE(key), .argument = "PUBLIC",
	 .help = "the receipt must be signed with this key: its 64 digits, or the file with them "
	         "that cuttle ledger key made"},
};

static const char ABOUT[] =
	"Makes the receipt anew from what the run chose, and compares every member with that. "
	"rho and both epsilons follow from the integers. Of cuttle sanitize each group's "
	"losses and epsilons follow from the caps. Of cuttle perturb the table and both "
	"epsilons follow from that of a word. What an expansion's parent promised is taken as "
	"it stands, unless --parent has its receipt. The guarantee in words, whom it is for "
	"and the charge are made anew, too.\n\n"

	"Compares what is given with its hashes, and checks the signature. Says in words what "
	"is promised and what not, and names the members that nothing given shows to be true "
	"(not checked). Exit 0: all of it agrees and the output is private. Exit 7: something "
	"was changed, or belongs to another receipt. That may be a member, a byte, the output, "
	"the model, the signature, the key or the ledger. Exit 4: a file cannot be read, is no "
	"receipt, or is one of another format, or the output is NOT PRIVATE.\n\n"

	"\"epsilon\" is that of the accountant that was asked for, \"accountant\"; the other "
	"one's is epsilon_zcdp or epsilon_exact. \"date\" is the day, in UTC, on which the "
	"command began that finished the output. SOURCE_DATE_EPOCH, when set, says which. "
	"\"dataset\" is the name given with generate --dataset.\n\n"

	"A receipt without signature proves that its numbers belong together and to these "
	"files, not who wrote it. One that is signed was written by somebody with the secret "
	"key. Anybody can sign with a key of their own, so --key is what counts. The signature "
	"(Ed25519) is of the receipt's bytes without the line \"signature\".\n";
// clang-format on

static enum cuttle_status verify_receipt(const char *path, const struct receipt_values *values,
                                         struct cuttle_error *error) {
	char public_key[SIGNATURE_PUBLIC];
	const char *key = values->key ? public_key : NULL;
	const enum cuttle_status status =
	    key ? signature_read_public(values->key, public_key, error) : CUTTLE_OK;
	return status ? status : verify_write(stdout, path, &values->files, key, error);
}

static const char *const ACTIONS[] = {"verify"};

static int run_receipt_verb(const struct verb *verb, int argc, char **argv) {
	struct receipt_values values = {0};
	struct cuttle_error error = {"out of memory"};
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	size_t action;
	if (!verb_action(verb, operand < argc ? argv[operand] : NULL, ACTIONS, 1, &action))
		return CUTTLE_USAGE;
	const struct verb_need need = {operand + 1 == argc, "FILE", NULL};
	if ((code = verb_lacks(verb, &need, 1))) return code;
	if (operand + 2 != argc)
		return verb_refuse(verb, CUTTLE_USAGE, "name one receipt, behind verify");
	const char *path = argv[operand + 1];
	const struct path_use uses[] = {
	    PATH_ALONE("receipt", strcmp(path, "-") ? path : NULL, PATH_FILE),
	    PATH_ALONE("--output", values.files.output, PATH_FILE),
	    PATH_ALONE("--dropped", values.files.dropped, PATH_FILE),
	    PATH_ALONE("--model", values.files.model, PATH_MODEL),
	    PATH_ALONE("--words", values.files.words, PATH_FILE),
	    PATH_ALONE("--grammar", values.files.grammar, PATH_FILE),
	    PATH_ALONE("--schema", values.files.schema, PATH_FILE),
	    PATH_ALONE("--parent", values.files.parent, PATH_FILE),
	    PATH_ALONE("--bias", values.files.bias, PATH_FILE),
	    PATH_ALONE("--key", values.key, PATH_FILE),
	    {"--ledger", values.files.ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	};
	code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
	if (code) return code;
	enum cuttle_status status = verify_receipt(path, &values, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb receipt_verb = {
    .name = "receipt",
    .usage = "verify RECEIPT [--output FILE] [--ledger FILE] [--key PUBLIC] [OPTION]...",
    .summary = "what a receipt promises, and whether it agrees with its output",
    .example = "verify out.receipt.json --output out.jsonl --model MODEL.gguf",
    .another = "verify more.receipt.json --dropped more.jsonl.dropped.jsonl "
               "--parent out.receipt.json",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .actions = ACTIONS,
    .action_count = sizeof ACTIONS / sizeof *ACTIONS,
    .run = run_receipt_verb,
};
