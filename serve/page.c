// SPDX-License-Identifier: Apache-2.0
// The page's bytes, its policy and its route. No private data.
//
// The policy lets a browser run this script and this style alone, and connect to this server alone:
// a text that were taken for markup could neither run nor send anything.
#include "serve/page.h"

#include "base/misuse.h"
#include <sodium.h>
#include <stdio.h>
#include <string.h>

// The assembler reads the file, so that a compiler for another machine needs no tool of its own.
__asm__(".pushsection .rodata\n"
        ".globl cuttle_page\n.hidden cuttle_page\ncuttle_page:\n"
        ".incbin \"serve/page/page.html\"\n"
        ".globl cuttle_page_end\n.hidden cuttle_page_end\ncuttle_page_end:\n"
        ".byte 0\n.popsection\n");
extern const char cuttle_page[], cuttle_page_end[];

enum { PAGE_HASH = 48 }; /* bytes of a hash in base64, with the NUL */

// Prints the hash of what stands between <tag> and </tag>, each of which is there once.
static void print_page_hash(const char *open, const char *close, char text[PAGE_HASH]) {
	const char *begin = strstr(cuttle_page, open);
	REQUIRE(begin);
	begin += strlen(open);
	const char *end = strstr(begin, close);
	REQUIRE(end);
	unsigned char hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256(hash, (const unsigned char *)begin, (size_t)(end - begin));
	sodium_bin2base64(text, PAGE_HASH, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
}

void page_make(struct page *page) {
	char script[PAGE_HASH], style[PAGE_HASH];
	print_page_hash("<script>", "</script>", script);
	print_page_hash("<style>", "</style>", style);
	const int size = snprintf(page->policy, sizeof page->policy,
	                          "default-src 'none'; connect-src 'self'; frame-ancestors 'none'; "
	                          "base-uri 'none'; form-action 'none'; script-src 'sha256-%s'; "
	                          "style-src 'sha256-%s'",
	                          script, style);
	REQUIRE(size > 0 && (size_t)size < sizeof page->policy);
}

static void answer_page(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct page *page = user;
	(void)call;
	http_bytes(reply, 200, "text/html; charset=utf-8", cuttle_page,
	           (size_t)(cuttle_page_end - cuttle_page));
	http_add(reply, "Content-Security-Policy", page->policy);
}

struct http_table page_table(struct page *page) {
	static const struct http_route ROUTES[] = {
	    {.method = "GET", .pattern = "/", .answer = answer_page}};
	return (struct http_table){.routes = ROUTES, .count = 1, .user = page};
}
