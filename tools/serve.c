// SPDX-License-Identifier: Apache-2.0
// cuttle serve: answers clients over HTTP; cuttle serve key: makes a key for one of them; cuttle
// serve health: asks one that runs. What the server does stands in serve/; here are its options.
// No private data passes through.
//
// The way of a request:
//   tools/serve.c                       options to a request; the model is opened
//   serve/serve.c                       the parts are joined, and at the end stop in an order that
//                                       loses nothing (serve_none.c: a build without them)
//     serve/http/listen.c               a socket; others than this machine only with TLS and keys
//     serve/http/http.c                 what libmicrohttpd calls (serve/http/mhd.c loads it), on
//                                       its one thread
//   serve/http/http_request.c           form, host, origin, route, role: in this order, before
//                                       anybody answers
//     serve/http/http_check.c           what can be read in two ways is refused, and its connection
//                                       ends
//     serve/http/keys.c                 a key that was right before is recalled by a keyed hash
//     serve/http/http_work.c            else the hasher hashes it, while the connection waits
//   serve/http/http.c                   the body, counted; then the route answers:
//     serve/http/http_state.c           /health, /ready, /metrics: at once
//     serve/http/http_work.c            a slow route, or an upload piece by piece: on the disk
//                                       thread; one that asks the command or the ledger: on a
//                                       thread of its own, eight of a key
//     serve/plain.c                     a plain request: read (serve/plain_request.c), queued,
//                                       answered later
//       engine/run/loop/slots.c         (engine/cuttle/slots.h) on the engine thread: all slots'
//                                       rows in one pass, a token each
//         engine/run/loop/slots_draw.c  from its own row and its own bits alone
//       serve/plain_text.c              what may be told of the text so far: no stop string, whole
//                                       characters
//       serve/plain_answer.c            OpenAI's and llama.cpp's words
//       serve/http/stream.c             events, until the client has them; a full one does not hold
//                                       up others
//   serve/http/http_reply.c             the reply, with headers that all have
//   serve/page.c                        GET /: the page, with its policy
//   serve/http/http_watch.c             meanwhile: who is too slow is shut out; a log line has no
//                                       path and no body
#include "serve/serve.h"
#include "tools/common/verbs.h"
#include "tools/report/report_text.h"

#include "io/ledger/ledger.h"
#include "io/disk/secrecy.h"
#include "io/receipts/receipt.h"
#include "io/disk/fail.h"
#include "serve/http/health.h"
#include "serve/http/http_check.h"
#include "serve/http/keys.h"
#include "serve/jobs/trail_charges.h"
#include "serve/jobs/trail_check.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct serve_values {
	struct model_values open;
	const char *listen;      /* HOST:PORT or unix:PATH; NULL = systemd's, else 127.0.0.1:8080 */
	const char *keys;        /* path */
	const char *certificate; /* path */
	const char *secret;      /* path */
	struct option_list hosts;    /* more names of this server */
	const char *proxy;           /* address, or "unix"; NULL = none */
	struct option_list datasets; /* key: that it may use; none = all */
	const char *name;            /* of the model; NULL = from its file */
	const char *state;           /* folder for private jobs; NULL = there are none */
	const char *runtime;         /* folder in memory for keys; NULL = as usual */
	const char *ledger;          /* path; with state */
	const char *bias;            /* path, its receipt beside it */
	uint64_t key_jobs, key_waiting, key_bytes; /* of one key; 0 = not given */
	uint64_t queue;                            /* most jobs that wait or run; 0 = not given */
	uint64_t seed;                             /* of jobs; COUNT_NONE = private */
	bool approval;
	bool restored;
	bool trail_restored;
	const char *trail_copy; /* path, "-" = standard output; NULL = none */
	const char *sign;       /* path of a secret key; NULL = nothing is signed */
	const char *public_key; /* trail verify: as --key of receipt verify; NULL = any */
	const char *head;       /* trail verify: a hash that must be there */
	uint64_t slots;
	uint64_t context;
	int plain; /* enum serve_plain */
	bool quiet;
};

// clang-format off
#define SERVE(member) OPTION(struct serve_values, member)
static const struct option_entry OPTIONS[] = {
	{.name = "listen", .first = true, SERVE(listen), .argument = "ADDRESS",
	 .help = "HOST:PORT or unix:PATH (default: the socket that systemd hands over, else "
	         "127.0.0.1:8080); other hosts than this one only with TLS and keys"},
	{.name = "keys", .first = true, SERVE(keys), .argument = "FILE",
	 .help = "clients need a key of this file, which cuttle serve key writes; without it "
	         "whoever can connect may do everything"},
	{.name = "tls-cert", SERVE(certificate), .argument = "FILE",
	 .help = "certificate chain in PEM form, for TLS 1.2 and 1.3"},
	{.name = "tls-key", SERVE(secret), .argument = "FILE", .help = "its private key"},
	{.name = "host", SERVE(hosts), .argument = "NAME",
	 .help = "another name by which clients call this server, as behind a proxy, with whatever "
	         "port; may be given several times"},
	{.name = "trusted-proxy", SERVE(proxy), .argument = "ADDRESS",
	 .help = "connections from this address are of a proxy: the audit trail has the client's "
	         "address, as its Forwarded or X-Forwarded-For says, and connections are limited "
	         "by key. \"unix\" is who connects to a Unix socket"},
	{.name = "dataset", SERVE(datasets), .argument = "NAME",
	 .help = "key: it may use and see this data set alone (default: all); may be given several "
	         "times"},
	{.name = "plain", SERVE(plain), .argument = "pause|beside|off",
	 .help = "completions without any protection. pause (default) refuses them while "
	         "a private job runs, since who draws beside it could time its steps. "
	         "beside does not, for servers whose clients may all know everything. off "
	         "has none"},
	{.name = "name", SERVE(name), .argument = "NAME",
	 .help = "what clients call the model: a-z, 0-9, - and _ (default: from the file's name)"},
	{.name = "state", .first = true, SERVE(state), .argument = "FOLDER",
	 .help = "keep private jobs here, a folder of this server alone; with --ledger"},
	{.name = "ledger", .first = true, SERVE(ledger), .argument = "FILE",
	 .help = "the ledger that private jobs are charged in (cuttle ledger init). trail verify: "
	         "a ledger that must have what jobs of the trail were charged"},
	{.name = "runtime-dir", .first = true, SERVE(runtime), .argument = "FOLDER",
	 .help = "keep the keys of uploaded references here; must be in memory, so that a reboot "
	         "forgets them (default: $RUNTIME_DIRECTORY, else /run/user/UID/cuttle)"},
	{.name = "approval", .first = true, SERVE(approval),
	 .help = "officers alone may start private jobs"},
	{.name = "ledger-restored", SERVE(restored),
	 .help = "begin although the ledger lacks entries that this server has seen. It "
	         "was put back from a backup, and what it lacks is counted no more. "
	         "Needed once"},
	{.name = "trail-copy", SERVE(trail_copy), .argument = "FILE",
	 .help = "also write each line of the audit trail to this file, or to standard output "
	         "(-), for programs that collect logs. STATE/trail.jsonl is what counts"},
	{.name = "trail-restored", SERVE(trail_restored),
	 .help = "begin although the audit trail is not as this server left it, and go on from "
	         "what is there. Its next entry says so. Needed once"},
	{.name = "sign", SERVE(sign), .argument = "FILE",
	 .help = "sign receipts of private jobs, and each entry of the audit trail, with this "
	         "secret key (made by cuttle ledger key). GET /v1/public-key is the public one"},
	{.name = "public-key", SERVE(public_key), .argument = "PUBLIC",
	 .help = "trail verify: the newest entry must be signed with this key: its 64 digits, or "
	         "the file with them"},
	{.name = "head", SERVE(head), .argument = "HASH",
	 .help = "trail verify: an entry must have this hash, which was kept elsewhere"},
	{.name = "queue", SERVE(queue), .argument = "N", .least = 1, .most = 100000,
	 .help = "private jobs that may wait or run (default 64), half of them of one key; more "
	         "are refused"},
	{.name = "key-jobs", SERVE(key_jobs), .argument = "N", .least = 1, .most = 1000000,
	 .help = "private jobs of one key, those that have ended included (default 4096)"},
	{.name = "key-waiting", SERVE(key_waiting), .argument = "N", .least = 1, .most = 1000000,
	 .help = "private jobs of one key that were not started (default 256)"},
	{.name = "key-bytes", SERVE(key_bytes), .argument = "BYTES", .least = 1,
	 .help = "references of one key's jobs together (default 17179869184, which is 16 GiB)"},
	{.name = "slots", SERVE(slots), .argument = "N", .least = 1, .most = 64,
	 .help = "completions at once (default 8); others wait"},
	{.name = "ctx-size", .letter = 'c', SERVE(context), .argument = "TOKENS",
	 .most = UINT32_MAX,
	 .help = "longest prompt and text together (default: the model's, at most 4096)"},
	{.name = "bias", SERVE(bias), .argument = "FILE",
	 .help = "what cuttle learn has made of records, its receipt beside it: completions are "
	         "more like these. They have its guarantee, as /v1/models and the page say; "
	         "prompts are NOT PRIVATE as ever"},
	{.name = "quiet", SERVE(quiet), .help = "no line for each request on standard error"},
	MODEL_OPTIONS(struct serve_values),
	KV_OPTION(struct serve_values),
	{.name = "insecure-seed", SERVE(seed), .argument = "SEED",
	 .help = "draw private jobs from this seed, for tests: their texts are NOT PRIVATE, say "
	         "so, and are not charged"},
};

static const char ABOUT[] =
	"Answers GET /v1/models, POST /v1/completions and /v1/chat/completions as OpenAI's "
	"clients expect. It answers /completion, /tokenize and /props as llama.cpp's do, and "
	"/health, /ready and /metrics. Completions are NOT PRIVATE: the model goes on with "
	"what it is sent.\n"
	"cuttle serve key ID ROLE --keys FILE makes a key, adds its hash to the file, "
	"and prints the key once. It stands nowhere else. To take a key away, delete its line. "
	"Roles: use has private jobs, of the data sets of --dataset, and completions. officer "
	"also sees the jobs of all, and reads ledger and trail. metrics reads /metrics alone. "
	"admin makes and takes away keys by /v1/keys, and sees no text.\n"
	"A server reads the file again on SIGHUP, and ends what was asked with keys that are "
	"gone. It then also reads --tls-cert and --tls-key again. Jobs are a key's: another one "
	"with the same ID does not see them. Files of keys and the TLS key must be closed to "
	"others (chmod 600).\n"
	"With --state and --ledger clients may also have private jobs. POST /v1/jobs says what "
	"cuttle generate or sanitize shall do. PUT /v1/jobs/ID/references brings the records, "
	"which are encrypted on the disk and wiped at the job's end. POST /v1/jobs/ID/start "
	"puts it into the queue when the ledger has room for it. GET /v1/jobs/ID/events, "
	"results and receipt tell the rest. Each runs as a process of its own, one at a time, "
	"and goes on where it was when the server is killed. What is promised is the command's "
	"own guarantee. Whoever can measure times on this server is not covered by it.\n"
	"A ledger may lack the charge of a job that is done, or the newest entry that this "
	"server saw. Then it was put back from a backup, or is another one: the server begins, "
	"and charges nothing (503). Put the newest copy there. Where there is none, charge by "
	"hand what is known: cuttle serve trail verify with --ledger prints the commands. Then an "
	"officer confirms the gap on the page, or by /v1/ledger/gap, or begin once with "
	"--ledger-restored.\n"
	"STATE/trail.jsonl is the audit trail: who created, uploaded, started, fetched, "
	"cancelled and removed which job, and which keys came and went, with time, key and "
	"address. A DELETE leaves it as it is. It has no text and no count of records.\n"
	"cuttle serve trail verify STATE says whether it is whole, also while the server runs, "
	"and also of a copy of the file. Exit 7: it was changed, cut or put in another order. "
	"Who owns the folder can write all of it anew, but for --sign. So keep the hash that it "
	"prints elsewhere, and give it as --head. With --ledger it looks for the charge of each "
	"job in that ledger. Exit 7: some are not there, and it prints the commands that reserve "
	"them.\n"
	"cuttle serve health, with the --listen and --tls-cert of a server that runs on this "
	"machine, ends with 0 if it answers /health, and with 1 if not. A container's health "
	"check calls it.\n"
	"SIGTERM and SIGINT end the server: new requests get a 503, those under way 10 "
	"seconds.\n";
// clang-format on

#define MAKE_KEY "key ID ROLE --keys FILE"
#define CHECK_TRAIL "trail verify STATE"

static int make_client_key(const struct verb *verb, const struct serve_values *values, int argc,
                           char **argv) {
	struct cuttle_error error;
	enum http_role role;
	char datasets[KEYS_DATASETS] = "";
	if (argc != 3 || !values->keys)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "to make a key type: cuttle serve " MAKE_KEY);
	if (!http_role_find(argv[2], &role))
		return verb_refuse(
		    verb, CUTTLE_USAGE,
		    "a key's role is use, officer, metrics or admin: cuttle serve " MAKE_KEY);
	if (values->datasets.count && (role == HTTP_METRICS || role == HTTP_ADMIN))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--dataset is for the roles use and officer; others see none");
	for (size_t i = 0; i < values->datasets.count; i++)
		if (!keys_add_dataset(datasets, values->datasets.texts[i]))
			return verb_refuse(verb, CUTTLE_USAGE,
			                   "--dataset: an empty name, or too many of them");
	const enum cuttle_status status =
	    keys_make(values->keys, argv[1], role, datasets, STDOUT_FILENO, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int ask_server_health(const struct verb *verb, const struct serve_values *values, int argc) {
	struct cuttle_error error;
	if (argc != 1)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "to ask a server type: cuttle serve health --listen ADDRESS");
	const enum cuttle_status status =
	    health_ask(values->listen, values->certificate != NULL, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

/* The name of the model's file, without folder and ending, as an id: "A b.gguf" is "a-b". */
static void name_model(const char *path, char name[HTTP_ID_MOST + 1]) {
	const char *const slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;
	size_t size = strlen(at), i = 0;
	if (file_ends_in(at, ".gguf")) size -= strlen(".gguf");
	for (; i < size && i < HTTP_ID_MOST; i++)
		name[i] = isalnum((unsigned char)at[i]) || at[i] == '_'
		              ? (char)tolower((unsigned char)at[i])
		              : '-';
	name[i] = 0;
}

static bool is_served_name(const char *name) {
	const size_t size = strlen(name);
	return size >= 1 && size <= HTTP_ID_MOST &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == size;
}

/* As in a request's header Host: a.example, a.example:9000, [::1] or [::1]:9000. */
static bool is_host_name(const char *name) {
	const size_t six = *name == '[';
	const size_t size = strspn(name + six, six ? "0123456789abcdefABCDEF:."
	                                           : "abcdefghijklmnopqrstuvwxyz"
	                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");
	const char *const port = name + 2 * six + size;
	if (!size || (six && name[1 + size] != ']')) return false;
	if (!*port) return true;
	return *port == ':' && port[1] && http_name_size(name) &&
	       strtoul(port + 1, NULL, 10) <= UINT16_MAX;
}

/* What is wrong with the values, NULL: nothing. Some say nothing to a server without jobs. */
static const char *find_serve_fault(const struct serve_values *values) {
	const bool jobs = values->state != NULL;
	if (values->bias && values->plain == SERVE_PLAIN_OFF)
		return "--bias is for completions: leave out --plain off";
	if (!jobs && values->approval) return "--approval needs --state FOLDER";
	if (!jobs && values->restored) return "--ledger-restored needs --state FOLDER";
	if (!jobs && values->trail_restored) return "--trail-restored needs --state FOLDER";
	if (!jobs && values->sign) return "--sign needs --state FOLDER";
	if (!jobs && values->trail_copy) return "--trail-copy needs --state FOLDER";
	if (!jobs && values->key_jobs) return "--key-jobs needs --state FOLDER";
	if (!jobs && values->key_waiting) return "--key-waiting needs --state FOLDER";
	if (!jobs && values->key_bytes) return "--key-bytes needs --state FOLDER";
	if (!jobs && values->queue) return "--queue needs --state FOLDER";
	if (!jobs && values->runtime) return "--runtime-dir needs --state FOLDER";
	if (!jobs && values->seed != COUNT_NONE) return "--insecure-seed needs --state FOLDER";
	unsigned char address[sizeof(struct in6_addr)];
	if (values->proxy && strcmp(values->proxy, "unix") != 0 &&
	    inet_pton(AF_INET, values->proxy, address) != 1 &&
	    inet_pton(AF_INET6, values->proxy, address) != 1)
		return "--trusted-proxy must be an address such as 127.0.0.1 or ::1, or unix";
	if (values->proxy && !values->keys) return "--trusted-proxy needs --keys FILE";
	for (size_t i = 0; i < values->hosts.count; i++)
		if (!is_host_name(values->hosts.texts[i]))
			return "--host must be a name such as cuttle.example or [::1], with or "
			       "without a port, and without scheme and path";
	return NULL;
}

static void tell_address(void *user, const char *address) {
	(void)user;
	fprintf(stderr, "cuttle serve: listening on %s\n", address);
}

static int check_serve_paths(const struct verb *verb, const struct serve_values *values) {
	const struct path_use uses[] = {
	    PATH_ALONE("-m", values->open.model, PATH_MODEL),
	    PATH_ALONE("--keys", values->keys, PATH_FILE),
	    PATH_ALONE("--bias", values->bias, PATH_FILE),
	    PATH_ALONE("--tls-cert", values->certificate, PATH_FILE),
	    PATH_ALONE("--tls-key", values->secret, PATH_FILE),
	    PATH_ALONE("--sign", values->sign, PATH_FILE),
	    PATH_ALONE("--trail-copy", values->trail_copy, PATH_OUTPUT),
	    {"--ledger", values->ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}}};
	return verb_paths(verb, uses, sizeof uses / sizeof *uses);
}

/* Opens the model, and the bias with it, if there is one. Returns the exit code. */
static int open_served(const struct verb *verb, const struct serve_values *values,
                       struct cuttle_model **model, struct bias *bias) {
	struct setup_model opened;
	struct cuttle_error error;
	if (!values->bias) return verb_open(verb, &values->open, model);
	const int code = verb_open_hashed(verb, &values->open, &opened);
	if (code) return code;
	*model = opened.model;
	const enum cuttle_status status =
	    setup_bias_read(values->bias, opened.model, opened.sha256, bias, &error);
	if (!status && !bias->receipt->private_output)
		fprintf(stderr, "cuttle serve: --bias %s is %s\n", values->bias,
		        bias->evidence.attested.sentence);
	if (!status) return CUTTLE_OK;
	bias_close(bias);
	cuttle_model_free(model);
	return verb_fail(verb, status, &error);
}

static int run_server(const struct verb *verb, const struct serve_values *values) {
	char name[HTTP_ID_MOST + 1] = "";
	struct cuttle_model *model = NULL;
	struct bias bias = {.vector = NULL};
	struct cuttle_error error;
	const bool plain = values->plain != SERVE_PLAIN_OFF;
	const bool jobs = values->state != NULL;
	const struct verb_need needs[] = {
	    {(plain || jobs) && !values->open.model, VERB_MODEL, VERB_MODEL_SAMPLE},
	    {jobs && !values->ledger, "--ledger FILE", "--ledger spent.db"},
	    {!jobs && values->ledger, "--state FOLDER", "--state jobs"}};
	int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	const char *const fault = code ? NULL : find_serve_fault(values);
	if (fault) return verb_refuse(verb, CUTTLE_USAGE, fault);
	if (!code) code = check_serve_paths(verb, values);
	if (code) return code;
	if (values->open.model) name_model(values->open.model, name);
	if (values->name && !is_served_name(values->name))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--name must have 1 to 64 of the letters a-z, digits, - and _");
	secrecy_begin();
	if (plain) code = open_served(verb, values, &model, &bias);
	if (code) return code;
	const struct serve_bias told = {.vector = bias.vector,
	                                .sha256 = bias.sha256,
	                                .receipt_sha256 = bias.receipt_sha256,
	                                .guarantee =
	                                    bias.vector ? bias.evidence.attested.sentence : NULL};
	const struct jobs_options private_jobs = {
	    .state = values->state,
	    .runtime = values->runtime,
	    .ledger = values->ledger,
	    .model = values->open.model,
	    .threads = values->open.threads,
	    .kv_type = values->open.kv_type ? RECEIPT_KV_TYPES[values->open.kv_type] : NULL,
	    .seed = values->seed,
	    .queue = values->queue,
	    .key_jobs = values->key_jobs,
	    .key_waiting = values->key_waiting,
	    .key_bytes = values->key_bytes,
	    .approval = values->approval,
	    .restored = values->restored,
	    .sign = values->sign,
	    .trail_restored = values->trail_restored,
	    .trail_copy = values->trail_copy};
	const struct serve_request request = {.listen = {.address = values->listen,
	                                                 .certificate = values->certificate,
	                                                 .secret = values->secret,
	                                                 .names = values->hosts.texts,
	                                                 .name_count = values->hosts.count,
	                                                 .keys = values->keys != NULL},
	                                      .keys = values->keys,
	                                      .model = model,
	                                      .name = values->name ? values->name : name,
	                                      .plain = (enum serve_plain)values->plain,
	                                      .slots = (uint32_t)values->slots,
	                                      .context = (uint32_t)values->context,
	                                      .bias = bias.vector ? &told : NULL,
	                                      .proxy = values->proxy,
	                                      .quiet = values->quiet,
	                                      .jobs = jobs ? &private_jobs : NULL,
	                                      .listening = tell_address};
	const enum cuttle_status status = serve_run(&request, &error);
	bias_close(&bias);
	cuttle_model_free(&model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

/* Prints what is told of a trail that is whole. */
static void print_trail(const struct trail_check *check, bool alone) {
	printf("entries    %llu\nhead       %s\n", (unsigned long long)check->end.head.number,
	       check->end.head.number ? check->end.head.hash : "none");
	if (check->waiting_count)
		printf("waiting    %llu of them are in jobs.db alone; the server writes them when "
		       "it begins\n",
		       (unsigned long long)check->waiting_count);
	printf("end        %s\n", check->known ? "as the server left it"
	                          : alone      ? "not checked: give the state folder, or --head"
	                                       : "not checked: jobs.db knows no entry");
}

/* Whether a trail's word may stand in a command as it is. The trail may be a copy that somebody
 * else wrote, and what is printed is run. */
static bool is_plain_word(const char *word) {
	return *word && strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(word);
}

/* The data set's name in one line of a shell. NULL: it is none that a ledger has, or no memory. */
static char *quote_dataset(const char *name) {
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f) return NULL;
	// report_shell_word takes it for a file, and writes ./ before a name that begins with -.
	return *name && *name != '-' ? report_shell_word(name) : NULL;
}

/* Prints one charge that a ledger lacks, and the command that puts it there. */
static enum cuttle_status print_lost_charge(const char *ledger, const char *run,
                                            const json_t *told) {
	const json_t *charge = json_object_get(told, "charge");
	const char *measure = json_string_value(json_object_get(charge, "measure"));
	const char *dataset = json_string_value(json_object_get(told, "dataset"));
	const char *job = json_string_value(json_object_get(told, "job"));
	const bool renyi = measure && !strcmp(measure, "rdp"),
	           rho = measure && !strcmp(measure, "rho");
	const bool named = strcmp(run, job) != 0 && is_plain_word(run) && (renyi || rho);
	char *file = report_shell_word(ledger), *name = quote_dataset(dataset ? dataset : "");
	printf("lacking    %s: ", is_plain_word(job) ? job : "a job without a name");
	if (!named || !name)
		printf("look into its receipt, since the trail does not name its charge\n");
	else if (file) {
		printf("cuttle ledger reserve --ledger %s --dataset %s ", file, name);
		if (renyi)
			printf("--measure rdp --order %lld ",
			       (long long)json_integer_value(json_object_get(charge, "order")));
		printf("--%s %.17g --run %s\n", renyi ? "loss" : "rho",
		       json_number_value(json_object_get(charge, "loss")), run);
	}
	const bool printed = file != NULL;
	free(file);
	free(name);
	return printed ? CUTTLE_OK : CUTTLE_NOMEM;
}

/* Looks for all charges of a trail in a ledger. LEDGER: it lacks some, which were printed. */
static enum cuttle_status compare_told_charges(const char *trail, const char *ledger,
                                               struct cuttle_error *error) {
	json_t *charges, *told;
	const char *run;
	enum cuttle_status status = trail_charges_read(trail, true, &charges, error);
	if (status) return status;
	const size_t all = json_object_size(charges);
	status = trail_charges_take(ledger, charges, error);
	const size_t lost = json_object_size(charges);
	if (status) {
		json_decref(charges);
		return status;
	}
	json_object_foreach(charges, run, told) if (!status) status =
	    print_lost_charge(ledger, run, told);
	json_decref(charges);
	if (status) return io_fail(error, status, "out of memory");
	if (!lost) {
		printf("charges    all %zu are in %s\n", all, ledger);
		return CUTTLE_OK;
	}
	return io_fail(error, CUTTLE_LEDGER, "%s lacks %zu of %zu charges that the trail tells of",
	               ledger, lost, all);
}

static int verify_trail(const struct verb *verb, const struct serve_values *values,
                        const char *place) {
	struct stat state;
	struct cuttle_error error;
	struct trail_check check;
	const bool folder = stat(place, &state) == 0 && S_ISDIR(state.st_mode);
	char *trail = folder ? file_name(place, "/trail.jsonl") : strdup(place);
	char *list = folder ? file_name(place, "/jobs.db") : NULL;
	enum cuttle_status status = CUTTLE_OK;
	if (!trail || (folder && !list)) status = io_fail(&error, CUTTLE_NOMEM, "out of memory");
	if (!status && access(trail, R_OK) != 0)
		status =
		    io_fail(&error, CUTTLE_INPUT, "cannot read %s: %s", trail, strerror(errno));
	char public_key[SIGNATURE_PUBLIC];
	if (!status && values->public_key)
		status = signature_read_public(values->public_key, public_key, &error);
	if (!status) status = trail_check(trail, list, NULL, values->head, &check, &error);
	if (!status && values->public_key && !trail_signed(&check.end, public_key)) {
		status = io_fail(&error, CUTTLE_LEDGER,
		                 "%s: its last entry is not signed with this key", trail);
		trail_check_free(&check);
	}
	if (!status) {
		print_trail(&check, !folder);
		if (values->public_key) printf("signature  of this key, for all entries\n");
		trail_check_free(&check);
		if (values->ledger) status = compare_told_charges(trail, values->ledger, &error);
	}
	free(trail);
	free(list);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_trail_action(const struct verb *verb, const struct serve_values *values, int argc,
                            char **argv) {
	if (argc != 3 || strcmp(argv[1], "verify") != 0)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "to check an audit trail type: cuttle serve " CHECK_TRAIL);
	if (values->head && (strlen(values->head) != HASH_TEXT - 1 ||
	                     strspn(values->head, "0123456789abcdef") != HASH_TEXT - 1))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--head: must be 64 hex digits, in lower case");
	return verify_trail(verb, values, argv[2]);
}

static const char *const ACTIONS[] = {"key", "trail", "health"};
enum { ACTION_COUNT = sizeof ACTIONS / sizeof *ACTIONS };

static int run_serve_verb(const struct verb *verb, int argc, char **argv) {
	struct serve_values values = {.slots = 8, .seed = COUNT_NONE};
	int operands, code;
	size_t action;
	if (!verb_begin(verb, argc, argv, &values, &operands, &code)) return code;
	if (operands == argc) return run_server(verb, &values);
	if (!verb_action(verb, argv[operands], ACTIONS, ACTION_COUNT, &action)) return CUTTLE_USAGE;
	if (action == 1) return run_trail_action(verb, &values, argc - operands, argv + operands);
	if (action == 2) return ask_server_health(verb, &values, argc - operands);
	return make_client_key(verb, &values, argc - operands, argv + operands);
}

const struct verb serve_verb = {
    .name = "serve",
    .usage = "-m MODEL [--keys FILE] [OPTION]... | " MAKE_KEY " | " CHECK_TRAIL " | health",
    .summary = "a server: private jobs, and OpenAI's completions and chats, which are NOT PRIVATE",
    .example = "-m MODEL.gguf --state jobs --ledger spent.db --keys keys --approval",
    .another = "-m MODEL.gguf --listen 127.0.0.1:8080",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .actions = ACTIONS,
    .action_count = ACTION_COUNT,
    .run = run_serve_verb,
};
