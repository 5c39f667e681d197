// SPDX-License-Identifier: Apache-2.0
// Tests workflow/report/report where the command cannot: the numbers that a page computes itself.
// It fails if alarms are more than a guarantee allows or fewer than it allows some test, if a row's
// number is taken from another column, or if a file without a receipt makes a report.
#include "tests/support/files.h"
#include "workflow/report/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* Randomised response is a mechanism that reaches epsilon: it says the truth with e^eps / (1 +
 * e^eps). Its one test has alarms 1 / (1 + e^eps) and e^eps / (1 + e^eps), the corner. */
static void test_alarms(void **state) {
	(void)state;
	for (double epsilon = 0.125; epsilon < 12; epsilon *= 2) {
		const double wrong = 1 / (1 + exp(epsilon));
		assert_true(fabs(report_alarms(epsilon, 0, wrong) - (1 - wrong)) < 1e-12);
	}
	assert_true(report_alarms(3, 1e-6, 0) == 1e-6);
	assert_true(report_alarms(3, 1e-6, 1) == 1);
	assert_true(report_alarms(300, 0, 0.5) == 1);
	assert_true(fabs(report_alarms(0, 0, 0.25) - 0.25) < 1e-15);
	// Two lines: e^3 * .01 + 1e-6, and 1 - e^-3 * (1 - 1e-6 - .2).
	assert_true(fabs(report_alarms(3, 1e-6, 0.01) - 0.20085636923187668) < 1e-12);
	assert_true(fabs(report_alarms(3, 1e-6, 0.2) - 0.9601703950926719) < 1e-12);
}

static void test_cells(void **state) {
	(void)state;
	double value, error;
	json_t *row = json_pack("{s:{s:f, s:f}, s:{s:f}, s:{s:n}}", "mauve", "value", 0.5, "error",
	                        0.25, "mauve_5", "value", 0.125, "perplexity", "value");
	assert_true(report_cell(row, EVALUATION_MAUVE, &value, &error));
	assert_true(value == 0.5 && error == 0.25);
	assert_true(report_cell(row, EVALUATION_FINE, &value, &error));
	assert_true(value == 0.125 && isnan(error));
	assert_false(report_cell(row, EVALUATION_PERPLEXITY, &value, &error));
	assert_false(report_cell(row, EVALUATION_LENGTH, &value, &error));
	json_decref(row);
}

/* Makes a report of one file with this text. */
static enum cuttle_status report_text(const char *text, bool publish, struct report *report) {
	static char path[64];
	strcpy(path, "/tmp/cuttle-reporting-XXXXXX");
	files_put_new(path, text, strlen(text));
	const char *const files[] = {path};
	const struct report_request request = {.files = files, .file_count = 1, .publish = publish};
	struct cuttle_error error;
	const enum cuttle_status status = report_make(&request, report, &error);
	unlink(path);
	return status;
}

#define AUDIT(privacy, stamp, more)                                                                \
	"{\"audit\":\"canary\",\"private\":" privacy ",\"stamp\":" stamp                           \
	",\"contradicted\":false,\"void\":false,\"claimed_epsilon\":3,\"game\":{" more             \
	"},\"control\":null}"

static void test_files(void **state) {
	(void)state;
	struct report report;
	// Whatever is right with it, without a receipt there is nothing to report.
	assert_int_equal(report_text(AUDIT("false", "null", ""), false, &report), CUTTLE_USAGE);
	assert_int_equal(report.audit_count, 1);
	assert_int_equal(report.unguarded, 0);
	report_free(&report);
	assert_int_equal(report_text(AUDIT("true", "\"PRIVATE: x\"", ""), false, &report),
	                 CUTTLE_USAGE);
	assert_int_equal(report.unguarded, 1);
	report_free(&report);
	assert_int_equal(report_text(AUDIT("true", "\"PRIVATE: x\"", ""), true, &report),
	                 CUTTLE_USAGE);
	assert_int_equal(report.audit_count, 0);
	assert_int_equal(report.left_out, 1);
	report_free(&report);
	static const struct {
		const char *text;
		enum cuttle_status status;
	} wrong[] = {
	    {AUDIT("true", "null", ""), CUTTLE_LEDGER},
	    {AUDIT("false", "\"PRIVATE: x\"", ""), CUTTLE_LEDGER},
	    {AUDIT("1", "null", ""), CUTTLE_INPUT},
	    {AUDIT("false", "null", "\"epsilon_at_least\":\"1\""), CUTTLE_INPUT},
	    {AUDIT("false", "null", "\"roc\":[[0,0],[0.5,1.5]]"), CUTTLE_INPUT},
	    {AUDIT("false", "null", "\"roc\":[[0,0,0]]"), CUTTLE_INPUT},
	    {AUDIT("false", "null", "\"other\":[]"), CUTTLE_INPUT},
	    {"{\"audit\":{}}", CUTTLE_INPUT},
	    {"{\"evaluation\":1}", CUTTLE_INPUT},
	    {"{\"receipt\":2}", CUTTLE_INPUT},
	    {"{\"a\":1,\"a\":2}", CUTTLE_INPUT},
	    {"[]", CUTTLE_INPUT},
	    {"", CUTTLE_INPUT},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		if (report_text(wrong[i].text, false, &report) != wrong[i].status)
			fail_msg("%s", wrong[i].text);
		report_free(&report);
	}
	// A bound above what is claimed contradicts it, whatever the file says of itself.
	assert_int_equal(
	    report_text(AUDIT("false", "null", "\"epsilon_at_least_sure\":3.5"), true, &report),
	    CUTTLE_LEDGER);
	report_free(&report);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_alarms),
	                                   cmocka_unit_test(test_cells),
	                                   cmocka_unit_test(test_files)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
