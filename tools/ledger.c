// SPDX-License-Identifier: Apache-2.0
// cuttle ledger: shows and changes the ledger, which counts the budget of data sets over all runs.
//
// io/ledger/ledger.h does the counting. Here are the options, one function for each action, and the
// printing. No private text passes through. With --unit-key what the ledger says tells how often
// values repeat (io/ledger/ledger.h).
#include "tools/common/verbs.h"

#include "io/disk/fail.h"
#include "io/ledger/backup.h"
#include "io/ledger/ledger.h"
#include "io/disk/signature.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VALUE(member) OPTION(struct ledger_values, member)

struct ledger_values {
	const char *ledger;   /* path */
	const char *dataset;  /* name */
	const char *unit_key; /* init: the field whose values are units; NULL = lines are */
	const char *run;      /* release, reserve: 32 hex digits */
	const char *head;     /* verify: hash of an entry that must be there, 64 hex digits */
	const char *sign;     /* key: path of the secret key to make */
	const char *output;   /* backup: path of the copy */
	double epsilon_limit; /* init */
	double delta_limit;   /* init */
	/* These four are numbers above 0, as they were typed; NULL = not given. */
	const char *rho_limit;  /* init, where rho is counted */
	const char *loss_limit; /* init, where Renyi losses are counted */
	const char *rho;        /* check, reserve: of one text */
	const char *loss;       /* check, reserve: the Renyi loss of one text */
	int measure;            /* init, check, reserve: enum ledger_measure */
	uint64_t order;         /* with LEDGER_RDP: of the Renyi losses; COUNT_NONE = not given */
	uint64_t first;         /* check, reserve: number of the first record, from 0 */
	uint64_t count;         /* check, reserve: records; COUNT_NONE = all from the first on */
	bool json;
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "ledger", VALUE(ledger), .argument = "FILE",
	 .help = "the ledger"},
	{.name = "dataset", VALUE(dataset), .argument = "NAME",
	 .help = "the data set in it"},
	{.name = "epsilon-limit", VALUE(epsilon_limit), .range = EPSILON_RANGE, .argument = "EPS",
	 .help = "init: all runs together may lose this much, at --delta-limit"},
	{.name = "delta-limit", VALUE(delta_limit), .range = DELTA_RANGE, .argument = "D",
	 .help = "init: what is added to the probability of any event, beside its factor "
	         "e^epsilon (default 1e-6). Epsilons of the ledger are shown at it"},
	{.name = "rho-limit", VALUE(rho_limit), .argument = "RHO",
	 .help = "init: the limit in zero-concentrated privacy loss, instead of --epsilon-limit"},
	{.name = "measure", VALUE(measure), .argument = "rho|rdp",
	 .help = "init: what the data set counts, for ever: rho of zCDP (default), or "
	         "Renyi losses at one order. check, reserve: which of them the loss is"},
	{.name = "order", VALUE(order), .argument = "A",
	 .least = LEDGER_ORDER_LEAST, .most = LEDGER_ORDER_MOST,
	 .help = "with --measure rdp: the order of the Renyi losses, 2 to 16"},
	{.name = "loss-limit", VALUE(loss_limit), .argument = "LOSS",
	 .help = "init with --measure rdp: the limit as a Renyi loss, instead of --epsilon-limit"},
	{.name = "unit-key", VALUE(unit_key), .argument = "FIELD",
	 .help = "init: count per value of this field or column instead of per line; how often "
	         "values repeat may then be seen"},
	{.name = "rho", VALUE(rho), .argument = "RHO",
	 .help = "check, reserve: the privacy loss of one text (generate --dry-run prints it)"},
	{.name = "loss", VALUE(loss), .argument = "LOSS",
	 .help = "check, reserve with --measure rdp: the Renyi loss of one text, instead of --rho"},
	{.name = "first", VALUE(first), .argument = "LINE",
	 .help = "check, reserve: the first record it reads, from 0 (default 0)"},
	{.name = "count", VALUE(count), .argument = "LINES",
	 .help = "check, reserve: how many (default all there are and will be)"},
	{.name = "run", VALUE(run), .argument = "RUN",
	 .help = "release: the run. reserve: its name, 32 hex digits. Asked twice with "
	         "the same numbers it is charged once (default: a new name)"},
	{.name = "head", VALUE(head), .argument = "HASH",
	 .help = "verify: an entry that must be there, kept elsewhere; finds an older copy put "
	         "in the ledger's place"},
	{.name = "sign", VALUE(sign), .argument = "FILE",
	 .help = "key: the secret key to make, with FILE.pub beside it; generate --sign FILE "
	         "signs receipts with it"},
	{.name = "output", .letter = 'o', VALUE(output), .argument = "FILE",
	 .help = "backup: the copy, a file that is not there yet"},
	{.name = "json", VALUE(json),
	 .help = "show, list: all fields as JSON"},
};

static const char ABOUT[] =
	"init adds a data set with its limit, and makes the file when there is none. generate "
	"--ledger FILE --dataset NAME then reserves before its first token what all its tokens "
	"can cost. It is refused (exit 3) when that would go over the limit. Losses add up in "
	"rho, whichever accountant found the clip, or, with lots, in epsilon (below). Spent is "
	"rounded up, remaining down. A command that continues an interrupted run is not "
	"charged again; one that draws anew is. Its journal must begin as the ledger last saw "
	"it. Where older files were put back, what was drawn would be drawn twice, and it is "
	"refused (exit 7). What is typed in decimal adds up exactly: ten times 0.1 fit in 1. A "
	"ledger has one name: a hard link to it, or a mount of the file alone, is refused "
	"(exit 7). An older cuttle refuses a ledger with a decimal number, or with a run that "
	"went on (exit 7).\n\n"

	"list prints each data set's limit, spent, remaining and runs, and so does show "
	"without --dataset. show prints those of one. history prints the entries, with the "
	"loss of each and its epsilon at the data set's delta. It also has the first digits of "
	"the SHA-256 of the output that a run ended with. check says whether a loss would be "
	"refused. reserve charges what other programs spend, for ever. release gives back what "
	"a run reserved that was ended before its first token. export prints the entries as "
	"JSON lines, without units. verify checks every byte of the file and the chain of "
	"hashes, and says what each data set counts. backup copies the ledger, also while runs "
	"and a server write to it, and checks the copy. key makes a pair of Ed25519 keys (no "
	"ledger needed) and prints the public one, which receipt verify --key takes.\n\n"

	"generate with lots is charged epsilon and delta, not rho, since it has no useful rho. "
	"This holds where it is the first run of a data set or --charge says so. Then a line "
	"is within the limit while its epsilons add up to the limit's and its deltas to "
	"--delta-limit. Nothing adds up both kinds, so a data set takes one. An older cuttle "
	"refuses a ledger with such a charge (exit 7).\n\n"

	"A data set counts rho, as generate is charged without lots, or with --measure rdp "
	"Renyi losses at one order. From one order no rho follows, nor another order: a charge "
	"in another measure is refused (exit 2). A small epsilon is out of reach there. At "
	"order 2 and delta 1e-6 any loss gives more than 12.4, so give a larger --delta-limit. "
	"An older cuttle refuses a ledger with such a data set (exit 7).\n\n"

	"By default a unit is a line of the data set: lines must keep their places and new "
	"ones go behind. What the ledger says is then a function of public numbers and of "
	"output. With --unit-key everybody with the same value is a unit, and g records of it "
	"in one text cost g^2 rho. Of Renyi losses, a text may read one record alone. That a "
	"run is refused, and what is spent, then tells how often values repeat. The ledger "
	"keeps keyed hashes of the values: treat the file like the documents. A number is the "
	"text of its digits: 7 and \"7\" are one value. generate names the same field with "
	"--unit-key, and does not read records without a value.\n";
// clang-format on

/* Headings and rows of `list`, rows of `history`: the same widths in each column. */
#define LIST_HEADINGS                                                                              \
	"MEASURE LIMIT loss   epsilon      SPENT loss   epsilon      LEFT loss    epsilon      "   \
	"DELTA    RUNS     DATA SET"
#define LIST_ROW "%-7s %-12s %-12s %-12s %-12s %-12s %-12s %-8g %-8llu %s\n"
#define HISTORY_ROW "%-6s %-20s %-8s %-7s %-12s %-12s %-32s %-12s %s\n"
enum { OUTPUT_DIGITS = 12 }; /* hex digits of an output's SHA-256 that history shows */

/* epsilon of all runs: of their rho, or what they were charged in epsilon. */
static double get_epsilon_spent(const struct ledger_standing *standing) {
	return standing->in_epsilon ? standing->epsilon_spent
	                            : ledger_epsilon(&standing->dataset, standing->spent, true);
}

static double get_epsilon_left(const struct ledger_standing *standing) {
	return standing->in_epsilon ? standing->epsilon_left
	                            : ledger_epsilon(&standing->dataset, standing->left, false);
}

static json_t *encode_standing(const struct ledger_standing *standing) {
	const struct ledger_dataset *dataset = &standing->dataset;
	const bool renyi = dataset->measure == LEDGER_RDP;
	const struct jsonout_member members[] = {
	    {"dataset", json_string(dataset->name)},
	    {"unit_key", json_string(dataset->unit_key)},
	    {"measure", json_string(renyi ? "rdp" : "rho")},
	    {"order", renyi ? json_integer(dataset->order) : json_null()},
	    {renyi ? "loss_limit" : "rho_limit", jsonout_real(dataset->rho)},
	    {"epsilon_limit", jsonout_real(dataset->epsilon)},
	    {"delta", jsonout_real(dataset->delta)},
	    {renyi ? "loss_spent" : "rho_spent", jsonout_real(standing->spent)},
	    {"epsilon_spent", jsonout_real(get_epsilon_spent(standing))},
	    {renyi ? "loss_remaining" : "rho_remaining",
	     standing->in_epsilon ? json_null() : jsonout_real(standing->left)},
	    {"epsilon_remaining", jsonout_real(get_epsilon_left(standing))},
	    {"runs", json_integer((json_int_t)standing->runs)},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

static void print_standing_line(const char *what, const struct ledger_dataset *dataset, double rho,
                                bool up) {
	char number[UNITS_NUMBER], epsilon[UNITS_NUMBER];
	units_print(rho, up, number);
	units_print(ledger_epsilon(dataset, rho, up), up, epsilon);
	printf("%-10s %s %-12s epsilon %s\n", what, dataset->measure == LEDGER_RDP ? "loss" : "rho",
	       number, epsilon);
}

/* The same where runs are charged in epsilon. */
static void print_epsilon_line(const char *what, double epsilon, bool up) {
	char number[UNITS_NUMBER];
	units_print(epsilon, up, number);
	printf("%-10s %-16s epsilon %s\n", what, "", number);
}

static enum cuttle_status show_dataset(const struct verb *verb, const struct ledger_values *values,
                                       struct ledger *ledger, struct cuttle_error *error) {
	struct ledger_standing standing;
	const struct ledger_dataset *dataset = &standing.dataset;
	enum cuttle_status status = ledger_look(ledger, values->dataset, &standing, error);
	if (status) return status;
	if (values->json)
		return (enum cuttle_status)verb_print(verb, encode_standing(&standing),
		                                      JSON_COMPACT);
	char measure[LEDGER_MEASURE];
	ledger_print_measure(dataset->order, false, measure);
	printf("data set   %s\nunit       %s%s\nmeasure    %s\n", dataset->name,
	       *dataset->unit_key ? "everybody with one value of " : "one line", dataset->unit_key,
	       measure);
	print_standing_line("limit", dataset, dataset->rho, false);
	if (standing.in_epsilon) {
		print_epsilon_line("spent", standing.epsilon_spent, true);
		print_epsilon_line("remaining", standing.epsilon_left, false);
	} else {
		print_standing_line("spent", dataset, standing.spent, true);
		print_standing_line("remaining", dataset, standing.left, false);
	}
	printf("delta      %g\nruns       %llu\n", dataset->delta,
	       (unsigned long long)standing.runs);
	return CUTTLE_OK;
}

/* The data sets of a ledger, in the order in which they were made. */
struct datasets {
	struct ledger_dataset *all;
	size_t count;
};

static enum cuttle_status collect_dataset(void *user, const struct chain_entry *entry) {
	struct datasets *datasets = user;
	if (strcmp(entry->kind, "dataset") != 0) return CUTTLE_OK;
	struct ledger_dataset *all = realloc(datasets->all, (datasets->count + 1) * sizeof *all);
	if (!all) return CUTTLE_NOMEM;
	datasets->all = all;
	struct ledger_dataset *dataset = &all[datasets->count++];
	*dataset = (struct ledger_dataset){.rho = entry->rho,
	                                   .epsilon = entry->epsilon,
	                                   .delta = entry->delta,
	                                   .measure = entry->order ? LEDGER_RDP : LEDGER_RHO,
	                                   .order = entry->order};
	(void)snprintf(dataset->name, sizeof dataset->name, "%s", entry->dataset);
	(void)snprintf(dataset->unit_key, sizeof dataset->unit_key, "%s", entry->unit_key);
	return CUTTLE_OK;
}

static void print_standing_row(const struct ledger_standing *standing) {
	const struct ledger_dataset *dataset = &standing->dataset;
	const double rho[] = {dataset->rho, standing->spent, standing->left},
	             epsilon[] = {dataset->epsilon, get_epsilon_spent(standing),
	                          get_epsilon_left(standing)};
	char cells[6][UNITS_NUMBER], measure[LEDGER_MEASURE];
	ledger_print_measure(dataset->order, true, measure);
	for (size_t i = 0; i < 3; i++) {
		units_print(rho[i], i == 1, cells[2 * i]);
		if (i && standing->in_epsilon) (void)snprintf(cells[2 * i], UNITS_NUMBER, "-");
		units_print(epsilon[i], i == 1, cells[2 * i + 1]);
	}
	printf(LIST_ROW, measure, cells[0], cells[1], cells[2], cells[3], cells[4], cells[5],
	       dataset->delta, (unsigned long long)standing->runs, dataset->name);
}

/* Prints every data set with limit, spent and remaining. */
static enum cuttle_status list_datasets(const struct verb *verb, const struct ledger_values *values,
                                        struct ledger *ledger, struct cuttle_error *error) {
	struct datasets datasets = {0};
	json_t *rows = values->json ? json_array() : NULL;
	enum cuttle_status status = ledger_walk(ledger, NULL, collect_dataset, &datasets, error);
	if (!status && !values->json) puts(LIST_HEADINGS);
	for (size_t i = 0; i < datasets.count && !status; i++) {
		struct ledger_standing standing;
		status = ledger_look(ledger, datasets.all[i].name, &standing, error);
		if (!status && !values->json) print_standing_row(&standing);
		if (!status && values->json &&
		    json_array_append_new(rows, encode_standing(&standing)) != 0)
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	free(datasets.all);
	if (!status && values->json)
		return (enum cuttle_status)verb_print(verb, rows, JSON_COMPACT);
	json_decref(rows);
	return status;
}

/* Reads a number above 0 that was typed. *decimal: it stands for what was typed; else it is on the
 * safe side of that. NaN: it is none, or not given. */
static double read_loss(const char *text, bool up, bool *decimal) {
	double value = NAN;
	*decimal = text && options_real(text, &value) && units_read(text, up, &value);
	return value;
}

/* Names the option whose text is no number above 0; NULL = none. */
static const char *find_bad_loss(const struct ledger_values *values) {
	const char *const options[] = {"--rho",        values->rho,       "--loss",
	                               values->loss,   "--rho-limit",     values->rho_limit,
	                               "--loss-limit", values->loss_limit};
	bool decimal;
	for (size_t i = 0; i < sizeof options / sizeof *options; i += 2)
		if (options[i + 1] && isnan(read_loss(options[i + 1], true, &decimal)))
			return options[i];
	return NULL;
}

/* The order given, or 0. */
static unsigned get_order(const struct ledger_values *values) {
	return values->order == COUNT_NONE ? 0 : (unsigned)values->order;
}

static enum cuttle_status init_dataset(const struct verb *verb, const struct ledger_values *values,
                                       struct cuttle_error *error) {
	const bool renyi = values->measure == LEDGER_RDP;
	bool decimal;
	const double limit =
	    read_loss(renyi ? values->loss_limit : values->rho_limit, false, &decimal);
	struct ledger_dataset dataset = {.rho = limit,
	                                 .decimal = decimal,
	                                 .epsilon = values->epsilon_limit,
	                                 .delta = values->delta_limit,
	                                 .measure = (enum ledger_measure)values->measure,
	                                 .order = get_order(values)};
	struct ledger *ledger;
	(void)snprintf(dataset.name, sizeof dataset.name, "%s", values->dataset);
	(void)snprintf(dataset.unit_key, sizeof dataset.unit_key, "%s",
	               values->unit_key ? values->unit_key : "");
	enum cuttle_status status = ledger_create(values->ledger, error);
	if (!status) status = ledger_open(values->ledger, &ledger, error);
	if (status) return status;
	status = ledger_add(ledger, &dataset, error);
	if (!status) status = show_dataset(verb, values, ledger, error);
	ledger_close(&ledger);
	return status;
}

/* The data set of that name, or NULL. An entry's epsilon is shown at its data set's delta. */
static const struct ledger_dataset *find_dataset(const struct datasets *datasets,
                                                 const char *name) {
	for (size_t i = 0; i < datasets->count; i++)
		if (!strcmp(datasets->all[i].name, name)) return &datasets->all[i];
	return NULL;
}

static enum cuttle_status print_history_entry(void *user, const struct chain_entry *entry) {
	char date[32] = "-", loss[UNITS_NUMBER] = "-", epsilon[UNITS_NUMBER] = "-",
	     output[OUTPUT_DIGITS + 1] = "-", measure[LEDGER_MEASURE] = "-";
	const time_t seconds = (time_t)entry->time;
	struct tm broken;
	const bool limit = !strcmp(entry->kind, "dataset");
	struct datasets *datasets = user;
	if (!datasets->count)
		printf(HISTORY_ROW, "ENTRY", "TIME", "KIND", "MEASURE", "LOSS", "EPSILON", "RUN",
		       "OUTPUT", "DATA SET");
	const enum cuttle_status status = collect_dataset(datasets, entry);
	if (status) return status;
	const struct ledger_dataset *dataset = find_dataset(datasets, entry->dataset);
	if (entry->time && gmtime_r(&seconds, &broken))
		(void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &broken);
	if (entry->rho > 0) {
		units_print(entry->rho, !limit, loss);
		ledger_print_measure(entry->order, true, measure);
	}
	if (entry->charges.delta > 0) {
		(void)snprintf(measure, sizeof measure, "epsilon");
		units_print(entry->rho, true, epsilon);
	} else if (entry->rho > 0 && dataset)
		units_print(ledger_epsilon(dataset, entry->rho, !limit), !limit, epsilon);
	// An entry that closes a run holds the output's hash where others hold the command's.
	if (!strcmp(entry->kind, "close"))
		(void)snprintf(output, sizeof output, "%s", entry->command);
	char number[24];
	(void)snprintf(number, sizeof number, "%lld", (long long)entry->number);
	printf(HISTORY_ROW, number, date, entry->kind, measure, loss, epsilon,
	       *entry->run ? entry->run : "-", output, entry->dataset);
	return CUTTLE_OK;
}

/* Prints the entries of one data set, or of all. */
static enum cuttle_status print_history(const struct ledger_values *values, struct ledger *ledger,
                                        struct cuttle_error *error) {
	struct datasets datasets = {0};
	const enum cuttle_status status =
	    ledger_walk(ledger, values->dataset, print_history_entry, &datasets, error);
	free(datasets.all);
	return status;
}

static enum cuttle_status export_entry(void *user, const struct chain_entry *entry) {
	size_t size;
	(void)user;
	char *line = chain_json(entry, true, &size);
	if (!line) return CUTTLE_NOMEM;
	(void)fwrite(line, 1, size, stdout);
	free(line);
	return CUTTLE_OK;
}

static bool check_hex(const char *text, size_t digits) {
	return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

/* Charges a run once. A run of that name with the same numbers is not charged again; with other
 * numbers it is refused. */
static enum cuttle_status charge_once(struct ledger *ledger, const struct ledger_request *request,
                                      struct ledger_run *found, struct cuttle_error *error) {
	enum cuttle_status status =
	    ledger_find(ledger, request->dataset, request->run, found, error);
	if (status) return status;
	if (found->state == LEDGER_UNKNOWN)
		return ledger_reserve(ledger, request, false, found, error);
	if (strcmp(found->command, request->command) != 0)
		return io_fail(error, CUTTLE_USAGE, "run %s was charged with other numbers",
		               request->run);
	return ledger_draw(ledger, request->dataset, request->run, NULL, NULL, error);
}

static enum cuttle_status charge_units(const struct ledger_values *values, struct ledger *ledger,
                                       bool dry, struct cuttle_error *error) {
	struct ledger_run found;
	char run[LEDGER_RUN], command[HASH_TEXT], numbers[96], measure[LEDGER_MEASURE] = "";
	bool decimal;
	const double loss =
	    read_loss(values->measure == LEDGER_RDP ? values->loss : values->rho, true, &decimal);
	const unsigned order = get_order(values);
	ledger_name_run(run);
	if (values->run) (void)snprintf(run, sizeof run, "%s", values->run);
	// Older versions charged rho alone and named no measure, and their charges still count.
	if (order) ledger_print_measure(order, true, measure);
	(void)snprintf(numbers, sizeof numbers, "%a %llu %llu%s", loss,
	               (unsigned long long)values->first, (unsigned long long)values->count,
	               measure);
	hash_of(numbers, strlen(numbers), command);
	const struct ledger_request request = {
	    .dataset = values->dataset,
	    .run = run,
	    .command = command,
	    .rho = loss,
	    .decimal = decimal,
	    .measure = (enum ledger_measure)values->measure,
	    .order = order,
	    .drawn = true,
	    .first = values->first,
	    .count = values->count == COUNT_NONE ? UINT64_MAX - values->first : values->count};
	enum cuttle_status status = dry ? ledger_reserve(ledger, &request, true, &found, error)
	                                : charge_once(ledger, &request, &found, error);
	if (!status && dry) printf("it would not be refused\n");
	else if (!status)
		printf("%s\nThe run's name; it is charged in entry %s.\n", run, found.entry);
	return status;
}

static enum cuttle_status print_dataset_measure(void *user, const struct chain_entry *entry) {
	char measure[LEDGER_MEASURE];
	(void)user;
	if (strcmp(entry->kind, "dataset") != 0) return CUTTLE_OK;
	ledger_print_measure(entry->order, false, measure);
	printf("data set %s counts %s\n", entry->dataset, measure);
	return CUTTLE_OK;
}

static enum cuttle_status verify_ledger(const struct ledger_values *values, struct ledger *ledger,
                                        struct cuttle_error *error) {
	uint64_t entries;
	char head[HASH_TEXT];
	enum cuttle_status status = ledger_verify(ledger, values->head, &entries, head, error);
	if (!status)
		printf("%llu entries, each as it was written; the last is %s\n",
		       (unsigned long long)entries, *head ? head : "none");
	return status ? status : ledger_walk(ledger, NULL, print_dataset_measure, NULL, error);
}

static enum cuttle_status make_key(const char *path, struct cuttle_error *error) {
	char public_key[SIGNATURE_PUBLIC];
	enum cuttle_status status = signature_make(path, public_key, error);
	if (!status)
		printf("%s\nThe public key, also in %s.pub; the secret one is in %s.\n", public_key,
		       path, path);
	return status;
}

static enum cuttle_status back_up(const struct ledger_values *values, struct cuttle_error *error) {
	uint64_t entries;
	char head[HASH_TEXT];
	const enum cuttle_status status =
	    backup_ledger(values->ledger, values->output, &entries, head, error);
	if (!status)
		printf("%llu entries, each as it was written; the last is %s\n",
		       (unsigned long long)entries, *head ? head : "none");
	return status;
}

enum action {
	INIT,
	KEY,
	LIST,
	SHOW,
	HISTORY,
	CHECK,
	VERIFY,
	EXPORT,
	RESERVE,
	RELEASE,
	BACKUP,
	ACTIONS
};
static const char *const NAMES[ACTIONS] = {"init",    "key",     "list",   "show",
                                           "history", "check",   "verify", "export",
                                           "reserve", "release", "backup"};

static enum cuttle_status perform_action(const struct verb *verb,
                                         const struct ledger_values *values, enum action action,
                                         struct cuttle_error *error) {
	struct ledger *ledger;
	if (action == INIT) return init_dataset(verb, values, error);
	if (action == KEY) return make_key(values->sign, error);
	if (action == BACKUP) return back_up(values, error);
	enum cuttle_status status = ledger_open(values->ledger, &ledger, error);
	if (status) return status;
	switch (action) {
	case LIST:
		status = list_datasets(verb, values, ledger, error);
		break;
	case SHOW:
		status =
		    (values->dataset ? show_dataset : list_datasets)(verb, values, ledger, error);
		break;
	case HISTORY:
		status = print_history(values, ledger, error);
		break;
	case EXPORT:
		status = ledger_walk(ledger, values->dataset, export_entry, NULL, error);
		break;
	case CHECK:
	case RESERVE:
		status = charge_units(values, ledger, action == CHECK, error);
		break;
	case VERIFY:
		status = verify_ledger(values, ledger, error);
		break;
	case RELEASE:
		status = ledger_release(ledger, values->dataset, values->run, error);
		break;
	case INIT:
	case KEY:
	case BACKUP:
	case ACTIONS:
		break;
	}
	ledger_close(&ledger);
	return status;
}

/* Refuses an action that lacks an option; returns the exit code. `all`: actions for which no data
 * set needs to be named. */
static int refuse_incomplete_ledger(const struct verb *verb, const struct ledger_values *values,
                                    enum action action) {
	const bool all = action == LIST || action == SHOW || action == HISTORY ||
	                 action == EXPORT || action == VERIFY || action == KEY || action == BACKUP;
	const bool charges = action == CHECK || action == RESERVE,
	           counts = action == INIT || charges, renyi = values->measure == LEDGER_RDP,
	           in_losses = values->loss || values->loss_limit || values->order != COUNT_NONE,
	           limited =
	               !isnan(values->epsilon_limit) || values->rho_limit || values->loss_limit;
	const struct verb_need needs[] = {
	    {action == KEY && !values->sign, "--sign FILE", "--sign officer.key"},
	    {action != KEY && !values->ledger, "--ledger FILE", "--ledger spent.db"},
	    {action == BACKUP && !values->output, "--output FILE", "--output copy.db"},
	    {!all && !values->dataset, "--dataset NAME", "--dataset notes"},
	    {action == INIT && !limited,
	     renyi ? "--epsilon-limit EPS or --loss-limit LOSS"
	           : "--epsilon-limit EPS or --rho-limit RHO",
	     "--epsilon-limit 10"},
	    {counts && in_losses && !renyi, "--measure rdp (for --order, --loss and --loss-limit)",
	     "--measure rdp"},
	    {counts && renyi && values->order == COUNT_NONE, "--order A", "--order 4"},
	    {charges && !in_losses && !renyi && !values->rho, "--rho RHO", "--rho 0.2"},
	    {charges && renyi && !values->loss, "--loss LOSS", "--loss 0.5"},
	    {action == RELEASE && !values->run, "--run RUN (cuttle ledger history prints it)",
	     NULL},
	};
	return verb_lacks(verb, needs, sizeof needs / sizeof *needs);
}

/* Says what is wrong with the action's values; NULL = nothing. */
static const char *name_mistake(const struct ledger_values *values, enum action action) {
	const bool charges = action == CHECK || action == RESERVE;
	const bool renyi = values->measure == LEDGER_RDP, in_rho = values->rho || values->rho_limit;
	if ((action == INIT || charges) && renyi && in_rho)
		return "--rho and --rho-limit are of --measure rho; with --measure rdp give "
		       "--loss and --loss-limit";
	if (action == INIT && !isnan(values->epsilon_limit) && values->rho_limit)
		return "give one of --epsilon-limit and --rho-limit, not both";
	if (action == INIT && !isnan(values->epsilon_limit) && values->loss_limit)
		return "give one of --epsilon-limit and --loss-limit, not both";
	if (action == INIT && (strlen(values->dataset) >= LEDGER_NAME ||
	                       (values->unit_key && strlen(values->unit_key) >= LEDGER_NAME)))
		return "--dataset and --unit-key: at most 128 bytes";
	if (action == RESERVE && values->run && !check_hex(values->run, LEDGER_RUN - 1))
		return "--run: must be 32 hex digits, in lower case";
	if (values->head && !check_hex(values->head, HASH_TEXT - 1))
		return "--head: must be 64 hex digits, in lower case";
	return NULL;
}

/* Checks the paths. The action key writes a pair of files; all others open the ledger alone. */
static int check_ledger_files(const struct verb *verb, const struct ledger_values *values,
                              enum action action) {
	const struct path_use key = {"--sign", values->sign, PATH_RECORD, NULL, {SIGNATURE_BESIDE}};
	const struct path_use ledger = {
	    "--ledger", values->ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}};
	const struct path_use both[] = {
	    ledger, {"--output", values->output, PATH_LEDGER, NULL, {LEDGER_BESIDE}}};
	if (action == BACKUP) return verb_paths(verb, both, 2);
	return verb_paths(verb, action == KEY ? &key : &ledger, 1);
}

static int run_ledger_verb(const struct verb *verb, int argc, char **argv) {
	struct ledger_values values = {
	    .epsilon_limit = NAN, .delta_limit = 1e-6, .order = COUNT_NONE, .count = COUNT_NONE};
	struct cuttle_error error = {"out of memory"};
	int operand, code;
	size_t action;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (!verb_action(verb, operand + 1 == argc ? argv[operand] : NULL, NAMES, ACTIONS, &action))
		return CUTTLE_USAGE;
	code = refuse_incomplete_ledger(verb, &values, (enum action)action);
	if (code) return code;
	const char *problem = name_mistake(&values, (enum action)action);
	if (problem) return verb_refuse(verb, CUTTLE_USAGE, problem);
	char message[64];
	problem = find_bad_loss(&values);
	(void)snprintf(message, sizeof message, "%s: must be a number " RHO_RANGE,
	               problem ? problem : "");
	if (problem) return verb_refuse(verb, CUTTLE_USAGE, message);
	code = check_ledger_files(verb, &values, (enum action)action);
	if (code) return code;
	enum cuttle_status status = perform_action(verb, &values, (enum action)action, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb ledger_verb = {
    .name = "ledger",
    .usage = "init|key|list|show|history|check|verify|export|reserve|release|backup [OPTION]...",
    .summary = "the privacy budget of data sets, counted over runs",
    .example = "init --ledger spent.db --dataset notes --epsilon-limit 10 --delta-limit 1e-6",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .actions = NAMES,
    .action_count = ACTIONS,
    .run = run_ledger_verb,
};
