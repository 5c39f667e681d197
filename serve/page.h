// SPDX-License-Identifier: Apache-2.0
// page.h: the page of cuttle serve, at /. One file, serve/page/page.html, is inside the command.
// The page is public: it is the same bytes for everybody. What a person types into it never passes
// through here; it asks the other routes, like any client.
#ifndef CUTTLE_SERVE_PAGE_H
#define CUTTLE_SERVE_PAGE_H

#include "serve/http/http.h"

enum { PAGE_POLICY = 320 }; /* bytes, with the NUL */

struct page {
	char policy[PAGE_POLICY]; /* Content-Security-Policy: these script and style, no others */
};

/* Makes the policy: it names the SHA-256 of the page's script and of its style, as they are. */
void page_make(struct page *page);
/* The one route. The page must outlive the server. */
struct http_table page_table(struct page *page);

#endif
