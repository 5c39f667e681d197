// SPDX-License-Identifier: Apache-2.0
// audit_report.h: writes what an audit found, as Markdown or JSON.
//
// Of private references every number is private: both forms then say so in themselves. Example, the
// beginning of the JSON:
//     {"audit": "canary", "private": false, "verdict": "nothing contradicts the claim", ...
#ifndef CUTTLE_TOOLS_REPORT_AUDIT_REPORT_H
#define CUTTLE_TOOLS_REPORT_AUDIT_REPORT_H

#include "io/disk/file.h"
#include "workflow/audit/audit.h"

#define AUDIT_STAMP                                                                                \
	"PRIVATE: an audit of private references, which nothing protects. Keep it where they "     \
	"are; "                                                                                    \
	"do not publish it."

/* What a report says beside its numbers. */
struct audit_facts {
	const char *action;       /* as it is typed */
	const char *model;        /* its name; NULL = none was needed */
	const char *model_sha256; /* of its file; likewise */
	bool halves;              /* it compares records with some kept aside */
	bool json;                /* else Markdown */
};

/* What a verdict is, in words. */
const char *audit_words(enum audit_verdict verdict);
/* Writes it to an open sink. INTERNAL: as sink_write. NOMEM. */
enum cuttle_status audit_write(struct sink *sink, const struct audit *audit,
                               const struct audit_facts *facts, struct cuttle_error *error);

#endif
