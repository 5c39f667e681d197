// SPDX-License-Identifier: Apache-2.0
// cuttle ledger: the budget of data sets, counted over runs.
#include "tools/verbs.h"

#include "io/fail.h"
#include "io/ledger.h"
#include "io/signature.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VALUE(member) OPTION(struct ledger_values, member)

struct ledger_values {
	const char *ledger, *dataset, *unit_key, *run, *head, *sign;
	double epsilon_limit, delta_limit, rho_limit, rho;
	uint64_t first, count;
	bool json;
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "ledger", VALUE(ledger), .argument = "FILE",
	 .help = "the ledger"},
	{.name = "dataset", VALUE(dataset), .argument = "NAME",
	 .help = "the data set in it"},
	{.name = "epsilon-limit", VALUE(epsilon_limit), .argument = "EPS",
	 .help = "init: all runs together may lose this much, at --delta-limit"},
	{.name = "delta-limit", VALUE(delta_limit), .argument = "D",
	 .help = "init: probability that epsilon does not hold (default 1e-6); epsilons of the ledger are shown at it"},
	{.name = "rho-limit", VALUE(rho_limit), .argument = "RHO",
	 .help = "init: the limit in zero-concentrated privacy loss, instead of --epsilon-limit"},
	{.name = "unit-key", VALUE(unit_key), .argument = "FIELD",
	 .help = "init: count per value of this field or column instead of per line; how often values repeat may then be seen"},
	{.name = "rho", VALUE(rho), .argument = "RHO",
	 .help = "check, reserve: the privacy loss of one text (generate --dry-run prints it)"},
	{.name = "first", VALUE(first), .argument = "LINE",
	 .help = "check, reserve: the first record it reads, from 0 (default 0)"},
	{.name = "count", VALUE(count), .argument = "LINES",
	 .help = "check, reserve: how many (default all there are and will be)"},
	{.name = "run", VALUE(run), .argument = "RUN",
	 .help = "release: the run; reserve: its name, 32 hex digits; asked twice with the same numbers it is charged once (default: a new name)"},
	{.name = "head", VALUE(head), .argument = "HASH",
	 .help = "verify: an entry that must be there, kept elsewhere; finds an older copy put in the ledger's place"},
	{.name = "sign", VALUE(sign), .argument = "FILE",
	 .help = "key: the secret key to make, with FILE.pub beside it; generate --sign FILE signs receipts with it"},
	{.name = "json", VALUE(json),
	 .help = "show: all fields as JSON"},
};

static const char ABOUT[] =
	"init adds a data set with its limit, and makes the file when there is none. generate --ledger FILE --dataset NAME then reserves "
	"before its first token what all its tokens can cost, and is refused (exit 3) when that would go over the limit. Losses add up in "
	"rho, whichever accountant found the clip; spent is rounded up, remaining down. A command that continues an interrupted run is not charged again; one that draws anew "
	"is.\n\n"

	"show prints limit, spent, remaining and the number of runs; history the entries; check says whether a loss would be refused; "
	"reserve charges what other programs spend, for ever; release gives back what a run reserved that was ended before its first "
	"token; export prints the entries as JSON lines, without units; verify checks every byte of the file and the chain of hashes. "
	"key makes a pair of Ed25519 keys (no ledger needed) and prints the public one, which receipt verify --key takes.\n\n"

	"By default a unit is a line of the data set: lines must keep their places and new ones go behind. What the ledger says is then "
	"a function of public numbers alone. With --unit-key everybody with the same value is a unit, and g records of it in one text cost "
	"g^2 rho; that a run is refused, and what is spent, then tells how often values repeat. The ledger keeps keyed hashes of the "
	"values: treat the file like the documents. generate names the same field with --unit-key, and does not read records without a value.\n";
// clang-format on

static json_t *json_of(const struct ledger_standing *standing) {
	const struct ledger_dataset *dataset = &standing->dataset;
	const struct jsonout_member members[] = {
	    {"dataset", json_string(dataset->name)},
	    {"unit_key", json_string(dataset->unit_key)},
	    {"rho_limit", jsonout_real(dataset->rho)},
	    {"epsilon_limit", jsonout_real(dataset->epsilon)},
	    {"delta", jsonout_real(dataset->delta)},
	    {"rho_spent", jsonout_real(standing->spent)},
	    {"epsilon_spent", jsonout_real(ledger_epsilon(dataset, standing->spent, true))},
	    {"rho_remaining", jsonout_real(standing->left)},
	    {"epsilon_remaining", jsonout_real(ledger_epsilon(dataset, standing->left, false))},
	    {"runs", json_integer((json_int_t)standing->runs)},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

static void print_line(const char *what, const struct ledger_dataset *dataset, double rho, bool up) {
	char number[UNITS_NUMBER], epsilon[UNITS_NUMBER];
	units_print(rho, up, number);
	units_print(ledger_epsilon(dataset, rho, up), up, epsilon);
	printf("%-10s rho %-12s epsilon %s\n", what, number, epsilon);
}

static enum cuttle_status show(const struct verb *verb, const struct ledger_values *values, struct ledger *ledger,
                               struct cuttle_error *error) {
	struct ledger_standing standing;
	const struct ledger_dataset *dataset = &standing.dataset;
	enum cuttle_status status = ledger_look(ledger, values->dataset, &standing, error);
	if (status) return status;
	if (values->json) return (enum cuttle_status)verb_print(verb, json_of(&standing), JSON_COMPACT);
	printf("data set   %s\nunit       %s%s\n", dataset->name, *dataset->unit_key ? "everybody with one value of " : "one line",
	       dataset->unit_key);
	print_line("limit", dataset, dataset->rho, false);
	print_line("spent", dataset, standing.spent, true);
	print_line("remaining", dataset, standing.left, false);
	printf("delta      %g\nruns       %llu\n", dataset->delta, (unsigned long long)standing.runs);
	return CUTTLE_OK;
}

static enum cuttle_status init(const struct verb *verb, const struct ledger_values *values, struct cuttle_error *error) {
	struct ledger_dataset dataset = {.rho = values->rho_limit, .epsilon = values->epsilon_limit, .delta = values->delta_limit};
	struct ledger *ledger;
	(void)snprintf(dataset.name, sizeof dataset.name, "%s", values->dataset);
	(void)snprintf(dataset.unit_key, sizeof dataset.unit_key, "%s", values->unit_key ? values->unit_key : "");
	enum cuttle_status status = ledger_create(values->ledger, error);
	if (!status) status = ledger_open(values->ledger, &ledger, error);
	if (status) return status;
	status = ledger_add(ledger, &dataset, error);
	if (!status) status = show(verb, values, ledger, error);
	ledger_close(&ledger);
	return status;
}

static enum cuttle_status history_line(void *user, const struct chain_entry *entry) {
	char date[32] = "-", rho[UNITS_NUMBER] = "-";
	const time_t seconds = (time_t)entry->time;
	struct tm broken;
	(void)user;
	if (entry->time && gmtime_r(&seconds, &broken)) (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &broken);
	if (entry->rho > 0) units_print(entry->rho, strcmp(entry->kind, "dataset") != 0, rho);
	printf("%-6lld %-20s %-8s %-12s %-32s %s\n", (long long)entry->number, date, entry->kind, rho, *entry->run ? entry->run : "-",
	       entry->dataset);
	return CUTTLE_OK;
}

static enum cuttle_status export_line(void *user, const struct chain_entry *entry) {
	size_t size;
	(void)user;
	char *line = chain_json(entry, true, &size);
	if (!line) return CUTTLE_NOMEM;
	(void)fwrite(line, 1, size, stdout);
	free(line);
	return CUTTLE_OK;
}

static bool hex(const char *text, size_t digits) {
	return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

/* A run's name stands for one charge: asked again with the same numbers it is not charged again. */
static enum cuttle_status charge_once(struct ledger *ledger, const struct ledger_request *request, struct ledger_run *found,
                                      struct cuttle_error *error) {
	enum cuttle_status status = ledger_find(ledger, request->dataset, request->run, found, error);
	if (status) return status;
	if (found->state == LEDGER_UNKNOWN) return ledger_reserve(ledger, request, false, found, error);
	if (strcmp(found->command, request->command) != 0)
		return io_fail(error, CUTTLE_USAGE, "run %s was charged with other numbers", request->run);
	return ledger_draw(ledger, request->dataset, request->run, error);
}

static enum cuttle_status charge(const struct ledger_values *values, struct ledger *ledger, bool dry, struct cuttle_error *error) {
	struct ledger_run found;
	char run[LEDGER_RUN], command[HASH_TEXT], numbers[96];
	ledger_name_run(run);
	if (values->run) (void)snprintf(run, sizeof run, "%s", values->run);
	(void)snprintf(numbers, sizeof numbers, "%a %llu %llu", values->rho, (unsigned long long)values->first,
	               (unsigned long long)values->count);
	hash_of(numbers, strlen(numbers), command);
	const struct ledger_request request = {.dataset = values->dataset,
	                                       .run = run,
	                                       .command = command,
	                                       .rho = values->rho,
	                                       .drawn = true,
	                                       .first = values->first,
	                                       .count = values->count == COUNT_NONE ? UINT64_MAX - values->first : values->count};
	enum cuttle_status status =
	    dry ? ledger_reserve(ledger, &request, true, &found, error) : charge_once(ledger, &request, &found, error);
	if (!status && dry) printf("it would not be refused\n");
	else if (!status) printf("%s\nThe run's name; it is charged in entry %s.\n", run, found.entry);
	return status;
}

static enum cuttle_status verify(const struct ledger_values *values, struct ledger *ledger, struct cuttle_error *error) {
	uint64_t entries;
	char head[HASH_TEXT];
	enum cuttle_status status = ledger_verify(ledger, values->head, &entries, head, error);
	if (!status) printf("%llu entries, each as it was written; the last is %s\n", (unsigned long long)entries, *head ? head : "none");
	return status;
}

static enum cuttle_status make_key(const char *path, struct cuttle_error *error) {
	char public_key[SIGNATURE_PUBLIC];
	enum cuttle_status status = signature_make(path, public_key, error);
	if (!status) printf("%s\nThe public key, also in %s.pub; the secret one is in %s.\n", public_key, path, path);
	return status;
}

enum action { INIT, KEY, SHOW, HISTORY, CHECK, VERIFY, EXPORT, RESERVE, RELEASE, ACTIONS };
static const char *const NAMES[ACTIONS] = {"init", "key", "show", "history", "check", "verify", "export", "reserve", "release"};

static enum cuttle_status act(const struct verb *verb, const struct ledger_values *values, enum action action, struct cuttle_error *error) {
	struct ledger *ledger;
	if (action == INIT) return init(verb, values, error);
	if (action == KEY) return make_key(values->sign, error);
	enum cuttle_status status = ledger_open(values->ledger, &ledger, error);
	if (status) return status;
	switch (action) {
	case SHOW:
		status = show(verb, values, ledger, error);
		break;
	case HISTORY:
	case EXPORT:
		status = ledger_walk(ledger, values->dataset, action == EXPORT ? export_line : history_line, NULL, error);
		break;
	case CHECK:
	case RESERVE:
		status = charge(values, ledger, action == CHECK, error);
		break;
	case VERIFY:
		status = verify(values, ledger, error);
		break;
	case RELEASE:
		status = ledger_release(ledger, values->dataset, values->run, error);
		break;
	case INIT:
	case KEY:
	case ACTIONS:
		break;
	}
	ledger_close(&ledger);
	return status;
}

/* What the action lacks, or NULL. */
static const char *lacks(const struct ledger_values *values, enum action action) {
	const bool all = action == HISTORY || action == EXPORT || action == VERIFY;
	const bool charges = action == CHECK || action == RESERVE;
	if (action == KEY) return values->sign ? NULL : "where does the key go? Give --sign FILE";
	if (!values->ledger) return "no ledger: give --ledger FILE";
	if (!values->dataset && !all) return "no data set: give --dataset NAME";
	if (action == INIT && isnan(values->epsilon_limit) == isnan(values->rho_limit))
		return "give one of --epsilon-limit and --rho-limit";
	if (action == INIT && (strlen(values->dataset) >= LEDGER_NAME || (values->unit_key && strlen(values->unit_key) >= LEDGER_NAME)))
		return "--dataset and --unit-key: at most 128 bytes";
	if (charges && !(values->rho > 0)) return "--rho: must be a number above 0";
	if (action == RELEASE && !values->run) return "which run? Give --run, as history prints it";
	if (action == RESERVE && values->run && !hex(values->run, LEDGER_RUN - 1)) return "--run: must be 32 hex digits, in lower case";
	if (values->head && !hex(values->head, HASH_TEXT - 1)) return "--head: must be 64 hex digits, in lower case";
	return NULL;
}

static int run(const struct verb *verb, int argc, char **argv) {
	struct ledger_values values = {.epsilon_limit = NAN, .delta_limit = 1e-6, .rho_limit = NAN, .rho = NAN, .count = COUNT_NONE};
	struct cuttle_error error = {"out of memory"};
	int operand, code, action = 0;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	while (operand < argc && action < ACTIONS && strcmp(argv[operand], NAMES[action]) != 0) action++;
	if (operand + 1 != argc || action == ACTIONS)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "say what to do: init, key, show, history, check, verify, export, reserve or release");
	const char *problem = lacks(&values, (enum action)action);
	if (problem) return verb_refuse(verb, CUTTLE_USAGE, problem);
	enum cuttle_status status = act(verb, &values, (enum action)action, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb ledger_verb = {
    .name = "ledger",
    .usage = "init|key|show|history|check|verify|export|reserve|release --ledger FILE --dataset NAME [OPTION]...",
    .summary = "the privacy budget of data sets, counted over runs",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run,
};
