// SPDX-License-Identifier: Apache-2.0
// rules.h: finds what looks like personal data in a text: "tagged by rules 2".
//
// Private texts pass through; nothing is kept, printed or read from a file. The rules are
// hand-written and small. What they miss is not protected, and names without a title before them
// are missed: tag/names.h takes the operator's own list.
// Example: "Mr. Roe paid $5 on 2/3/2004" has PERSON at 4..7, MONEY at 13..15, DATE_TIME at 19..27.
// The time grows with the size of the text, whatever stands in it.
#ifndef CUTTLE_TAG_RULES_H
#define CUTTLE_TAG_RULES_H

#include <stddef.h>

/* Goes up with each change of what the rules find. */
#define TAG_RULES_VERSION 2

/* Named as Presidio names them; CODE and MONEY are ours. */
enum tag_type {
	TAG_EMAIL_ADDRESS,
	TAG_URL,
	TAG_IP_ADDRESS,  /* IPv4, IPv6 */
	TAG_IBAN_CODE,   /* with right check digits (ISO 13616: mod 97) */
	TAG_CREDIT_CARD, /* 12 to 19 digits with the right check digit (Luhn) */
	TAG_US_SSN,
	TAG_PHONE_NUMBER,
	TAG_DATE_TIME, /* dates, months with a day or year, days of the week, times, years */
	TAG_CODE,      /* a word with five digits or more: numbers of records, cases, accounts; with
	                  fewer behind MRN and its kin */
	TAG_MONEY,     /* a number with a currency */
	TAG_PERSON,    /* names behind a title, as in Dr. Roe, behind a word, as in Patient:, or
	                  with initials, as in J. R. Roe */
	TAG_STREET_ADDRESS, /* a number and a street, in either order, with a town behind it */
	TAG_AGE,            /* of 90 years or more */
	TAG_TYPES           /* how many types there are */
};

/* The name of a type, as in "EMAIL_ADDRESS". */
const char *tag_type_name(enum tag_type type);

/* Calls found for each mark, from left to right: bytes start .. end - 1 of the text. Marks do not
 * overlap, and there are at most size / 2. The text should be UTF-8; a byte that is not counts as a
 * character that is no letter. */
void tag_rules(const char *text, size_t size,
               void (*found)(void *user, size_t start, size_t end, enum tag_type type), void *user);

#endif
