// SPDX-License-Identifier: Apache-2.0
// jobs_routes.h: the routes of private jobs, of budgets and of the ledger.
//
// PRIVATE references pass through in pieces. Example: params.tables[1] = jobs_table(jobs);
#ifndef CUTTLE_SERVE_JOBS_JOBS_ROUTES_H
#define CUTTLE_SERVE_JOBS_JOBS_ROUTES_H

#include "serve/http/http.h"
#include "serve/jobs/jobs.h"

/* The table for http_start; jobs must outlive the server. */
struct http_table jobs_table(struct jobs *jobs);

#endif
