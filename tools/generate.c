// SPDX-License-Identifier: Apache-2.0
// cuttle generate: writes private texts from a file of sensitive documents. The work is done in
// workflow/; here options become its request, and what it tells becomes words on standard error. No
// private text passes through.
//
// The order matters, and is that of run_generate_verb:
//   1. options are checked, and become a request (tools/common/values.h, workflow/request.h)
//   2. the model is opened; prompts and plan are made (workflow/setup.h)
//   3. --dry-run: the plan is printed (tools/common/preview.h); the input's records are counted
//   4. else the run reads, charges, draws and delivers (workflow/run.h)
#include "tools/common/values.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include "tools/common/presets.h"
#include "tools/common/preview.h"
#include "tools/common/quote.h"
#include "tools/common/watch.h"
#include "workflow/sample.h"
#include "workflow/references.h"
#include "workflow/generate.h"
#include "workflow/shards.h"
#include "workflow/warnings.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	GROUP_BUDGET = 1, /* --epsilon or --clip */
	GROUP_TEXTS,      /* --num or --num-per-category */
	GROUP_LIMIT       /* --one-per-unit or --records-per-unit */
};

// clang-format off
const struct option_entry generate_options[] = {
	MODEL_OPTION(struct generate_values),
	{.name = "input", .first = true, .letter = 'i', VALUE(request.common.input),
	 .argument = "FILE",
	 .help = "references: one sensitive document per record, JSONL, CSV or TSV, in a "
	         "file or from a pipe. - is standard input. Lots, private categories and "
	         "clusters need a file, as its records are counted first"},
	{.name = "text-field", .first = true, VALUE(request.text_field), .argument = "NAME",
	 .help = "field or column with the document (default text)"},
	FORMAT_OPTIONS(struct generate_values, request.input_format, request.delimiter),
	{.name = "unit-key", .first = true, VALUE(request.common.unit_key), .argument = "FIELD",
	 .help = "field or column that says whose a record is. The guarantee is then for "
	         "everybody with one value of it. A record without one is not read"},
	{.name = "one-per-unit", .first = true, .group = GROUP_LIMIT, VALUE(one_per_unit),
	 .help = "read one record of each unit, its first one. -e is then what a whole "
	         "person costs"},
	{.name = "records-per-unit", .group = GROUP_LIMIT, VALUE(records_per_unit),
	 .argument = "G|all",
	 .help = "read at most G records of each unit, one per text, the first ones. -e "
	         "is then what all of them cost together. all: read all, for -e each, and "
	         "declare public who has how many"},
	{.name = "category-field", .first = true, VALUE(category_fields), .argument = "FIELD",
	 .most = CATEGORY_FIELDS,
	 .help = "field or column with the records' category, which stays private. How "
	         "many texts each has follows from noisy counts. May be given up to four "
	         "times, for categories of several fields"},
	{.name = "categories", .first = true, VALUE(request.categories), .argument = "LIST|FILE",
	 .help = "the categories to write: A,B,C, or a FILE that ends in .csv or .jsonl. "
	         "It has each category field and, with --category-public, its share if "
	         "wanted"},
	{.name = "category-public", VALUE(request.category_public),
	 .help = "declare the category of every record public. Each then has texts by its "
	         "share, from records in their order"},
	{.name = "clusters", VALUE(request.clusters), .argument = "FILE",
	 .help = "group records by what they say, as this file of cuttle clusters tells. "
	         "A record's cluster stays private, as a category does"},
	{.name = "bias", VALUE(request.bias), .argument = "FILE",
	 .help = "what cuttle learn has made of all records, its receipt beside it: each text "
	         "is more like them. It adds to what references say, and was charged before"},
	{.name = "epsilon", .first = true, .letter = 'e', .group = GROUP_BUDGET,
	 VALUE(request.plan.epsilon),
	 .range = EPSILON_RANGE, .argument = "EPS",
	 .help = "privacy loss per record, from which the clip follows"},
	{.name = "clip", .group = GROUP_BUDGET, VALUE(request.plan.clip), .range = CLIP_RANGE,
	 .argument = "C",
	 .help = "bound of each logit difference, instead of -e"},
	{.name = "delta", .first = true, VALUE(request.plan.delta), .range = DELTA_RANGE,
	 .argument = "D",
	 .help = "what is added to the probability of any event, beside its factor e^epsilon "
	         "(default 1e-6)"},
	{.name = "accountant", VALUE(accountant), .argument = "zcdp|exact",
	 .help = "what -e and the guarantee mean. exact (default): exact composition of "
	         "the run's tokens. zcdp (default with a ledger that is charged rho): "
	         "what that ledger adds up. It allows 6 to 9 % less clip, and less still "
	         "below 20 tokens and with lots"},
	{.name = "batch-size", .first = true, .letter = 'B', VALUE(request.plan.batch),
	 .argument = "B",
	 .most = 4096,
	 .help = "references per text (default 7). With --shots rows per text. 0 with --bias: no "
	         "record is read, and any number of texts is free"},
	{.name = "shots", VALUE(request.plan.shots), .argument = "R",
	 .least = 1, .most = CUTTLE_MOST_SHOTS,
	 .help = "references in each row's prompt, one behind the other (default 1). Several say "
	         "more than one: a text takes up a style that all have. N x B x R records are "
	         "needed. Epsilon is the same, as each record is in one row. A record that cannot "
	         "be read takes its row with it. So does one over the limit of --unit-key: sort "
	         "the input by owner, or keep one record of each"},
	{.name = "lots", VALUE(lots), .argument = "auto|on|off",
	 .help = "on: secret lots decide which records a text is written from. So records "
	         "to spare buy a larger clip at the same -e. auto (default): where they "
	         "use at most half of the records and the clip grows by a tenth. off: "
	         "records in their order"},
	{.name = "method", VALUE(method),
	 .argument = "invisibleink|amin|pmixed|adapmixed|dp-decoding|dp-prompt|none",
	 .help = "how tokens are drawn (default invisibleink). The others are there to "
	         "compare with, see below"},
	{.name = "preset", VALUE(preset), .argument = "NAME",
	 .help = "settings of InvisibleInk's Table 2, which options beside it change. "
	         "table2-ink-B-EPS (k 50) and table2-ink-all-B-EPS have B 3, 7, 15. "
	         "table2-amin-B-EPS has B 31, 63, 127. EPS is 1, 3, 5 or 10"},
	{.name = "not-private", VALUE(request.plan.method_params.not_private),
	 .help = "needed for --method none and adapmixed, which promise nothing: all texts are "
	         "stamped NOT PRIVATE"},
	{.name = "clip-width", VALUE(request.plan.method_params.clip_width),
	 .range = "above 0, as in 5", .argument = "W",
	 .help = "dp-prompt: clip a reference's logits to so many nats, instead of -e"},
	{.name = "mix", VALUE(request.plan.method_params.mix),
	 .range = "above 0 and below 1, as in 0.5", .argument = "L",
	 .help = "dp-decoding: share of the model's law, the rest is uniform; instead of -e"},
	{.name = "order", VALUE(order), .argument = "A|inf",
	 .help = "pmixed: order of the divergence that is bounded, 2 to 16, or inf "
	         "(default). inf bounds every odds and alone has rho"},
	{.name = "divergence", VALUE(request.plan.method_params.divergence),
	 .range = "above 0, as in 0.1", .argument = "C",
	 .help = "pmixed, adapmixed: how far each reference's law may be from the public "
	         "one (default 4.5 with adapmixed). With pmixed it stands instead of -e, "
	         "but beside it with --record-filter"},
	{.name = "record-filter", VALUE(request.plan.method_params.record_filter),
	 .help = "pmixed with --order 2 to 16: count what each reference has lost, and read it "
	         "until that is its budget, -e"},
	{.name = "units", VALUE(request.plan.method_params.units),
	 .argument = "R", .least = 1, .most = 1 << 20,
	 .help = "amin: thresholds of a text, at most. Each pays for one private token "
	         "(default a quarter of -n)"},
	{.name = "svt-noise", VALUE(request.plan.method_params.svt_noise),
	 .range = "above 0, as in 0.3", .argument = "SIGMA",
	 .help = "amin: noise of the test whether a token may be public (default 0.3)"},
	{.name = "svt-threshold", VALUE(request.plan.method_params.svt_threshold),
	 .range = "from 0 to 2, as in 0.7", .argument = "THETA",
	 .help = "amin: the distance of laws from which on a token is private (default 0.7)"},
	{.name = "temperature-public", VALUE(request.plan.method_params.temperature_public),
	 .range = TEMPERATURE_RANGE, .argument = "TAU",
	 .help = "amin: temperature of public tokens (default 1)"},
	{.name = "ledger", .first = true, VALUE(request.common.ledger), .argument = "FILE",
	 .help = "count this run in the ledger before it draws. Exit 3 when it would go "
	         "over the limit (see cuttle help ledger)"},
	{.name = "charge", VALUE(charge), .argument = "epsilon|rho",
	 .help = "what the ledger is charged. epsilon (default with lots): epsilon and "
	         "delta. rho: lots do not lower it. A data set takes one of the two, and "
	         "the default is what it took before"},
	{.name = "approved", VALUE(request.common.approved), .argument = "COMMAND:LOSS",
	 .help = "run what was approved alone: exit 2, and no charge, unless --dry-run --json says "
	         "this command_sha256 and this loss of its charge"},
	{.name = "dataset", .first = true, VALUE(request.common.dataset), .argument = "NAME",
	 .help = "what the references are called, in the receipt and in the ledger"},
	{.name = "num", .first = true, .letter = 'N', .group = GROUP_TEXTS, VALUE(request.texts),
	 .argument = "TEXTS", .least = 1, .most = SIZE_MAX / 2,
	 .help = "texts to write, with --token-bank batches (default 100). N x B "
	         "references are needed, but with private categories or clusters there "
	         "may be fewer texts"},
	{.name = "num-per-category", .group = GROUP_TEXTS, VALUE(request.texts_per_share),
	 .argument = "TEXTS", .least = 1, .most = SIZE_MAX / 2,
	 .help = "with --category-public: texts for each share of 1, instead of -N, which is "
	         "spread over the categories by their shares"},
	{.name = "max-tokens", .first = true, .letter = 'n', VALUE(request.plan.tokens),
	 .argument = "T",
	 .least = 1,
	 .most = 1 << 20,
	 .help = "hard cap of tokens per text, with --token-bank per batch. This is what "
	         "is paid for (default 200)"},
	{.name = "temperature", .first = true, VALUE(request.plan.temperature),
	 .range = TEMPERATURE_RANGE,
	 .argument = "TAU",
	 .help = "sampling temperature (default 1.0)"},
	{.name = "top-k", .letter = 'k', VALUE(request.plan.top_k), .argument = "K",
	 .help = "draw among the public model's top k and what one batch could lift there "
	         "(default 100, 0 = all)"},
	{.name = "center", VALUE(center), .argument = "median|none",
	 .help = "median (default): clip each reference's logit differences around their "
	         "median. none: around 0"},
	{.name = "gain", VALUE(request.plan.gain), .range = "from 1 to 3, as in 1.5",
	 .argument = "auto|G",
	 .help = "what the references say counts G times, 1 to 3, clipped to a G-th. So "
	         "the guarantee is the same. auto (default) is 2 where the clip is 3/4 of "
	         "the temperature or more and B is 7 or more, else 1"},
	{.name = "token-bank", VALUE(request.plan.savings.token_bank),
	 .help = "when a text ends before T, write further texts from the same batch with what "
	         "is left of T"},
	{.name = "public-when", VALUE(request.plan.savings.public_when),
	 .range = "from 0.000001 to 1, as in 0.95", .argument = "P",
	 .help = "where the public prompt alone gives its likeliest token a probability of at "
	         "least P, draw from it alone, free of charge"},
	{.name = "complete", VALUE(request.plan.savings.complete),
	 .help = "after T tokens let the public prompt alone finish the text, free of charge, "
	         "instead of cutting it"},
	{.name = "free-tokens", VALUE(request.plan.savings.free_tokens), .argument = "U",
	 .most = 1 << 20,
	 .help = "most tokens that are free of charge, per text or, with --token-bank, batch "
	         "(default T, and more with --grammar)"},
	{.name = "schema", VALUE(request.schema), .argument = "FILE",
	 .help = "each record is one object of this public JSON Schema, and so is each text. The "
	         "output has an object a line, or a row if it ends in .csv. The schema is made a "
	         "grammar, as that of --grammar. See below"},
	{.name = "grammar", VALUE(request.grammar), .argument = "FILE",
	 .help = "each text is one of this public grammar, in GBNF as llama.cpp has it. What it "
	         "leaves no choice about is free of charge. After T tokens a text is brought to "
	         "its end on the shortest way, or with --complete by the public prompt. See "
	         "below"},
	{.name = "trim", VALUE(trim), .argument = "sentence|none",
	 .help = "sentence (default): a text that was cut short ends with its last whole "
	         "sentence, if half of it or more is left. none: every text as it was "
	         "drawn"},
	{.name = "rounds", VALUE(request.rounds), .argument = "1|2", .least = 1, .most = 2,
	 .help = "2: write a tenth of the texts first, of each category or cluster with 8 "
	         "or more. The prompts of its others then show some of them as half of "
	         "their examples (default 1). See below"},
	{.name = "drop", VALUE(drop), .argument = "LIST",
	 .help = "duplicates, loops, unlikely, or several with a comma between. Such "
	         "texts nearly repeat an earlier one, or themselves, or the public prompt "
	         "holds them less likely than every public example. They go to "
	         "OUT.dropped.jsonl, and are paid for like others"},
	PROMPT_OPTIONS,
	{.name = "ctx-size", .letter = 'c', VALUE(request.plan.context), .argument = "TOKENS",
	 .most = UINT32_MAX,
	 .help = "longest prompt plus text. Longer references are cut (default: the "
	         "model's context, at most 4096)"},
	{.name = "output", .first = true, .letter = 'o', VALUE(request.common.output),
	 .argument = "FILE",
	 .help = "texts, JSONL or CSV by the ending. - is standard output, which cannot "
	         "be continued"},
	{.name = "output-format", VALUE(output_format), .argument = "auto|jsonl|csv",
	 .help = "auto: by the ending .csv"},
	RECEIPT_OPTIONS(struct generate_values),
	{.name = "dry-run", .first = true, VALUE(dry_run),
	 .help = "draw nothing, and print the effective configuration, clip and "
	         "guarantee. It also prints time and memory on this machine, which it "
	         "measures for some seconds. With -i it counts the records, and exits "
	         "with 4 when they are too few"},
	QUOTE_OPTION(struct generate_values),
	{.name = "bench", VALUE(bench), .argument = "FILE",
	 .help = "dry-run: take the time from what cuttle bench -o json printed, instead of "
	         "measuring"},
	{.name = "reference-tokens", VALUE(reference_tokens), .argument = "R", .least = 1,
	 .most = UINT32_MAX,
	 .help = "dry-run: say the time for references of so many tokens (default 400). "
	         "The median that cuttle inspect -m prints is one (PRIVATE). Nothing else "
	         "depends on it"},
	PROGRESS_OPTIONS(struct generate_values),
	{.name = "trace", VALUE(request.trace), .argument = "FILE",
	 .help = "write what each step looked like inside, for research: PRIVATE numbers "
	         "that no guarantee covers. See below"},
	{.name = "shard", VALUE(shard), .argument = "I/N|auto",
	 .help = "write shard I, 0 to N-1, of the run that cuttle shard open has opened "
	         "in -o with N of them. auto: as OpenMPI, MPICH, a Slurm step or array, "
	         "or Kubernetes says"},
	{.name = "shards", VALUE(shards), .argument = "N", .least = 1, .most = SHARDS_MOST,
	 .help = "with --shard auto: how many shards there are, which Kubernetes does not say"},
	{.name = "wait", VALUE(wait), .argument = "SECONDS", .most = 1 << 30,
	 .help = "with --shard: wait so long for the run to be opened (default 0)"},
	{.name = "redraw", VALUE(redraw), .argument = "I", .most = SHARDS_MOST - 1,
	 .help = "shard open: let shard I, whose journal is lost, be drawn again, and pay "
	         "for the run again"},
	{.name = "nobody-saw", VALUE(nobody_saw), .argument = "WHO",
	 .help = "with --redraw: pay nothing, on the word of WHO that nobody has seen "
	         "what the shard drew. The receipt says so"},
	MACHINE_OPTIONS(struct generate_values),
	KV_OPTION(struct generate_values),
	FLIGHT_OPTIONS(struct generate_values),
	{.name = "no-sharing", VALUE(request.plan.no_sharing),
	 .help = "compute the shared prefix per context; results do not depend on it"},
	SEED_OPTION(struct generate_values),
};

static const struct option_heading HEADINGS[] = {
	{"model", "Input"},
	{"epsilon", "Privacy"},
	{"num", "Text"},
	{"kind", "Prompts"},
	{"output", "Output"},
	{"shard", "Many machines"},
	{"threads", "Machine"},
	{"insecure-seed", "Tests"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"Text number b is written from references b*B to b*B+B-1, so N x B records are needed. "
	"What follows them is not read (but see --lots). The guarantee is per record of the "
	"input, where one record is replaced by nothing. If a person has several records, put "
	"them into one. Or name the field that says whose they are.\n\n"

	"How to choose. Leave --lots at auto, and keep N x B at half of the records or less. "
	"The smaller the part, the larger the clip. For many texts, write few so. Then write "
	"more of their kind with cuttle expand, free of charge. Groups make the records of a "
	"text alike, and each prompt says of which group it is. Where records have a field for "
	"it that may be told of nobody, such as the ward: --category-field ward --categories "
	"surgery,oncology. Where no field says it: --clusters topics.clusters. Where everybody "
	"may know it of every record: --category-public beside the first. A private group "
	"needs at least B records and 50 / EPS (noise; never fewer than 10). Several times as "
	"many are better. Smaller groups get no texts. --examples-per-text 4 with public "
	"examples of each group costs nothing. Nor does --drop unlikely,duplicates with five "
	"or more examples.\n\n"

	"--unit-key FIELD needs one of these. --one-per-unit and --records-per-unit G bound "
	"what is read. The other records of a value become null in their places, and -e is for "
	"the whole value. FIELD stays as private as the texts, but for whom a ledger charges. "
	"Records in the order of persons lose most: shuffle them first, by public lot. "
	"--records-per-unit all reads all records. It declares FIELD public: who has how many, "
	"and where. What the most frequent value costs is told, in the receipt too. -e is then "
	"still for one record. g records of one value in one text cost g^2 of its rho, in g "
	"texts g. --dry-run with -i says what it comes to. A number is the text of its digits: "
	"7 and \"7\" are one value.\n\n"

	"--category-field FIELD writes texts of the declared categories, each from records of "
	"that category alone. \"FIELD: value\" stands in all prompts and in the output. "
	"Examples that have FIELD show it too, and own prompts hold {category}. Which category "
	"a record has stays as private as what it says. So the records of each are counted "
	"with noise, once. These counts decide how many texts a category gets: none where it "
	"may well be empty. So there may be fewer than N, or none, and whether N x B records "
	"are there is not checked. A run whose FIELD no record has is paid for, too; cuttle "
	"inspect shows that before. The counts are told, in the receipt too, and -e pays for "
	"them. They take about a hundredth of the clip. Records come to texts by lots (below) "
	"within their category, and --lots off is refused. --categories names what there may "
	"be. No name comes from the records, and those of other categories are not read.\n\n"

	"--clusters FILE does the same with the clusters of a file from cuttle clusters, by "
	"what records say. \"cluster: WORDS\" stands in prompts and output, WORDS of the "
	"public texts. A blank record has no cluster, and is in no text. By model, each record "
	"takes a pass of the model more, whose time shows its length.\n\n"

	"--category-public declares public which category each record has, so how many there "
	"are of each. A line that cannot be read has none. Each category then gets texts by "
	"its share, from records in their order. The guarantee says that nobody learns what a "
	"record of a category says, not that there was one.\n\n"

	"--lots: R records make R / B batches (rounded up), M of them, and N are used. Each "
	"record is in one of the M by a lot drawn for this run, which nobody sees. So it is "
	"read with chance N / M only, and the run may spend more on a text. With a tenth used, "
	"epsilon 1 pays for 2.9. A text then has B records on average, and the number itself "
	"is secret. All R are charged in the ledger, read or not. For texts from the unread "
	"ones later, give --lots off. The guarantee counts on it that nobody knows which text "
	"a record is in. OUT.lots holds the key until the output is there: it is as secret as "
	"the records. So is how long single texts take. Without OUT.lots a run that has begun "
	"cannot be continued (exit 6). The receipt says what holds against who knows. Lots "
	"need R before the records are read: -i is a file. With --unit-key FIELD "
	"--one-per-unit, --lots on gives each value a lot. How many values there are is "
	"counted with noise, which is told, and N texts are for R values. Where each has 3 "
	"records, ask for 3 N. cuttle budget plan --records R shows the clips.\n\n"

	"--method: invisibleink is what cuttle is for. The others are there to compare with, "
	"and what each promises its receipt says. amin (-e, --units, --svt-noise, "
	"--svt-threshold) draws public tokens for free where a noisy test finds that "
	"references add little. Its account is zcdp. pmixed (-e, --order, --divergence) draws "
	"from a mean of laws near the public one. With an order A its promise holds at that "
	"Renyi order alone, and a ledger must count losses at it. dp-prompt (-e or "
	"--clip-width) and dp-decoding (-e or --mix) write from one reference, -B 1. At "
	"settings that leave a text readable they promise next to nothing, and say so. "
	"adapmixed and none promise nothing, need --not-private, and are never charged. none "
	"is the mean of all rows without a clip: an audit must catch it. For invisibleink "
	"alone are --lots on, private categories, --clusters, --unit-key, --clip, --gain and "
	"--trace.\n\n"

	"A record counts as null when it lacks the field, or has something else than a text in "
	"it. So does one with bytes that are not UTF-8, one of more than 16 MiB, and a blank "
	"one. It keeps its place, adds nothing, and is not reported. That is by design: a "
	"warning would tell about a record. With --category-field or --unit-key the place is "
	"that of its category or owner. A line that cannot be read at all has neither, so it "
	"is in no category, and no one's. A reference that is too long is cut. cuttle "
	"inspect shows the owner how many there are of each, and prints the generate line that "
	"fits. Warnings come from options, model, public files and noisy counts alone. They "
	"come before the first token is drawn and, but for those of counts, under --dry-run. "
	"-q leaves them out.\n\n"

	"--center, --gain, --token-bank, --public-when and --complete leave the guarantee as "
	"it is (see dp/PRIVACY.md). They change what it buys. The last three are off by "
	"default. With any of them each text comes with its batch and the number of its tokens "
	"that were free. N x B references and T tokens per batch are charged whatever becomes "
	"of them.\n\n"

	"--grammar: a token may come if some text of the grammar goes on with it. So each text "
	"is one of the grammar, whatever model and epsilon are. Bytes that must follow are "
	"written as the model's tokenizer writes them. They are free, so T tokens go further. "
	"A token is refused, too, where the free tokens that are left would not be enough for "
	"the shortest way to an end. If --free-tokens is not given, it is T and what two "
	"shortest texts take. A text that was brought to its end has the finish closed. No "
	"stop ends a text, and no white space is cut off. The grammar is public: nothing of it "
	"may come from the records. Its hash stands in the receipt.\n\n"

	"--schema is a grammar, too, and as public. Each record is a JSON object. Members that "
	"the schema does not have are left out. A record that does not fit is null, and cuttle "
	"inspect --schema shows its owner how many there are. With --category-field the field "
	"must be an enum of the schema, and has its category's value in each text. With -B 0 "
	"T counts the tokens that were a choice.\n\n"

	"--stop, --trim and --drop look at what was drawn and at nothing private, so they cost "
	"nothing. A stop ends a text before it. Its line breaks may have spaces behind them. "
	"One of white space alone counts only behind something else. Without public examples "
	"auto knows nothing of line breaks. It is then \\n### in the form continue, and "
	"nothing else. A STRING stands alone unless auto is given too. T tokens are paid "
	"wherever a text ends: --token-bank writes the next one with what is left. What a "
	"version without --stop has begun goes on without it, unless it is given.\n\n"

	"A sentence ends with . ! ? and closing quotes, before white space or the end. A "
	"Chinese or Japanese full stop ends one, too. Two texts are duplicates when they share "
	"four fifths of their runs of five words, or differ in case and white space alone. The "
	"later one is dropped. A text loops when four tokens in a row come five times. It also "
	"loops when less than two fifths of its runs of three tokens are different. unlikely "
	"looks at the mean log-probability of the tokens behind the public prompt. A text is "
	"dropped where it is below that of each public example behind the others. There must be "
	"5 of these. Nothing is redrawn for what is dropped; the receipt counts it.\n\n"

	"--rounds 2 costs nothing either, as the texts shown were drawn under the same "
	"guarantee. First it writes a tenth (rounded up) of each category or cluster with 8 "
	"texts or more, or of all texts. These are written from their own references as ever. "
	"Then come the others. Their prompts show --examples-per-text examples, public and "
	"private ones. Half of these (rounded down) are first texts of their own category, "
	"chosen by a hash. None of them loops, nearly repeats another, or was dropped by "
	"--drop. Each is cut to 128 tokens. Where there are fewer, public examples fill up. It "
	"shows what the model writes. With small models that is worse than a public example, "
	"and without any worse than nothing (bench/SPENDING.md).\n\n"

	"Each token is journalled in OUT.journal the moment it is drawn. After a kill, a power "
	"cut or a full disk the same command continues. A text that was interrupted half-way "
	"is continued from its journal and never drawn again. Its tokens have been drawn from "
	"the private references already. A second try would spend the privacy budget a second "
	"time, and choosing between two tries would void the guarantee. When all texts are "
	"there, OUT and its receipt are put in place and the journal is removed. The same "
	"command then says that it is complete. A command is continued on the input it was "
	"begun with, and on no other (exit 2). OUT.journal.key holds the key of the digest by "
	"which it is known. --overwrite replaces what another command left, and spends again.\n\n"

	"With --ledger the run is charged for all its tokens before it draws, and not again "
	"when it is continued. Its name in the ledger stands in OUT.run until the output is "
	"there. Until then it does not go on without --ledger. One charge pays for one output, "
	"whose hash closes it in the ledger. A run from --insecure-seed is never charged.\n\n"

	"--trace makes a new file, mode 0600, with a JSON line for each token drawn. It has "
	"candidates |V+|, private rows, effective k (e^entropy of what was drawn from) and the "
	"share of logit differences at the clip. It also has the token's probability and rank, "
	"public and as drawn. It is computed from the references without protection. Whoever "
	"sees it has no guarantee. The guarantee of the texts is only as good as the file "
	"stays where the references are. The receipt says that there is one.\n\n"

	"--shard I/N: several machines write one run. First cuttle shard open, with the same "
	"options, -o RUN and --shards N, charges all of it, once. It gives each shard its "
	"references. Then each machine runs generate with -o RUN --shard I/N. Last, cuttle "
	"merge makes one output, with the bytes that one machine would have written. A shard "
	"reads neither -i nor a ledger. Killed, the same command continues it; a second copy "
	"of it is refused. See cuttle help shard.\n\n"

	"No path that generate reads may be one it writes, under whatever name, with "
	"--overwrite or without. It writes OUT, OUT.journal, OUT.journal.key, OUT.lots, "
	"OUT.run, OUT.run.before, and scratch files OUT.part-* and OUT.run.tmp-*. It also "
	"writes the receipt with its own, the trace, and the ledger with what SQLite keeps "
	"beside it. Such a "
	"command is refused before it begins (exit 2). -i (without lots), --public-examples, "
	"--categories and own prompts may be pipes. Models, ledgers and keys may not.\n\n"

	"Standard output has no journal. A run interrupted there has spent what it spent, and "
	"the next one is charged anew.\n";
// clang-format on

/* Refuses a command that lacks an option; returns the exit code. */
static int refuse_incomplete_generate(const struct verb *verb,
                                      const struct generate_values *values) {
	const struct generate_request *request = &values->request;
	const bool opens = !strcmp(verb->name, "shard");
	const struct verb_need needs[] = {
	    {!values->open.model, VERB_MODEL, VERB_MODEL_SAMPLE},
	    {!request->common.input && !values->dry_run && request->plan.batch, "-i REFS",
	     "-i notes.jsonl"},
	    {!request->common.output && !values->dry_run, opens ? "-o RUN" : "-o OUT",
	     opens ? "-o RUN" : "-o out.jsonl"},
	    {opens && !values->shards, "--shards N", "--shards 4"},
	    {request->plan.method == CUTTLE_INVISIBLEINK && request->plan.batch &&
	         isnan(request->plan.epsilon) && isnan(request->plan.clip),
	     "-e EPS or --clip C", "-e 3"},
	    // So many records are in any file that is worth it; the default needs 700.
	    {!values->dry_run && !values->shard && !options_typed(verb, "num") &&
	         !options_typed(verb, "num-per-category"),
	     NULL, "-N 10"}};
	return verb_lacks(verb, needs, sizeof needs / sizeof *needs);
}

/* ---- what a run tells, in words -------------------------------------------------------------- */

struct generate_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct generate_values *values;
	const struct setup *setup;
};

/* What all records of the most frequent value cost, where that is public. */
static void say_weight(const struct generate_request *request, const struct setup *setup) {
	const struct receipt_unit *unit = &setup->receipt.unit;
	if (unit->weight == 1 || unit->limited || !setup->receipt.guarantee.private_output) return;
	fprintf(stderr,
	        "Warning: one value of %s has so many records in these texts that they cost it "
	        "%" PRIu64 " times the rho that -e or --clip set for one. By "
	        "--records-per-unit all that is public; --one-per-unit or --records-per-unit G "
	        "bound it.\n",
	        request->common.unit_key, unit->weight);
}

/* Prints the guarantee. With --quiet only where it stands nowhere else: a run without a receipt, or
 * one that is not private. */
void generate_say(const struct generate_values *values, const struct setup *setup) {
	const struct generate_request *request = &values->request;
	char sentence[RECEIPT_SENTENCE];
	const bool private_output = setup->receipt.guarantee.private_output;
	receipt_sentence(&setup->receipt, setup->receipt.unit.key, sentence);
	watch_sentence(&request->common, values->quiet, private_output, sentence);
	if (!values->quiet) preview_say_cap(values, setup, stderr);
	if (!values->quiet) say_weight(request, setup);
	if (!values->quiet && private_output) watch_ledger(&request->common, "references");
}

/* A shard promises nothing of its own. */
static void say_shard(const struct generate_values *values) {
	const struct shard_number number = values->request.shard->number;
	if (!values->quiet)
		fprintf(
		    stderr,
		    "Shard %" PRIu64 " of %" PRIu64
		    ": its texts are a part of the run's, whose guarantee cuttle merge tells.\n",
		    number.index, number.count);
}

/* Texts that this process writes, with a token bank batches. */
static size_t count_texts(const struct generate_watch *run) {
	const struct run_shard *shard = run->values->request.shard;
	const size_t texts = run->setup->receipt.texts;
	return shard ? (texts - (size_t)shard->number.index - 1) / (size_t)shard->number.count + 1
	             : texts;
}

/* The counts with noise leave fewer texts than wanted. Which categories have none follows from
 * these counts, which the receipt tells. */
static void warn_fewer(const struct setup *setup) {
	const struct receipt *receipt = &setup->receipt;
	const struct categories *categories = &setup->categories;
	const char *before = " No text is of ";
	if (!receipt->histogram || !receipt->seats || receipt->texts >= receipt->histogram->texts)
		return;
	fprintf(stderr, "Warning: by %s have room for %zu of the %" PRIu32 " texts; %s.",
	        receipt->unit.key ? "their noisy count the units"
	                          : "their noisy counts the categories",
	        receipt->texts, receipt->histogram->texts,
	        receipt->unit.key ? "raise -N or lower -B" : "lower -B or -N");
	for (size_t i = 0; !receipt->unit.key && i < categories->count; i++) {
		if (categories->all[i].texts) continue;
		fputs(before, stderr);
		for (const char *at = categories->all[i].heading; *at; at++)
			fputc(*at == '\n' ? ',' : *at, stderr);
		before = "; ";
	}
	fputs(*before == ';' ? ".\n" : "\n", stderr);
}

static void on_begin(void *user, bool complete) {
	struct generate_watch *run = user;
	const struct generate_values *values = run->values;
	if (values->shard) say_shard(values);
	else generate_say(values, run->setup);
	if (!values->quiet) warn_fewer(run->setup);
	if (watch_complete(values->request.common.output, values->quiet, complete)) return;
	if (!values->quiet) warnings_print(stderr, &values->request, run->setup);
	watch_begin(&run->watch, values->quiet, values->progress, count_texts(run), "references");
}

static void on_publish(void *user, const char *receipt) {
	const struct generate_watch *run = user;
	const struct common_request *request = &run->values->request.common;
	const struct receipt *done = &run->setup->receipt;
	if (run->values->quiet) return;
	watch_published(request, count_texts(run),
	                done->guarantee.savings.token_bank ? "batches of texts" : "texts", receipt);
	if (generate_guided(&run->values->request)) watch_grammar(&done->counts);
	watch_formulas(done->counts.formulas);
	watch_dropped(request, &done->counts);
}

static enum cuttle_status draw_and_tell(const struct generate_values *values, struct setup *setup,
                                        struct cuttle_error *error) {
	struct generate_watch run = {.values = values, .setup = setup};
	const struct run_events events = watch_events(&run, on_begin, on_publish);
	return generate_texts(&values->request, setup, &events, error);
}

/* ---- texts without a record: -B 0 ------------------------------------------------------------ */

struct sample_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct generate_values *values;
	const struct sample *sample;
};

static void on_sample_begin(void *user, bool complete) {
	struct sample_watch *run = user;
	const struct generate_values *values = run->values;
	const struct sample_receipt *receipt = &run->sample->receipt;
	char sentence[SAMPLE_SENTENCE];
	sample_sentence(receipt, sentence);
	watch_sentence(&values->request.common, values->quiet, receipt->private_output, sentence);
	if (watch_complete(values->request.common.output, values->quiet, complete)) return;
	if (!values->quiet) fprintf(stderr, "The seed is %" PRIu64 "\n", receipt->seed);
	if (!values->quiet)
		warnings_bias(stderr, &run->sample->setup,
		              cuttle_plan_template(run->sample->setup.plan, 0));
	if (!values->quiet) warnings_model(stderr, &receipt->model);
	watch_begin(&run->watch, values->quiet, values->progress, receipt->texts, NULL);
}

static void on_sample_publish(void *user, const char *receipt) {
	const struct sample_watch *run = user;
	const struct sample_receipt *done = &run->sample->receipt;
	const struct common_request *request = &run->values->request.common;
	if (run->values->quiet) return;
	watch_published(request, done->texts, "texts", receipt);
	watch_closed(&done->counts);
	watch_formulas(done->counts.formulas);
	watch_dropped(request, &done->counts);
}

static void preview_sample(const struct generate_values *values, const struct sample *sample) {
	const struct sample_receipt *receipt = &sample->receipt;
	char sentence[SAMPLE_SENTENCE];
	sample_sentence(receipt, sentence);
	printf("model         %s (%" PRIu64 " bytes)\nmodel sha256  %s\nkernels       %s\n",
	       values->open.model, receipt->model.file_bytes, receipt->model_sha256, receipt->isa);
	printf("bias          %s, %.0f %% of it more than noise\n", values->request.bias,
	       100 * sample->setup.bias.share);
	printf("texts         %zu of at most %" PRIu32 " tokens\n", receipt->texts,
	       receipt->tokens);
	watch_form(&sample->setup.grammar);
	printf("command       %s\n\n%s\n", sample->fingerprint, sentence);
}

/* Returns the exit code. */
static int run_sample(const struct verb *verb, const struct generate_values *values,
                      const struct setup_model *opened) {
	struct sample sample;
	struct cuttle_error error;
	struct sample_watch run = {.values = values, .sample = &sample};
	const struct run_events events = watch_events(&run, on_sample_begin, on_sample_publish);
	enum cuttle_status status = sample_open(&values->request, opened, &sample, &error);
	if (!status && values->dry_run) preview_sample(values, &sample);
	else if (!status) status = sample_run(&sample, &events, &error);
	sample_free(&sample);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* Checks the options against each other, then all paths. Returns the exit code. */
int values_check(const struct verb *verb, struct generate_values *values) {
	const struct generate_request *request = &values->request;
	struct cuttle_error error;
	// One own prompt alone is refused by generate_check.
	if (request->prompt_public && request->prompt_private && values->form != CHOICE_NONE)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--template and own prompts exclude each other");
	if (values->json && !values->dry_run) return verb_refuse(verb, CUTTLE_USAGE, QUOTE_ALONE);
	if (values->records_per_unit && !request->records_per_unit)
		return verb_refuse(
		    verb, CUTTLE_USAGE,
		    "--records-per-unit: must be a whole number from 1 to 4294967295, "
		    "or all");
	if (values->json && request->records_per_unit == RUN_RECORDS_ALL && !request->common.input)
		return verb_refuse(
		    verb, CUTTLE_USAGE,
		    "--records-per-unit all: what it costs follows from the records; "
		    "give -i REFS");
	enum cuttle_status status = CUTTLE_OK;
	if (values->drop) status = filters_read(values->drop, &values->request.filters, &error);
	if (!request->plan.batch && (values->json || strcmp(verb->name, "generate") != 0))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "-B 0 is for cuttle generate, without --json");
	if (!status && !request->plan.batch) status = sample_check(request, &error);
	if (!status) status = generate_check(request, &error);
	if (!status) status = generate_paths(request, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

/* Prints the plan: as JSON for programs, else in words with what it costs on this machine. */
static int print_generate_plan(const struct verb *verb, const struct generate_values *values,
                               const struct setup *setup) {
	const struct receipt *receipt = &setup->receipt;
	const struct ledger_request price = references_price(setup);
	if (values->json)
		return quote_print(
		    verb, receipt_json(receipt, setup->fingerprint, ""),
		    receipt->texts * cuttle_guarantee_references(&receipt->guarantee), &price);
	preview_print(values, setup);
	return preview_print_cost(verb, values, setup);
}

static int preview_texts(const struct verb *verb, const struct generate_values *values,
                         struct setup *setup) {
	const struct generate_request *request = &values->request;
	struct cuttle_error error, shortage;
	// What all records of a unit cost together is known once they are counted.
	const bool weighs = request->common.input && request->records_per_unit == RUN_RECORDS_ALL;
	// Asked before a record is read, so that what reading leaves behind decides nothing.
	const enum cuttle_status fits = cuttle_plan_fits(setup->plan, &shortage);
	enum cuttle_status suffices =
	    weighs ? references_suffice(request, setup, &error) : CUTTLE_OK;
	if (suffices) return verb_fail(verb, suffices, &error);
	const int code = print_generate_plan(verb, values, setup);
	(void)fflush(stdout);
	if (code) return code;
	if (!values->quiet) warnings_print(stderr, request, setup);
	if (!values->quiet) say_weight(request, setup);
	if (request->common.input && !weighs) suffices = references_suffice(request, setup, &error);
	if (suffices) return verb_fail(verb, suffices, &error);
	return fits ? verb_fail(verb, fits, &shortage) : CUTTLE_OK;
}

/* Reads the preset's options first, and then once more those that were typed, which come on top.
 * False: *code is the exit code. */
static bool read_over_preset(const struct verb *verb, int argc, char **argv,
                             struct generate_values *values, int *code) {
	struct preset preset;
	struct cuttle_error error;
	int ignored;
	*code = CUTTLE_USAGE;
	if (!preset_read(values->preset, &preset)) {
		(void)io_fail(
		    &error, CUTTLE_USAGE,
		    "--preset: there is no %.60s; cuttle help generate --all shows those there "
		    "are",
		    values->preset);
		(void)verb_fail(verb, CUTTLE_USAGE, &error);
		return false;
	}
	*values = values_defaults();
	if (options_parse(verb, preset.count, preset.words, values, &ignored, &error)) {
		(void)verb_fail(verb, CUTTLE_USAGE, &error);
		return false;
	}
	return verb_begin(verb, argc, argv, values, NULL, code);
}

bool generate_read(const struct verb *verb, int argc, char **argv, struct generate_values *values,
                   int *code) {
	*values = values_defaults();
	if (!verb_begin(verb, argc, argv, values, NULL, code)) return false;
	if (values->preset && !read_over_preset(verb, argc, argv, values, code)) return false;
	values_settle(values);
	*code = refuse_incomplete_generate(verb, values);
	return !*code;
}

/* What goes with --shard and what does not; NULL = nothing is wrong. */
static const char *name_shard_fault(const struct generate_values *values) {
	const struct generate_request *request = &values->request;
	if (values->redraw != COUNT_NONE || values->nobody_saw)
		return "--redraw and --nobody-saw are for cuttle shard open";
	if (!values->shard && values->shards)
		return "--shards (CUTTLE_SHARDS) is for cuttle shard open, and for --shard auto";
	if (!values->shard)
		return values->wait ? "--wait is for --shard, which waits for the run" : NULL;
	if (values->dry_run) return "--dry-run is for the whole run: leave out --shard";
	if (request->common.ledger)
		return "--ledger is for cuttle shard open, which charges the whole run: leave it "
		       "out with --shard";
	if (request->common.overwrite)
		return "--overwrite would draw a shard again that was paid for once: cuttle shard "
		       "open --redraw";
	return shards_fault(request);
}

/* Texts go into a folder only where a shard is named. Returns the exit code. */
static int refuse_run_folder(const struct verb *verb, const char *output) {
	struct cuttle_error error;
	char *file = output ? shards_file(output) : NULL;
	const bool open = file && file_same(file, file);
	free(file);
	if (!open) return CUTTLE_OK;
	(void)io_fail(&error, CUTTLE_USAGE, "%s is a run of many machines: add --shard I/N",
	              output);
	return verb_fail(verb, CUTTLE_USAGE, &error);
}

/* Joins the run in the folder -o. From here on the output is the shard's. Returns the exit code. */
static int join_run(const struct verb *verb, struct generate_values *values,
                    struct run_shard *shard) {
	struct cuttle_error error;
	const char *fault = name_shard_fault(values);
	if (fault) return verb_refuse(verb, CUTTLE_USAGE, fault);
	if (!values->shard) return refuse_run_folder(verb, values->request.common.output);
	const enum cuttle_status status = shards_join(values->request.common.output, values->shard,
	                                              values->shards, values->wait, shard, &error);
	if (status) return verb_fail(verb, status, &error);
	values->request.shard = shard;
	values->request.common.output = shard->lines;
	return CUTTLE_OK;
}

static int run_generate_verb(const struct verb *verb, int argc, char **argv) {
	struct generate_values values;
	struct setup_model opened = {0};
	struct setup setup = {0};
	struct run_shard shard = {0};
	struct cuttle_error error;
	int code;
	secrecy_begin();
	if (!generate_read(verb, argc, argv, &values, &code)) return code;
	code = join_run(verb, &values, &shard);
	if (!code) code = values_check(verb, &values);
	if (!code) code = verb_open_hashed(verb, &values.open, &opened);
	if (code) {
		shards_leave(&shard);
		return code;
	}
	if (!values.request.plan.batch) {
		code = run_sample(verb, &values, &opened);
		cuttle_model_free(&opened.model);
		return code;
	}
	enum cuttle_status status = generate_open(&values.request, &opened, &setup, &error);
	if (!status && values.dry_run) code = preview_texts(verb, &values, &setup);
	else if (!status) status = draw_and_tell(&values, &setup, &error);
	if (status) code = verb_fail(verb, status, &error);
	generate_free(&setup);
	cuttle_model_free(&opened.model);
	shards_leave(&shard);
	return code;
}

const struct verb generate_verb = {
    .name = "generate",
    .usage = "-m MODEL -i REFS -o OUT -e EPS [OPTION]...",
    .summary = "private texts from a file of sensitive documents",
    .example = "-m MODEL.gguf -i notes.jsonl -o out.jsonl -e 10 -B 7 -N 100 -n 200 --kind "
               "\"discharge note\"",
    .another = "-m MODEL.gguf -i notes.csv --unit-key patient --one-per-unit "
               "-e 3 -B 31 --dry-run",
    .about = ABOUT,
    .options = generate_options,
    .option_count = GENERATE_OPTIONS,
    .headings = HEADINGS,
    .run = run_generate_verb,
};
