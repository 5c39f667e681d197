// SPDX-License-Identifier: Apache-2.0
// The page of report_html.h. Every foreign string goes through report_html: put_element, put_pair
// and the charts call it. What is printed with a format of its own is ours: words and numbers.
#include "tools/report/report_html.h"

#include "tools/report/report_charts.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char STYLE[] =
    ":root{color-scheme:light;--ink:#15202b;--muted:#55616e;--line:#d3dae1;--soft:#f3f5f7;"
    "--accent:#0a4f94;--warn:#9a3d00}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:#e6eaee;color:var(--ink);font:15px/1.5 \"Helvetica Neue\",Arial,"
    "\"Liberation Sans\",\"Segoe UI\",sans-serif;-webkit-print-color-adjust:exact;"
    "print-color-adjust:exact}\n"
    ".page{background:#fff;max-width:800px;margin:24px auto;padding:36px 44px;"
    "box-shadow:0 1px 4px rgba(0,0,0,.2)}\n"
    "h1{font-size:27px;line-height:1.2;margin:2px 0 4px;overflow-wrap:anywhere}\n"
    "h2{font-size:18px;margin:26px 0 8px;padding-top:10px;border-top:2px solid var(--ink)}\n"
    "h3{font-size:15px;margin:16px 0 4px;overflow-wrap:anywhere}\n"
    "p{margin:6px 0}.sub,.kind,.note,figcaption{color:var(--muted);font-size:13px}\n"
    ".kind{font-weight:700;letter-spacing:.08em;text-transform:uppercase;margin:0}\n"
    ".numbers{display:flex;flex-wrap:wrap;gap:10px 36px;margin:8px 0}\n"
    ".numbers div{font-size:13px;color:var(--muted)}\n"
    ".numbers b{display:block;font-size:30px;line-height:1.15;color:var(--ink);"
    "font-variant-numeric:tabular-nums}\n"
    "blockquote{margin:8px 0;padding:8px 16px;border-left:4px solid var(--accent);"
    "background:var(--soft);overflow-wrap:anywhere}\n"
    "ul{margin:6px 0;padding-left:20px}li{margin:2px 0;overflow-wrap:anywhere}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13.5px;"
    "margin:6px 0;font-variant-numeric:tabular-nums}\n"
    "th,td{text-align:left;vertical-align:top;padding:4px 14px 4px 0;"
    "border-bottom:1px solid var(--line)}\n"
    "th{font-weight:600;color:var(--muted)}td{overflow-wrap:anywhere}\n"
    "td.n,th.n{text-align:right;white-space:nowrap}tbody th{width:150px}\n"
    ".data tbody th{width:auto;color:var(--ink);overflow-wrap:anywhere;min-width:84px}.data "
    "td{overflow-wrap:break-word}td.words{min-width:130px}\n"
    "code,pre{font:12.5px/1.5 ui-monospace,\"DejaVu Sans Mono\",Consolas,monospace;"
    "overflow-wrap:anywhere;white-space:pre-wrap}pre{background:var(--soft);padding:8px 12px}\n"
    ".bad,.stamp{font-weight:700;padding:6px 12px;margin:8px 0}\n"
    ".bad{background:#8f1020;color:#fff}.stamp{background:var(--warn);color:#fff}\n"
    ".private{margin:14px 0;padding:12px;border:2px solid var(--warn);"
    "background:repeating-linear-gradient(45deg,#fff 0 7px,#f6c98f 7px 14px)}\n"
    ".private>div{background:#fff;padding:4px 14px 10px}\n"
    ".private h2{border:0;margin-top:4px}\n"
    "figure{margin:12px 0;break-inside:avoid}.charts{display:flex;flex-wrap:wrap;gap:6px 24px}\n"
    ".wide>svg{min-width:440px}.budget svg{width:100%}.budget{margin:4px 0}\n"
    ".three{display:grid;grid-template-columns:repeat(3,1fr);gap:4px 12px}.three svg{width:100%}\n"
    ".charts .wide{flex:1 1 300px}.charts figure{flex:0 1 "
    "320px;min-width:0}svg{max-width:100%;height:auto;display:block}\n"
    "svg text{font-family:inherit;font-size:11px;fill:#46525e}svg .words{fill:#15202b}\n"
    ".grid{stroke:#e3e8ec}.axis{stroke:#46525e}.line{fill:none;stroke-width:2}\n"
    ".bar.real,.left{fill:#d5dbe1}.left{stroke:#8a96a2}.spent{fill:#0a4f94}\n"
    ".beyond{fill:#f1e3da}.line.edge{stroke:#9a3d00}svg .words.edge{fill:#9a3d00}\n"
    ".line.real{stroke:#46525e;stroke-dasharray:6 4}.line.alone{stroke:#8a96a2;"
    "stroke-dasharray:2 4}\n"
    ".line.run0{stroke:#0072b2}.dot.run0{fill:#0072b2}.line.run1{stroke:#c14e00}"
    ".dot.run1{fill:#c14e00}\n"
    ".line.run2{stroke:#007a5a}.dot.run2{fill:#007a5a}.line.run3{stroke:#a3447e}"
    ".dot.run3{fill:#a3447e}\n"
    ".line.run4{stroke:#5b5bd6}.dot.run4{fill:#5b5bd6}.line.run5{stroke:#6b5900}"
    ".dot.run5{fill:#6b5900}\n"
    "@media(max-width:640px){.page{margin:0;padding:20px 16px;box-shadow:none}"
    "h1{font-size:22px}tbody "
    "th{width:96px}.three{grid-template-columns:1fr}.private{padding:7px}.private>div{padding:4px "
    "10px}}\n"
    "@page{size:A4;margin:11mm 15mm}\n"
    "@media print{.private{padding:5px;margin:6px 0}.private>div{padding:1px 8px "
    "4px}.stamp,.bad{padding:3px 8px;margin:4px "
    "0}body{background:#fff;font-size:9.3pt;line-height:1.36}.page{max-width:none;"
    "margin:0;padding:0;box-shadow:none}.page+.page{break-before:page}\n"
    "h1{font-size:18pt}h2{font-size:11.5pt;margin:9px 0 3px;padding-top:5px;break-after:avoid}"
    "h3{font-size:10pt;break-after:avoid}\n"
    "table,.sub,.kind,.note,figcaption{font-size:8.4pt}.numbers b{font-size:20pt}"
    "th,td{padding-top:2px;padding-bottom:2px}\n"
    "tr,li,blockquote,.short,.charts{break-inside:avoid}.note,figcaption "
    "b{break-after:avoid}th,td{padding-right:9px}.data th,.data "
    "td{font-size:7.9pt}figure{margin:6px 0}"
    ".wide{overflow:visible}}\n";

/* ---- parts ----------------------------------------------------------------------------------- */

static void put_element(FILE *file, const char *element, const char *text) {
	fprintf(file, "<%s>", element);
	report_html(file, text);
	fprintf(file, "</%.*s>\n", (int)strcspn(element, " "), element);
}

/* A row of a table: what it is, and the words for it. */
static void put_pair(FILE *file, const char *label, const char *text) {
	fputs("<tr><th scope=\"row\">", file);
	report_html(file, label);
	fputs("</th><td>", file);
	report_html(file, text);
	fputs("</td></tr>\n", file);
}

static void put_headline(FILE *file, const char *number, const char *words) {
	fprintf(file, "<div><b>%s</b>", number);
	report_html(file, words);
	fputs("</div>\n", file);
}

/* Shares of false alarms that the first page shows. */
enum { FALSE_ALARMS = 3 };
static const double false_alarms[FALSE_ALARMS] = {0.001, 0.01, 0.05};

static const char *get_words(const struct report_receipt *receipt, const char *key) {
	return json_string_value(json_object_get(receipt->document, key));
}

/* Over what belongs to one receipt of several. */
static void name_receipt(FILE *file, const struct report *report, size_t i) {
	if (report->receipt_count < 2) return;
	fprintf(file, "<h3>%zu. ", i + 1);
	report_html(file, report_base_name(report->receipts[i].path));
	fputs("</h3>\n", file);
}

/* `class` is short for a box that is to stand on one sheet. */
static void open_private(FILE *file, bool is_private, const char *class) {
	if (is_private)
		fprintf(file,
		        "<div class=\"private %s\"><div>\n<p class=\"stamp\">" REPORT_STAMP
		        "</p>\n",
		        class);
}

static void close_private(FILE *file, bool is_private) {
	if (is_private) fputs("</div></div>\n", file);
}

/* ---- the first page -------------------------------------------------------------------------- */

static void write_report_heading(FILE *file, const struct report *report) {
	const struct report_receipt *first = &report->receipts[0];
	fputs("<header>\n<p class=\"kind\">Privacy report</p>\n", file);
	put_element(file, "h1",
	            first->v.dataset ? first->v.dataset : report_base_name(first->path));
	fputs("<p class=\"sub\">", file);
	fprintf(file, "begun %s, %zu receipt%s, %zu evaluation%s, %zu audit%s, cuttle %s</p>\n",
	        first->v.date, report->receipt_count, report->receipt_count == 1 ? "" : "s",
	        report->evaluation_count, report->evaluation_count == 1 ? "" : "s",
	        report->audit_count, report->audit_count == 1 ? "" : "s", cuttle_version());
	for (size_t i = 0; report->stamps && i < report->stamps->count; i++)
		put_element(file, "p class=\"bad\"", report->stamps->all[i].text);
	if (report_contradicted(report))
		fputs("<p class=\"bad\">An audit contradicts the guarantee. See Audits.</p>\n",
		      file);
	if (report->unguarded)
		fprintf(file,
		        "<p class=\"stamp\">Hatched boxes (%zu file%s): " REPORT_STAMP "</p>\n",
		        report->unguarded, report->unguarded == 1 ? "" : "s");
	if (report->left_out)
		fprintf(file,
		        "<p class=\"note\">%zu file%s left out (%s): computed from the "
		        "references without protection.</p>\n",
		        report->left_out, report->left_out == 1 ? " was" : "s were",
		        report->evidence ? "--private adds them" : "--publish");
	fputs("</header>\n", file);
}

/* The most true alarms of a test, for each share of false ones. */
static void put_alarms(FILE *file, const char *whose, double epsilon, double delta) {
	fprintf(file, "<tr><th scope=\"row\">%s</th>", whose);
	for (size_t i = 0; i < FALSE_ALARMS; i++)
		fprintf(file, "<td class=\"n\">%.4g %%</td>",
		        ceil(1e6 * report_alarms(epsilon, delta, false_alarms[i])) / 1e4);
	fputs("</tr>", file);
}

/* What the true alarms are of. */
static const char *name_alarms(const struct report_receipt *receipt) {
	if (receipt->v.evidence.kind == &PERTURB_KIND)
		return "gives at most so many true ones of a word";
	if (receipt->v.evidence.kind != &SANITIZE_KIND) return "gives at most so many true ones";
	return isnan(receipt->epsilon_all) ? "gives at most so many true ones of all marks"
	                                   : "gives at most so many true ones of one group";
}

/* What the numbers mean for whoever tests whether something protected was there. */
static void write_tests(FILE *file, const struct report_receipt *receipt) {
	if (!(receipt->epsilon > 0)) return;
	fputs("<div class=\"wide\"><table class=\"data\"><thead><tr><th>A test that gives so many "
	      "false alarms</th>",
	      file);
	for (size_t i = 0; i < FALSE_ALARMS; i++)
		fprintf(file, "<th class=\"n\">%g %%</th>", 100 * false_alarms[i]);
	fputs("</tr></thead><tbody>", file);
	put_alarms(file, name_alarms(receipt), receipt->epsilon, receipt->delta);
	if (receipt->epsilon_all > 0)
		put_alarms(file,
		           receipt->v.evidence.kind == &PERTURB_KIND    ? "and of a whole text"
		           : receipt->v.evidence.kind == &SANITIZE_KIND ? "and of all groups"
		                                                        : "and with its bias",
		           receipt->epsilon_all, receipt->delta);
	if (receipt->epsilon_known != receipt->epsilon)
		put_alarms(file, "and where it knows the record's batch", receipt->epsilon_known,
		           receipt->delta_known);
	fputs("</tbody></table></div>\n", file);
}

static void write_promise(FILE *file, const struct report *report) {
	char number[UNITS_NUMBER];
	fputs("<h2>What is promised</h2>\n", file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		name_receipt(file, report, i);
		fputs("<div class=\"numbers\">", file);
		put_headline(file, report_number(receipt->epsilon, true, number),
		             report_epsilon_words(receipt, false));
		if (receipt->epsilon_all > 0)
			put_headline(file, report_number(receipt->epsilon_all, true, number),
			             report_epsilon_words(receipt, true));
		if (receipt->delta > 0)
			put_headline(file, report_number(receipt->delta, true, number), "delta");
		if (receipt->epsilon_known != receipt->epsilon)
			put_headline(file, report_number(receipt->epsilon_known, true, number),
			             "epsilon if the record's batch is known");
		fputs("</div>\n", file);
		put_element(file, "blockquote", receipt->v.attested->sentence);
		write_tests(file, receipt);
	}
	fputs(
	    "<p class=\"note\">An alarm says that what is protected was in the input; a false one, "
	    "where it was not. True of any test and any knowledge.</p>\n",
	    file);
}

/* Whether all receipts protect the same, in the same words. */
static bool share_unit(const struct report *report) {
	bool same = true;
	for (size_t i = 1; i < report->receipt_count; i++) {
		const json_t *first = report->receipts[0].document,
		             *other = report->receipts[i].document;
		same = same &&
		       json_equal(json_object_get(first, "unit"), json_object_get(other, "unit")) &&
		       json_equal(json_object_get(first, "adjacency"),
		                  json_object_get(other, "adjacency")) &&
		       json_equal(json_object_get(first, "dataset"),
		                  json_object_get(other, "dataset"));
	}
	return same;
}

static void write_unit(FILE *file, const struct report *report) {
	const size_t count = share_unit(report) ? 1 : report->receipt_count;
	fputs("<h2>Whose privacy</h2>\n", file);
	for (size_t i = 0; i < count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		if (count > 1) name_receipt(file, report, i);
		fputs("<table><tbody>\n", file);
		put_pair(file, "Protected", get_words(receipt, "unit"));
		put_pair(file, "Neighbouring inputs", get_words(receipt, "adjacency"));
		// The first one is in the title.
		if (i && receipt->v.dataset) put_pair(file, "Data set", receipt->v.dataset);
		fputs("</tbody></table>\n", file);
	}
}

static void write_limits(FILE *file, const struct report *report) {
	const uint64_t all = (UINT64_C(1) << report->receipt_count) - 1;
	fputs("<h2>What is not covered</h2>\n<ul>\n", file);
	for (size_t i = 0; i < report->limit_count; i++) {
		const struct report_limit *limit = &report->limits[i];
		fputs("<li>", file);
		report_html(file, limit->text);
		if (limit->receipts != all) {
			const bool several = (limit->receipts & (limit->receipts - 1)) != 0;
			const char *before = several ? " (receipts " : " (receipt ";
			for (size_t k = 0; k < report->receipt_count; k++) {
				if (!(limit->receipts >> k & 1)) continue;
				fprintf(file, "%s%zu", before, k + 1);
				before = ", ";
			}
			fputc(')', file);
		}
		fputs("</li>\n", file);
	}
	fputs("</ul>\n", file);
}

/* Where the references answered through noise, what that cost them besides the runs. */
static void write_asked(FILE *file, const struct report_evaluation *e) {
	const json_t *asked = json_object_get(e->document, "asked");
	const double epsilon = json_number_value(json_object_get(asked, "epsilon")),
	             delta = json_number_value(json_object_get(asked, "delta"));
	char number[UNITS_NUMBER];
	if (!(epsilon > 0)) return;
	fprintf(file, "<p>Of the references only noisy answers are in this table: epsilon %s",
	        report_number(epsilon, true, number));
	fprintf(file, ", delta %s of each record, on top of what the runs cost.</p>\n",
	        report_number(delta, true, number));
}

static void write_budgets(FILE *file, const struct report *report) {
	char number[UNITS_NUMBER];
	fputs("<h2>Budget</h2>\n", file);
	for (size_t i = 0; i < report->evaluation_count; i++)
		write_asked(file, &report->evaluations[i]);
	if (!report->budget_count)
		fputs("<p>No ledger was given (--ledger). What other runs over the same records "
		      "cost is not known here, and adds to the above.</p>\n",
		      file);
	for (size_t i = 0; i < report->budget_count; i++) {
		const struct ledger_standing *standing = &report->budgets[i];
		fputs("<figure class=\"budget\">", file);
		chart_budget(file, standing);
		fputs("<figcaption>", file);
		report_html(file, standing->dataset.name);
		fprintf(file, ": epsilon %s spent",
		        report_number(report_epsilon_spent(standing), true, number));
		fprintf(file, ", %s left",
		        report_number(report_epsilon_left(standing), false, number));
		fprintf(file, " of %s", report_number(standing->dataset.epsilon, false, number));
		fprintf(file, " at delta %s, by %" PRIu64 " run%s; counted per ",
		        report_number(standing->dataset.delta, true, number), standing->runs,
		        standing->runs == 1 ? "" : "s");
		if (*standing->dataset.unit_key) fputs("value of ", file);
		report_html(file,
		            *standing->dataset.unit_key ? standing->dataset.unit_key : "line");
		char measure[LEDGER_MEASURE];
		ledger_print_measure(standing->dataset.order, false, measure);
		fprintf(file, ". Bar: %s.</figcaption></figure>\n",
		        standing->in_epsilon ? "epsilon" : measure);
	}
}

/* An epsilon that is shown, as the cell of a table. */
static void put_bound(FILE *file, double bound) {
	char number[UNITS_NUMBER];
	fprintf(file, "<td class=\"n\">%s</td>",
	        isnan(bound) ? "–" : report_number(bound, false, number));
}

static const char *name_audit(const struct report_audit *audit) {
	return json_string_value(json_object_get(audit->document, "audit"));
}

/* The audits that are private, or those that are not, in one table. */
static void write_audit_table(FILE *file, const struct report *report, bool is_private) {
	char number[UNITS_NUMBER];
	size_t shown = 0;
	for (size_t i = 0; i < report->audit_count; i++)
		shown += report->audits[i].is_private == is_private;
	if (!shown) return;
	open_private(file, is_private, "short");
	fputs(
	    "<div class=\"wide\"><table class=\"data\"><thead><tr><th>audit</th><th>found</th><th "
	    "class=\"n\">shown<br>95 %</th><th class=\"n\">shown<br>1 - 10<sup>-6</sup></th><th "
	    "class=\"n\">promised</th><th class=\"n\">control<br>95 %</th></tr></thead><tbody>\n",
	    file);
	for (size_t i = 0; i < report->audit_count; i++) {
		const struct report_audit *audit = &report->audits[i];
		if (audit->is_private != is_private) continue;
		fputs("<tr><th scope=\"row\">", file);
		report_html(file, name_audit(audit));
		fputs("</th>", file);
		fprintf(file, "<td class=\"words%s\">%s%s</td>", audit->contradicts ? " bad" : "",
		        report_finding(audit),
		        !isnan(audit->claimed) && audit->receipt == REPORT_NONE
		            ? "; no receipt of this report promises that much"
		            : "");
		put_bound(file, audit->game.likely);
		put_bound(file, audit->game.sure);
		fprintf(file, "<td class=\"n\">%s</td>",
		        isnan(audit->claimed) ? "-" : report_number(audit->claimed, true, number));
		if (audit->is_void) fputs("<td class=\"n\">not caught</td>", file);
		else if (audit->control.numbers && isnan(audit->control.likely))
			fputs("<td class=\"n\">caught</td>", file);
		else put_bound(file, audit->control.likely);
		fputs("</tr>\n", file);
	}
	fputs("</tbody></table></div>\n", file);
	close_private(file, is_private);
}

static void write_audits(FILE *file, const struct report *report) {
	fputs("<h2>Audits</h2>\n", file);
	if (!report->audit_count)
		fputs(
		    "<p>None in this report. An audit attacks the output; it can show a guarantee "
		    "broken, never kept.</p>\n",
		    file);
	else
		fputs(
		    "<p class=\"note\">Numbers are the epsilon that is at least spent. The control "
		    "has no protection: an audit that does not catch it shows nothing.</p>\n",
		    file);
	write_audit_table(file, report, false);
	write_audit_table(file, report, true);
}

/* The words that a receipt's promise has under a label, or NULL. */
static const char *find_about(const struct report_receipt *receipt, const char *label) {
	const struct promise_lines *about = &receipt->promise.about;
	for (size_t i = 0; i < about->count; i++)
		if (!strcmp(about->all[i].label, label)) return about->all[i].text;
	return NULL;
}

static void write_signatures(FILE *file, const struct report *report) {
	fputs("<h2>Signature</h2>\n", file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		static const char *const labels[] = {"signed", "output", "ledger"};
		name_receipt(file, report, i);
		fputs("<table><tbody>\n", file);
		for (size_t k = 0; k < sizeof labels / sizeof *labels; k++)
			put_pair(file, labels[k], find_about(receipt, labels[k]));
		fputs("</tbody></table>\n", file);
	}
}

static void write_checks(FILE *file, const struct report *report) {
	fputs("<h2>What was checked</h2>\n<p>Each receipt was made anew from what its run chose, "
	      "and every member compared. One that does not hold is refused.</p>\n",
	      file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		const struct promise_lines *about = &receipt->promise.about;
		name_receipt(file, report, i);
		fputs("<table><tbody>\n", file);
		put_pair(file, "agrees", receipt->promise.opening);
		for (size_t k = 0; k < about->count; k++)
			put_pair(file, about->all[k].label, about->all[k].text);
		put_pair(file, "not checked", receipt->promise.unchecked);
		fputs("</tbody></table>\n", file);
	}
}

/* ---- the second page ------------------------------------------------------------------------- */

static void write_cell(FILE *file, const json_t *row, int column) {
	const int digits = evaluation_columns[column].digits;
	double value, error;
	if (!report_cell(row, column, &value, &error)) {
		fputs("<td class=\"n\">–</td>", file);
		return;
	}
	fprintf(file, "<td class=\"n\">%.*f", digits, value);
	if (!isnan(error)) fprintf(file, " ± %.*f", digits, error);
	fputs("</td>", file);
}

/* A name for a row: that of a run's file, or what kind of anchor it is. */
static void put_row_name(FILE *file, const json_t *row) {
	const char *kind = json_string_value(json_object_get(row, "kind")),
	           *name = json_string_value(json_object_get(row, "name"));
	report_html(file, strcmp(kind, "run") != 0 ? kind : report_base_name(name));
}

static void write_group(FILE *file, const struct report_evaluation *e,
                        const struct report_group *group) {
	size_t i;
	json_t *row;
	if (!report_group_shown(e, group)) return;
	fprintf(file,
	        "<p class=\"note\">%s</p>\n<div class=\"wide\"><table "
	        "class=\"data\"><thead><tr><th>texts</th>",
	        group->title);
	for (int k = group->first; k <= group->last; k++)
		if (report_column_shown(e, k))
			fprintf(file, "<th class=\"n\">%s</th>", evaluation_columns[k].heading);
	fputs("</tr></thead><tbody>\n", file);
	json_array_foreach(json_object_get(e->document, "rows"), i, row) {
		fputs("<tr><th scope=\"row\">", file);
		put_row_name(file, row);
		fputs("</th>", file);
		for (int k = group->first; k <= group->last; k++)
			if (report_column_shown(e, k)) write_cell(file, row, k);
		fputs("</tr>\n", file);
	}
	fputs("</tbody></table></div>\n", file);
}

static void write_order(FILE *file, const struct report_evaluation *e) {
	const json_t *pairs = json_object_get(e->document, "order");
	size_t i;
	json_t *pair;
	if (!json_array_size(pairs)) return;
	fputs(
	    "<p class=\"note\">Order by MAUVE with c = 5; p over all pairs, by Holm. Below .01 the "
	    "order is found.</p>\n<div class=\"wide\"><table class=\"data\"><thead><tr>"
	    "<th>better</th><th>worse</th><th class=\"n\">difference</th><th class=\"n\">p</th>"
	    "</tr></thead><tbody>\n",
	    file);
	json_array_foreach(pairs, i, pair) {
		static const char *const names[] = {"better", "worse"};
		fputs("<tr>", file);
		for (size_t k = 0; k < 2; k++) {
			fputs("<td>", file);
			report_html(file, report_base_name(
			                      json_string_value(json_object_get(pair, names[k]))));
			fputs("</td>", file);
		}
		fprintf(file, "<td class=\"n\">%.4f ± %.4f</td><td class=\"n\">%.2g</td></tr>\n",
		        json_number_value(json_object_get(pair, "difference")),
		        json_number_value(json_object_get(pair, "deviation")),
		        json_number_value(json_object_get(pair, "p_holm")));
	}
	fputs("</tbody></table></div>\n", file);
}

/* Lengths, perplexities and clusters of each row, side by side. */
static void write_histograms(FILE *file, const struct report_evaluation *e) {
	const json_t *rows = json_object_get(e->document, "rows");
	// Noisy answers have none.
	if (!json_object_size(json_object_get(e->document, "histograms"))) return;
	fputs("<p class=\"note\">Texts by length, perplexity and cluster of MAUVE. Grey are all "
	      "references; the line is the run.</p>\n",
	      file);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *kind = json_string_value(json_object_get(row, "kind"));
		if (!strcmp(kind, "real against real")) continue;
		fputs("<figure><figcaption><b>", file);
		put_row_name(file, row);
		fputs("</b></figcaption><div class=\"three\">\n", file);
		for (int which = 0; which < EVALUATION_HISTOGRAMS; which++) {
			fputs("<div>", file);
			(void)chart_histogram(file, e, which, i);
			fputs("</div>", file);
		}
		fputs("</div></figure>\n", file);
	}
}

static void write_evaluation_box(FILE *file, const struct report *report,
                                 const struct report_evaluation *e) {
	open_private(file, e->is_private, "long");
	fputs("<h2>Evaluation: ", file);
	report_html(file, report_base_name(e->path));
	fputs("</h2>\n<p class=\"note\">", file);
	fprintf(file, "%lld references, %lld clusters on %lld axes of ",
	        (long long)json_integer_value(json_object_get(e->document, "references")),
	        (long long)json_integer_value(json_object_get(e->document, "clusters")),
	        (long long)json_integer_value(json_object_get(e->document, "axes")));
	report_html(file, json_string_value(json_object_get(e->document, "features")));
	fputs(" vectors; model ", file);
	report_html(file, json_string_value(json_object_get(e->document, "model")));
	fputs(". MAUVE compares within this table alone.</p>\n", file);
	write_asked(file, e);
	for (size_t i = 0; i < json_array_size(json_object_get(e->document, "notes")); i++)
		put_element(
		    file, "p",
		    json_string_value(json_array_get(json_object_get(e->document, "notes"), i)));
	for (size_t i = 0; i < REPORT_GROUPS; i++) write_group(file, e, &report_groups[i]);
	write_order(file, e);
	fputs("<figure><div class=\"wide\">", file);
	if (chart_mauve(file, report, e))
		fputs(
		    "</div><figcaption>Runs whose receipt is in this report, by the hash of their "
		    "texts; the bar is a standard deviation.</figcaption>",
		    file);
	else
		fputs("</div><figcaption>No run of this table is the output of a receipt here, so "
		      "there "
		      "is no "
		      "epsilon to draw it over.</figcaption>",
		      file);
	fputs("</figure>\n", file);
	write_histograms(file, e);
	close_private(file, e->is_private);
}

/* Every number of an audit, and its alarms. */
static void write_audit_box(FILE *file, const struct report_audit *audit) {
	const char *key;
	json_t *value;
	open_private(file, audit->is_private, "short");
	fputs("<h2>Audit: ", file);
	report_html(file, name_audit(audit));
	fputs("</h2>\n<div class=\"charts\"><div class=\"wide\"><table "
	      "class=\"data\"><thead><tr><th>number</th><th "
	      "class=\"n\">audited</th><th class=\"n\">control</th></tr></thead><tbody>\n",
	      file);
	json_object_foreach((json_t *)audit->game.numbers, key, value) {
		const json_t *both[] = {value, json_object_get(audit->control.numbers, key)};
		if (json_is_array(value)) continue;
		fputs("<tr><th scope=\"row\">", file);
		report_html(file, key);
		fputs("</th>", file);
		for (size_t k = 0; k < 2; k++) {
			if (json_is_number(both[k]))
				fprintf(file, "<td class=\"n\">%.6g</td>",
				        json_number_value(both[k]));
			else fputs("<td class=\"n\">–</td>", file);
		}
		fputs("</tr>\n", file);
	}
	fputs("</tbody></table></div>\n<figure>", file);
	if (chart_alarms(file, NULL, audit))
		fputs("<figcaption>Blue: the audit; orange: its control. Shaded: beyond the "
		      "guarantee. Dotted: guessing.</figcaption>",
		      file);
	fputs("</figure></div>\n", file);
	close_private(file, audit->is_private);
}

/* What else the receipts promise, beside their sentence. */
static void write_spending(FILE *file, const struct report *report) {
	fputs("<h2>How the budget was spent</h2>\n", file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct promise_lines *kept = &report->receipts[i].promise.kept;
		name_receipt(file, report, i);
		fputs("<ul>\n", file);
		// The first line is the sentence.
		for (size_t k = 1; k < kept->count; k++) put_element(file, "li", kept->all[k].text);
		fputs("</ul>\n", file);
	}
}

/* Private categories or topics: what was counted, with noise, and what followed. */
static void write_categories(FILE *file, const struct report *report, size_t which) {
	const struct report_receipt *receipt = &report->receipts[which];
	const json_t *histogram = json_object_get(receipt->document, "histogram"),
	             *counts = json_object_get(histogram, "counts"),
	             *used = json_object_get(histogram, "used"),
	             *categories = json_object_get(receipt->document, "categories");
	size_t i;
	json_t *category;
	if (!json_array_size(categories)) return;
	fputs("<h2>Categories</h2>\n", file);
	name_receipt(file, report, which);
	if (counts)
		fputs(
		    "<p class=\"note\">Counts have noise, which the guarantee counts in: they are "
		    "part of what may be published.</p>\n",
		    file);
	fputs("<div class=\"wide\"><table class=\"data\"><thead><tr><th>category</th>", file);
	if (counts) fputs("<th class=\"n\">noisy count</th>", file);
	fputs("<th class=\"n\">texts</th></tr></thead><tbody>\n", file);
	json_array_foreach(categories, i, category) {
		const char *field, *before = "";
		json_t *value;
		fputs("<tr><th scope=\"row\">", file);
		json_object_foreach(json_object_get(category, "values"), field, value) {
			fputs(before, file);
			report_html(file, field);
			fputs(": ", file);
			report_html(file, json_string_value(value));
			before = ", ";
		}
		fputs("</th>", file);
		if (counts)
			fprintf(file, "<td class=\"n\">%lld</td>",
			        (long long)json_integer_value(json_array_get(counts, i)));
		fprintf(file, "<td class=\"n\">%lld</td></tr>\n",
		        (long long)json_integer_value(used ? json_array_get(used, i)
		                                           : json_object_get(category, "texts")));
	}
	fputs("</tbody></table></div>\n", file);
}

/* Every member of a receipt that is one value; the others are in the JSON. */
static void write_parameters(FILE *file, const struct report *report) {
	fputs("<h2>Parameters and hashes</h2>\n", file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		const char *key;
		json_t *value;
		name_receipt(file, report, i);
		fputs("<table><tbody>\n", file);
		put_pair(file, "system", receipt->v.evidence.kind->system);
		put_pair(file, "receipt_sha256", receipt->sha256);
		json_object_foreach(receipt->document, key, value) {
			char number[32] = "";
			if (json_is_integer(value))
				(void)snprintf(number, sizeof number, "%lld",
				               (long long)json_integer_value(value));
			else if (json_is_real(value))
				(void)snprintf(number, sizeof number, "%.10g",
				               json_real_value(value));
			else if (json_is_boolean(value))
				(void)snprintf(number, sizeof number, "%s",
				               json_is_true(value) ? "yes" : "no");
			else if (!json_is_string(value) || !strcmp(key, "guarantee")) continue;
			put_pair(file, key, *number ? number : json_string_value(value));
		}
		fputs("</tbody></table>\n", file);
	}
	if (!report->evaluation_count && !report->audit_count) return;
	fputs("<h3>SHA-256 of the other files</h3>\n<table><tbody>\n", file);
	for (size_t i = 0; i < report->evaluation_count; i++)
		put_pair(file, report_base_name(report->evaluations[i].path),
		         report->evaluations[i].sha256);
	for (size_t i = 0; i < report->audit_count; i++)
		put_pair(file, report_base_name(report->audits[i].path), report->audits[i].sha256);
	fputs("</tbody></table>\n", file);
}

static void write_commands(FILE *file, const struct report *report) {
	fputs("<h2>To check it again</h2>\n<pre>", file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		char *word = report_shell_word(report_base_name(report->receipts[i].path));
		fputs("cuttle receipt verify ", file);
		report_html(file, word);
		fputs(" --output OUT --model MODEL", file);
		if (report->receipts[i].files.ledger) fputs(" --ledger LEDGER", file);
		if (report->receipts[i].v.attested->public_key) fputs(" --key PUBLIC", file);
		fputc('\n', file);
		free(word);
	}
	fputs("</pre>\n<p class=\"note\">A report is no proof: it repeats what its files say, once "
	      "the "
	      "receipts hold. Whoever doubts it asks for the files.</p>\n",
	      file);
}

void report_write_html(FILE *file, const struct report *report) {
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
	      file);
	put_element(file, "title", "Privacy report");
	fprintf(file, "<style>\n%s</style>\n</head>\n<body>\n<section class=\"page\">\n", STYLE);
	write_report_heading(file, report);
	write_promise(file, report);
	write_unit(file, report);
	write_limits(file, report);
	write_budgets(file, report);
	write_audits(file, report);
	write_signatures(file, report);
	fputs("</section>\n<section class=\"page\">\n<p class=\"kind\">For who works with the "
	      "texts</p>\n",
	      file);
	for (size_t i = 0; i < report->evaluation_count; i++)
		write_evaluation_box(file, report, &report->evaluations[i]);
	for (size_t i = 0; i < report->audit_count; i++) write_audit_box(file, &report->audits[i]);
	write_spending(file, report);
	fputs("<h2>What any test can find</h2>\n<p class=\"note\">Shaded: beyond the guarantee. "
	      "Dotted: guessing.</p>\n<div class=\"charts\">\n",
	      file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		fputs("<figure>", file);
		chart_alarms(file, &report->receipts[i], NULL);
		fputs("<figcaption>", file);
		report_html(file, report_base_name(report->receipts[i].path));
		fputs("</figcaption></figure>\n", file);
	}
	fputs("</div>\n", file);
	for (size_t i = 0; i < report->receipt_count; i++) write_categories(file, report, i);
	write_checks(file, report);
	write_parameters(file, report);
	write_commands(file, report);
	fputs("</section>\n</body>\n</html>\n", file);
}
