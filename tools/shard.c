// SPDX-License-Identifier: Apache-2.0
// cuttle shard open: charges a run that several machines will write, and gives each its part of the
// references. The work is done in workflow/shards.c. No private text passes through here.
//
// Its options are those of cuttle generate (tools/common/values.h), and it begins as that does.
//
// The way of a run over many machines:
//   tools/shard.c              options of generate to a request; nothing private is read yet
//   workflow/shards.c          the run is charged whole, and marked as drawn
//     workflow/references.c    all records are placed, as for one machine
//     io/shards/shard_texts.c  each shard's own places, in a file for each; PRIVATE
//     io/shards/shard_run.c    run.json, which is there last: what all shards have in common
//   tools/generate.c           --shard: which one this process is (io/output/shard.c), waits for
//                              run.json
//   workflow/setup.c           the same plan and fingerprint, or the shard is refused
//   workflow/generate.c        its own batches, by their numbers in the run
//                              (engine/run/loop/generate.c)
//     workflow/references.c    places to texts of the shard's file; no input is opened
//     io/output/output.c       the shard is taken before its first token is kept
//   io/shards/shard_run.c      a shard's receipt, beside its lines
//   tools/merge.c              which shards lack
//   workflow/merge.c           receipts, hashes, batches and the ledger agree; the lines in the
//                              order of the run go through io/output/output.c and its filters; the
//                              charge is closed
#include "tools/common/values.h"

#include "io/disk/secrecy.h"
#include "workflow/shards.h"
#include "workflow/warnings.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// clang-format off
static const char ABOUT[] =
	"All other options are those of cuttle generate: cuttle help generate --all.\n\n"

	"Three steps write one run on several machines. The options of the first two are those "
	"of cuttle generate, and the same:\n\n"

	"    cuttle shard open OPTIONS -i notes.jsonl -o RUN --shards 8 --ledger F --dataset "
	"D\n"
	"    cuttle generate OPTIONS -i notes.jsonl -o RUN --shard I/8   on each machine, I "
	"from 0 to 7\n"
	"    cuttle merge RUN -o out.jsonl --ledger F\n\n"

	"The first charges the whole run, once, marks it as drawn, and makes the folder RUN "
	"(mode 0700). run.json says what all shards have in common. For each shard there are "
	"the references of its own batches, as secret as the records. Batch b is in shard b "
	"mod N. With lots (--lots) the batches are drawn here, and their key is kept nowhere. "
	"Called again, it says that the run is open.\n\n"

	"The second reads neither -i nor a ledger, only RUN; -i is given so that it is the "
	"same command. RUN stands on a disk that all machines see, or run.json and a shard's "
	"files are copied to one machine each. It may be stopped and continued like any "
	"generate, there and nowhere else. A file ending in .taken says that a journal has "
	"begun it, before its first token is kept. A second copy is refused. --shard auto asks "
	"the launcher which shard this is: OpenMPI, MPICH, a Slurm step or array, or a "
	"Kubernetes Job with CUTTLE_SHARDS. It refuses to guess (exit 2). Exit 7: no run is "
	"open there (--wait S), or another journal has begun the shard.\n\n"

	"The third lists the shards that lack (exit 6), or writes what one machine would have "
	"written.\n\n"

	"--redraw I, with the same options: the journal of shard I is lost for good. What it "
	"drew may have been seen, so the run is charged again before the shard may be drawn "
	"again. With --nobody-saw WHO nothing is charged, on the word of WHO that nobody saw "
	"it. Either is in the receipt. With lots only a word will do: a second draw from the "
	"same lots costs more than twice.\n\n"

	"Not on several machines: private categories, --clusters, lots of owners, --rounds 2, "
	"--drop unlikely, --trace. Each needs counts or texts that one process has.\n\n"

	"Exit 3 when the charge would go over the limit. Recipes for Slurm, MPI, GNU parallel "
	"and Kubernetes: packaging/examples, or /usr/share/doc/cuttle/examples.\n";
// clang-format on

// clang-format off
/* Options of generate that mean something else here. They are parsed by generate's own table. */
static const struct option_entry LISTED[] = {
	{.name = "output", .letter = 'o', .argument = "RUN",
	 .help = "the folder of the run; where there is none it is made, with mode 0700, which it "
	         "must have"},
	{.name = "shards", .argument = "N", .help = "how many shards there are, 0 to N-1"},
	{.name = "ledger", .argument = "FILE",
	 .help = "charge the whole run in the ledger; exit 3 when it would go over the limit "
	         "(see cuttle help ledger)"},
	{.name = "dataset", .argument = "NAME",
	 .help = "what the references are called, in the receipt and in the ledger"},
	{.name = "redraw", .argument = "I",
	 .help = "let shard I, whose journal is lost, be drawn again, and pay for the run again"},
	{.name = "nobody-saw", .argument = "WHO",
	 .help = "with --redraw: pay nothing, on the word of WHO that nobody has seen what the "
	         "shard drew; the receipt says so"},
};
// clang-format on

static const char *name_open_fault(const struct generate_values *values) {
	const struct generate_request *request = &values->request;
	if (values->shard) return "--shard is for cuttle generate, which writes one";
	if (values->wait) return "--wait is for cuttle generate --shard";
	if (values->dry_run) return "--dry-run is for cuttle generate, without --shard";
	if (values->json || values->bench || values->reference_tokens)
		return "--json, --bench and --reference-tokens are for --dry-run";
	if (request->common.overwrite)
		return "--overwrite: what is open in a folder stays; name another one";
	if (values->nobody_saw && values->redraw == COUNT_NONE)
		return "--nobody-saw is for --redraw";
	if (values->nobody_saw && !*values->nobody_saw) return "--nobody-saw: name who says so";
	if (!strcmp(request->common.output, "-")) return "-o RUN: a folder, which holds the shards";
	return shards_fault(request);
}

static void say_opened(const struct generate_values *values, const struct setup *setup,
                       const char *folder, bool already) {
	if (values->quiet) return;
	if (values->redraw != COUNT_NONE)
		fprintf(stderr, "Shard %" PRIu64 " of %s may be drawn again.\n", values->redraw,
		        folder);
	else if (already) fprintf(stderr, "The run in %s is open already.\n", folder);
	else {
		warnings_print(stderr, &values->request, setup);
		fprintf(stderr,
		        "%zu %s in %" PRIu64
		        " shards are open in %s. For each: cuttle generate with the same "
		        "options, but for the ledger, and --shard I/%" PRIu64 ". Then: cuttle "
		        "merge %s\n",
		        setup->receipt.texts,
		        setup->receipt.guarantee.savings.token_bank ? "batches of texts" : "texts",
		        values->shards, folder, values->shards, folder);
	}
}

static enum cuttle_status begin_run(const struct generate_values *values, const char *folder,
                                    struct setup *setup, struct cuttle_error *error) {
	const struct shards_request request = {
	    .run = &values->request, .folder = folder, .shards = values->shards};
	bool already = false;
	const enum cuttle_status status =
	    values->redraw == COUNT_NONE
	        ? shards_open(&request, setup, &already, error)
	        : shards_redraw(&request, setup, values->redraw, values->nobody_saw, error);
	if (status) return status;
	if (!already && values->redraw == COUNT_NONE) generate_say(values, setup);
	say_opened(values, setup, folder, already);
	return CUTTLE_OK;
}

static int run_open(const struct verb *verb, int argc, char **argv) {
	struct generate_values values;
	struct setup_model opened = {0};
	struct setup setup = {0};
	struct cuttle_error error = {"out of memory"};
	int code;
	if (!generate_read(verb, argc, argv, &values, &code)) return code;
	const char *fault = name_open_fault(&values), *folder = values.request.common.output;
	if (fault) return verb_refuse(verb, CUTTLE_USAGE, fault);
	const bool stood = !access(folder, F_OK);
	char *file = shards_file(folder);
	enum cuttle_status status =
	    file ? shards_folder(&values.request, folder, &error) : CUTTLE_NOMEM;
	if (status) {
		free(file);
		return verb_fail(verb, status, &error);
	}
	values.request.common.output = file;
	code = values_check(verb, &values);
	if (!code) code = verb_open_hashed(verb, &values.open, &opened);
	if (!code) {
		status = generate_open(&values.request, &opened, &setup, &error);
		if (!status) status = begin_run(&values, folder, &setup, &error);
		if (status) code = verb_fail(verb, status, &error);
	}
	generate_free(&setup);
	cuttle_model_free(&opened.model);
	// What this command has made, and left empty, goes.
	if (code && !stood) (void)rmdir(folder);
	free(file);
	return code;
}

static const char *const ACTIONS[] = {"open"};

static int run_shard_verb(const struct verb *verb, int argc, char **argv) {
	size_t action;
	secrecy_begin();
	const bool option = argc > 1 && argv[1][0] == '-';
	struct generate_values values = values_defaults();
	int code;
	// cuttle shard --help, and an option that there is not, are told as of any verb. Options
	// alone open nothing.
	if (option && !verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	if (!verb_action(verb, argc > 1 && !option ? argv[1] : NULL, ACTIONS, 1, &action))
		return CUTTLE_USAGE;
	return run_open(verb, argc - 1, argv + 1);
}

const struct verb shard_verb = {
    .name = "shard",
    .usage = "open -m MODEL -i REFS -o RUN -e EPS --shards N [OPTION]...",
    .summary = "one run of generate on many machines: charges it, and deals out its references",
    .example = "open -m MODEL.gguf -i notes.jsonl -o RUN -e 10 --shards 8",
    .another = "open -m MODEL.gguf -i notes.jsonl -o RUN -e 10 --shards 8 --redraw 3 "
               "--nobody-saw officer",
    .about = ABOUT,
    .options = generate_options,
    .option_count = GENERATE_OPTIONS,
    .listed = LISTED,
    .listed_count = sizeof LISTED / sizeof *LISTED,
    .actions = ACTIONS,
    .action_count = sizeof ACTIONS / sizeof *ACTIONS,
    .run = run_shard_verb,
};
