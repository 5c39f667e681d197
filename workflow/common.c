// SPDX-License-Identifier: Apache-2.0
// Checks of what all requests share. They need no file to be open.
#include "workflow/common.h"

#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/output/output.h"
#include <string.h>

static const char *name_approval_fault(const char *approved, const char *ledger) {
	char command[HASH_TEXT];
	double loss;
	if (!approved) return NULL;
	if (!spending_approval(approved, command, &loss))
		return "--approved: must be COMMAND:LOSS, as --dry-run --json says command_sha256 "
		       "and the loss of its charge";
	return ledger ? NULL : "--approved needs --ledger: without one nothing is charged";
}

const char *common_fault(const struct common_request *request) {
	const char *name = request->dataset, *key = request->unit_key;
	if (request->ledger && !name) return "--ledger needs --dataset NAME, the data set in it";
	if (name && !utf8_name(name, strlen(name)))
		return "--dataset: must be 1 to 128 bytes of text in one line";
	const char *fault = name_approval_fault(request->approved, request->ledger);
	if (fault) return fault;
	return key && !utf8_name(key, strlen(key)) ? "--unit-key: must be 1 to 128 bytes" : NULL;
}

const char *common_sign_fault(const struct common_request *request) {
	return request->sign && !request->receipt && request->output &&
	               !strcmp(request->output, "-")
	           ? "--sign: there is no receipt to sign; give --receipt FILE"
	           : NULL;
}

const char *common_chat_fault(const char *chat_format, const char *system, enum cuttle_form form) {
	if (form == CUTTLE_INSTRUCT) return NULL;
	if (chat_format) return "--chat-format needs --template instruct";
	return system ? "--system needs --template instruct" : NULL;
}

enum cuttle_status common_receipt_beside(const char *output, const char *receipt, char **beside,
                                         struct cuttle_error *error) {
	*beside = NULL;
	if (!output || !strcmp(output, "-") || receipt) return CUTTLE_OK;
	*beside = output_receipt_beside(output);
	return *beside ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

struct spending_request common_spending(const struct common_request *request, bool counted) {
	return (struct spending_request){.ledger = counted ? request->ledger : NULL,
	                                 .dataset = request->dataset,
	                                 .unit_key = request->unit_key,
	                                 .output = request->output,
	                                 .approved = request->approved};
}
