// SPDX-License-Identifier: Apache-2.0
// Prints the table of cuttle bench. All three forms read the same column tables below, so a number
// that is added there appears in each form.
#include "tools/report/bench_table.h"

#include "base/processors.h"
#include "io/receipts/receipt.h"
#include "tools/common/pace.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* How one number of a struct measurement or struct ceilings is shown. For example loaded_rss_bytes
 * has the unit 1e-6: 512000000 bytes are 512000000 in JSON, and 512 under "RSS MB when loaded". */
struct bench_column {
	const char *key;    /* name in JSON and CSV */
	const char *title;  /* heading in Markdown; NULL = not shown there */
	size_t offset;      /* bytes from the start of the struct to the number, a double */
	double unit;        /* Markdown shows the number times this */
	int decimals;       /* digits after the point in CSV; JSON writes an integer for 0 */
	int title_decimals; /* digits after the point in Markdown */
};

#define AT(member) offsetof(struct measurement, member)
#define PART(part) (offsetof(struct measurement, parts) + (part) * sizeof(double))
// clang-format off
static const struct bench_column RUN[] = {
	{"batch", "B", AT(batch), 1, 0, 0},
	{"parallel", "G", AT(parallel), 1, 0, 0},
	{"prompt", "prompt", AT(prompt), 1, 0, 0},
	{"groups", "groups", AT(groups), 1, 0, 0},
	{"shared", "shared", AT(shared), 1, 0, 0},
	{"steps", NULL, AT(steps), 1, 0, 0},
	{"threads", "threads", AT(threads), 1, 0, 0},
	{"repetitions", NULL, AT(repetitions), 1, 0, 0},
	{"prompt_tokens_per_s", "prompt tok/s", AT(prompt_tokens_per_s), 1, 1, 0},
	{"prompt_tokens_per_s_min", NULL, AT(prompt_least), 1, 1, 0},
	{"prompt_tokens_per_s_max", NULL, AT(prompt_most), 1, 1, 0},
	{"step_ms", "step ms", AT(step_ms), 1, 4, 2},
	{"step_ms_min", "min", AT(step_least), 1, 4, 2},
	{"step_ms_max", "max", AT(step_most), 1, 4, 2},
	{"step_ms_p10", "p10", AT(step_p10), 1, 4, 2},
	{"step_ms_p90", "p90", AT(step_p90), 1, 4, 2},
	{"rows_per_s", "rows/s", AT(rows_per_s), 1, 2, 0},
	{"private_tokens_per_s", "private tok/s", AT(tokens_per_s), 1, 2, 1},
};
static const struct bench_column PARTS[] = {
	{"gemm", "gemm", PART(CUTTLE_GEMM), 1, 4, 2},
	{"attention", "attention", PART(CUTTLE_ATTENTION), 1, 4, 2},
	{"rows", "rows", PART(CUTTLE_ROWS), 1, 4, 2},
	{"head", "head", PART(CUTTLE_HEAD), 1, 4, 2},
	{"dclip", "dclip", PART(CUTTLE_DCLIP), 1, 4, 3},
	{"draw", "draw", PART(CUTTLE_DRAW), 1, 4, 2},
	{"other", "other", PART(CUTTLE_OTHER), 1, 4, 2},
};
static const struct bench_column WORK[] = {
	{"weight_bytes", NULL, AT(weight_bytes), 1, 0, 0},
	{"multiply_adds", NULL, AT(multiply_adds), 1, 0, 0},
	{"dram_share", "DRAM %", AT(dram_share), 100, 4, 0},
	{"int8_share", "int8 %", AT(int8_share), 100, 4, 0},
	{"rss_bytes", "RSS MB", AT(rss_bytes), 1e-6, 0, 0},
};
static const struct bench_column CEILINGS[] = {
	{"threads", "threads", offsetof(struct ceilings, threads), 1, 0, 0},
	{"dram_bytes_per_s", "DRAM GB/s", offsetof(struct ceilings, bytes_per_s), 1e-9, 0, 1},
	{"int8_multiply_adds_per_s", "int8 10^9 multiply-adds/s",
	 offsetof(struct ceilings, multiply_adds_per_s), 1e-9, 0, 0},
	{"load_s", "load s", offsetof(struct ceilings, load_s), 1, 4, 2},
	{"loaded_rss_bytes", "RSS MB when loaded",
	 offsetof(struct ceilings, loaded_rss_bytes), 1e-6, 0, 0},
};
// clang-format on
#define COUNT(array) (sizeof(array) / sizeof *(array))

void bench_table_machine(struct bench_table *table) {
	char line[256];
	struct utsname name;
	struct processors cores;
	(void)snprintf(table->cpu, sizeof table->cpu, "%.60s",
	               uname(&name) ? "unknown" : name.machine);
	FILE *file = fopen("/proc/cpuinfo", "re");
	while (file && fgets(line, sizeof line, file)) {
		const char *colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) != 0 || !colon) continue;
		colon += strspn(colon, ": \t");
		(void)snprintf(table->cpu, sizeof table->cpu, "%.*s", (int)strcspn(colon, "\n"),
		               colon);
		break;
	}
	if (file) (void)fclose(file);
	table->cores = processors_allowed(&cores) ? (long)processors_count(&cores) : 0;
}

static double read_cell(const void *of, const struct bench_column *column) {
	return *(const double *)(const void *)((const char *)of + column->offset);
}

/* The name of the ceiling that the run is nearer to; NULL when no ceiling was measured. */
static const char *name_ceiling(const struct measurement *run) {
	if (isnan(run->dram_share)) return NULL;
	return run->dram_share > run->int8_share ? "dram" : "int8";
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void print_headings(const struct bench_column *columns, size_t count, bool rule) {
	for (size_t i = 0; i < count; i++)
		if (columns[i].title) printf(rule ? " --: |" : " %s |", columns[i].title);
}

static void print_cells(const void *of, const struct bench_column *columns, size_t count) {
	for (size_t i = 0; i < count; i++) {
		const double number = read_cell(of, &columns[i]);
		if (columns[i].title && isnan(number)) printf(" - |");
		else if (columns[i].title)
			printf(" %.*f |", columns[i].title_decimals, number * columns[i].unit);
	}
}

static void print_bench_md(const struct bench_table *table) {
	const struct cuttle_model_info *model = &table->model;
	printf("cuttle %s, %s, %ld cores, kernels %s; %s (%s), file %.0f MB, packed %.0f MB\n\n|",
	       cuttle_version(), table->cpu, table->cores, table->isa,
	       *model->name ? model->name : "model", model->types, (double)model->file_bytes * 1e-6,
	       (double)model->packed_bytes * 1e-6);
	for (int rule = 0; rule < 2; rule++) {
		print_headings(CEILINGS, COUNT(CEILINGS), rule);
		fputs("\n|", stdout);
	}
	for (size_t i = 0; i < table->ceilings_count; i++) {
		print_cells(&table->ceilings[i], CEILINGS, COUNT(CEILINGS));
		fputs(i + 1 < table->ceilings_count ? "\n|" : "\n\n|", stdout);
	}
	for (int rule = 0; rule < 2; rule++) {
		print_headings(RUN, COUNT(RUN), rule);
		print_headings(PARTS, COUNT(PARTS), rule);
		print_headings(WORK, COUNT(WORK), rule);
		printf(rule ? " --- |\n" : " nearer |\n|");
	}
	for (size_t i = 0; i < table->run_count; i++) {
		const struct measurement *run = &table->runs[i];
		putchar('|');
		print_cells(run, RUN, COUNT(RUN));
		print_cells(run, PARTS, COUNT(PARTS));
		print_cells(run, WORK, COUNT(WORK));
		printf(" %s |\n", name_ceiling(run) ? name_ceiling(run) : "-");
	}
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_csv_cells(const void *of, const struct bench_column *columns, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (isnan(read_cell(of, &columns[i]))) printf(",");
		else printf("%.*f,", columns[i].decimals, read_cell(of, &columns[i]));
}

static void print_bench_csv(const struct bench_table *table) {
	for (size_t i = 0; i < COUNT(RUN); i++) printf("%s,", RUN[i].key);
	for (size_t i = 0; i < COUNT(PARTS); i++) printf("%s_ms,", PARTS[i].key);
	for (size_t i = 0; i < COUNT(WORK); i++) printf("%s,", WORK[i].key);
	for (size_t i = 1; i < COUNT(CEILINGS); i++) printf("%s,", CEILINGS[i].key);
	puts("nearer,isa");
	for (size_t i = 0; i < table->run_count; i++) {
		const struct measurement *run = &table->runs[i];
		print_csv_cells(run, RUN, COUNT(RUN));
		print_csv_cells(run, PARTS, COUNT(PARTS));
		print_csv_cells(run, WORK, COUNT(WORK));
		print_csv_cells(run->ceilings, CEILINGS + 1, COUNT(CEILINGS) - 1);
		printf("%s,%s\n", name_ceiling(run) ? name_ceiling(run) : "", table->isa);
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *encode_columns(const void *of, const struct bench_column *columns, size_t count) {
	json_t *object = json_object();
	for (size_t i = 0; i < count && object; i++) {
		const double number = read_cell(of, &columns[i]);
		const struct jsonout_member member = {columns[i].key,
		                                      columns[i].decimals || isnan(number)
		                                          ? jsonout_real(number)
		                                          : json_integer((json_int_t)number)};
		object = jsonout_extend(object, &member, 1);
	}
	return object;
}

static json_t *encode_measurement(const struct bench_table *table, const struct measurement *run) {
	json_t *object = encode_columns(run, RUN, COUNT(RUN)),
	       *work = encode_columns(run, WORK, COUNT(WORK));
	if (!work || json_object_update(object, work)) { // update fails for a NULL object too
		json_decref(object);
		object = NULL;
	}
	json_decref(work);
	const struct jsonout_member members[] = {
	    {"isa", json_string(table->isa)},
	    {"nearer", name_ceiling(run) ? json_string(name_ceiling(run)) : json_null()},
	    {"parts_ms", encode_columns(run, PARTS, COUNT(PARTS))}};
	return jsonout_extend(object, members, COUNT(members));
}

/* Takes over the item. On failure frees the list and returns NULL, so that no list with a gap is
 * printed. */
static json_t *append_item(json_t *list, json_t *item) {
	if (json_array_append_new(list, item) == 0) return list;
	json_decref(list);
	return NULL;
}

static json_t *encode_bench(const struct bench_table *table) {
	const struct cuttle_model_info *model = &table->model;
	json_t *ceilings = json_array(), *runs = json_array();
	for (size_t i = 0; i < table->ceilings_count; i++)
		ceilings = append_item(
		    ceilings, encode_columns(&table->ceilings[i], CEILINGS, COUNT(CEILINGS)));
	for (size_t i = 0; i < table->run_count; i++)
		runs = append_item(runs, encode_measurement(table, &table->runs[i]));
	json_t *about =
	    json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s}", "name", model->name, "types",
	              model->types, "file_bytes", (json_int_t)model->file_bytes, "packed_bytes",
	              (json_int_t)model->packed_bytes, "parameters", (json_int_t)model->parameters,
	              "kv_bytes_per_token", (json_int_t)pace_kv_bytes(model), "kv_type",
	              RECEIPT_KV_TYPES[model->kv_type]);
	json_t *machine = json_pack(
	    "{s:o, s:I, s:s, s:s, s:o, s:o}", "cpu", jsonout_text(table->cpu, strlen(table->cpu)),
	    "cores", (json_int_t)table->cores, "isa", table->isa, "version", cuttle_version(),
	    "others_share", jsonout_real(table->others_share), "ceilings", ceilings);
	return json_pack("{s:o, s:o, s:o}", "machine", machine, "model", about, "runs", runs);
}

int bench_table_print(const struct verb *verb, const struct bench_table *table,
                      enum bench_format format) {
	if (format == BENCH_JSON) return verb_print(verb, encode_bench(table), JSON_INDENT(2));
	if (format == BENCH_CSV) print_bench_csv(table);
	else print_bench_md(table);
	return CUTTLE_OK; // main reports it when standard output cannot be written
}
