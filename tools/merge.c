// SPDX-License-Identifier: Apache-2.0
// cuttle merge: makes one output of the shards of a run, with its receipt. The work is done in
// workflow/merge.c; it reads no private text.
#include "tools/common/verbs.h"

#include "io/output/output.h"
#include "tools/common/watch.h"
#include "workflow/merge.h"
#include "workflow/spending.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef VALUE
#define VALUE(member) OPTION(struct merge_values, member)

struct merge_values {
	struct merge_request request;
	const char *key;
	bool quiet;
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "output", .letter = 'o', VALUE(request.common.output), .argument = "FILE",
	 .help = "all texts, in the order of the run; JSONL, or CSV where shard open had "
	         "--output-format csv"},
	{.name = "ledger", VALUE(request.common.ledger), .argument = "FILE",
	 .help = "the ledger that shard open charged: it must have the entry, and is told of the "
	         "output. Needed where there was one"},
	{.name = "key", VALUE(key), .argument = "PUBLIC",
	 .help = "run.json and the receipts of all shards must be signed with this key. "
	         "It is its 64 digits, or the file with them that cuttle ledger key made"},
	RECEIPT_OPTIONS(struct merge_values),
	{.name = "quiet", .letter = 'q', VALUE(quiet), .help = "no sentences, errors only"},
};

static const char ABOUT[] =
	"RUN is the folder of cuttle shard open, once cuttle generate has written all shards "
	"there. The output has the bytes that generate would have written on one machine. "
	"--trim and --drop are done now, in the order of the run. So is its receipt, but for "
	"\"shards\" and, for each, \"shard_sha256\" and \"shard_isa\". At the end the shards' "
	"references in RUN are overwritten and removed; their texts and receipts stay. No "
	"model is needed.\n\n"

	"Exit 6: shards lack; standard output has their numbers, as 0-2,5, which is what "
	"Slurm's --array takes. Exit 7: something contradicts, and nothing is written. That "
	"may be run.json, a receipt, a signature, the bytes of a shard, or a batch that is "
	"missing or there twice. It may also be an entry that the ledger has not or with other "
	"numbers.\n";
// clang-format on

/* Returns the exit code. */
static int check_merge_paths(const struct verb *verb, const struct merge_values *values) {
	const struct common_request *common = &values->request.common;
	char *receipt;
	struct cuttle_error error;
	const enum cuttle_status status =
	    common_receipt_beside(common->output, common->receipt, &receipt, &error);
	if (status) return verb_fail(verb, status, &error);
	const struct path_use uses[] = {
	    PATH_ALONE("RUN", values->request.folder, PATH_RUN),
	    PATH_ALONE("--key", values->key, PATH_FILE),
	    PATH_ALONE("--sign", common->sign, PATH_FILE),
	    {"--ledger", common->ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o",
	     common->output,
	     PATH_RECORD,
	     receipt,
	     {".journal", ".journal.key", LOTS_BESIDE, SPENDING_BESIDE, OUTPUT_DROPPED}},
	    PATH_ALONE("--receipt", common->receipt, PATH_RECORD),
	};
	const int code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
	free(receipt);
	return code;
}

static int run_merge_verb(const struct verb *verb, int argc, char **argv) {
	struct merge_values values = {0};
	struct merge_request *request = &values.request;
	struct merge_result result;
	struct cuttle_error error;
	char public_key[SIGNATURE_PUBLIC];
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	const struct verb_need needs[] = {{operand >= argc, "RUN", "RUN"},
	                                  {!request->common.output, "-o OUT", "-o out.jsonl"}};
	if ((code = verb_lacks(verb, needs, sizeof needs / sizeof *needs))) return code;
	if (operand + 1 != argc) return verb_refuse(verb, CUTTLE_USAGE, "name one folder, RUN");
	request->folder = argv[operand];
	if (shard_inside(request->folder, request->common.output) ||
	    shard_inside(request->folder, request->common.receipt))
		return verb_refuse(
		    verb, CUTTLE_USAGE,
		    "-o and --receipt: the output goes somewhere else than into RUN");
	if ((code = check_merge_paths(verb, &values))) return code;
	request->common.now = verb_now((uint64_t)time(NULL));
	enum cuttle_status status = CUTTLE_OK;
	if (values.key) {
		request->key = public_key;
		status = signature_read_public(values.key, public_key, &error);
	}
	if (!status) {
		status = merge_outputs(request, &result, &error);
		if (result.lacking) printf("%s\n", result.lacking);
		free(result.lacking);
	}
	if (status) return verb_fail(verb, status, &error);
	if (values.quiet) return CUTTLE_OK;
	if (!watch_complete(request->common.output, false, result.complete))
		fprintf(stderr, "%s\n%" PRIu64 " texts of %" PRIu64 " shards, %" PRIu64 " in %s\n",
		        result.guarantee, result.texts, result.shards, result.kept,
		        request->common.output);
	watch_formulas(result.formulas);
	return CUTTLE_OK;
}

const struct verb merge_verb = {
    .name = "merge",
    .usage = "RUN -o OUT [--ledger FILE] [OPTION]...",
    .summary = "the shards of a run, as one output with its receipt",
    .example = "RUN -o out.jsonl --ledger spent.db",
    .another = "RUN -o out.jsonl --key officer.pub --sign officer",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_merge_verb,
};
