// SPDX-License-Identifier: Apache-2.0
// members.h: the members of a JSON document, each listed once. A table says what a member is
// called, where its value is in a struct, and how it is written and read back. What is left out of
// a fingerprint, and what follows from no other member, is in the same row. So nothing that a
// receipt says is written twice.
//
//     static const struct member MEMBERS[] = {
//         {"batch", MEMBER_NUMBER, MEMBER_AT(struct receipt, batch), .least = 1},
//         {"date", MEMBER_DATE, MEMBER_AT(struct receipt, date), .late = true},
//         {.kind = MEMBER_PART, .add = add_rounds, .take = take_rounds},
//     };
#ifndef CUTTLE_IO_RECEIPTS_MEMBERS_H
#define CUTTLE_IO_RECEIPTS_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attested; /* io/receipts/attest.h */

/* What is at the row's place, and what JSON it becomes. */
enum member_kind {
	MEMBER_PART,    /* one or more members, or none: by the row's functions */
	MEMBER_MADE,    /* follows from other members: `make` writes it, nothing reads it */
	MEMBER_FIXED,   /* always `text` */
	MEMBER_COUNT,   /* uint64_t or size_t, from `least` to `most` */
	MEMBER_NUMBER,  /* uint32_t, likewise */
	MEMBER_LENGTH,  /* the same; 0 = null */
	MEMBER_SEED,    /* uint64_t; UINT64_MAX = null, and is never read */
	MEMBER_REAL,    /* double, above 0 and finite */
	MEMBER_FLAG,    /* bool */
	MEMBER_TEXT,    /* const char * */
	MEMBER_NAME,    /* const char *; NULL = null */
	MEMBER_LABEL,   /* the same, and a name by base/utf8.h */
	MEMBER_ISA,     /* const char *, kernels; a fingerprint has receipt_command_isa of it */
	MEMBER_HASH,    /* char[HASH_TEXT] */
	MEMBER_SOME,    /* the same; where it is "" there is no member */
	MEMBER_DATE,    /* char[RECEIPT_DATE] */
	MEMBER_CHOICE,  /* an enum or uint32_t, by its name among names[most] */
	MEMBER_VARIANT, /* a choice whose first name is never said: there is no member then */
	MEMBER_WORD,    /* const char *, one of names[most] */
	MEMBER_STOPS,   /* struct cuttle_stops; where none are given there is no member */
	MEMBER_SAVINGS, /* struct cuttle_savings; a member for each that is on */
	MEMBER_CHARGE,  /* struct receipt_ledger, with a charge called `text`, or null */
	MEMBER_GIVEN,   /* char[]; read as any text, and kept nowhere */
	MEMBER_FOREIGN  /* somebody else adds it: neither written nor read here */
};

struct member {
	const char *name;
	enum member_kind kind;
	size_t offset;            /* of the value in the struct */
	size_t size;              /* of the value, in bytes */
	uint64_t least, most;     /* most 0 = no limit but the kind's */
	const char *const *names; /* [most] of a choice or a word */
	const char *text;         /* of a fixed member; of a charge what it is called, as "rho" */
	bool late;                /* not in a fingerprint: its value is 0 bytes there */
	bool given; /* follows from no other member: it is copied before a receipt is compared */
	/* Its members that a check computes again, with spaces around each: " clip ". */
	const char *follows;
	json_t *(*make)(const void *receipt);
	/* Adds the part's members to the object. Takes it. NULL: out of memory. */
	json_t *(*add)(json_t *object, const void *receipt);
	/* Reads a part, or checks what other rows have read. NULL = nothing to read. False: a
	 * member is missing, or of the wrong type or range. */
	bool (*take)(struct attested *attested, void *receipt);
};

/* The place of a field: offset and size of a row. */
#define MEMBER_AT(type, field)                                                                     \
	.offset = offsetof(type, field), .size = sizeof(((type *)NULL)->field)
#define MEMBERS_IN(table) (sizeof(table) / sizeof *(table))

/* Adds what the table lists to the object, and returns it. Takes the object. NULL: out of memory.
 */
json_t *members_add(json_t *object, const struct member *members, size_t count,
                    const void *receipt);
/* Reads them from the document into the receipt, in the order of the table. False: as take. */
bool members_take(struct attested *attested, const struct member *members, size_t count,
                  void *receipt);
/* Makes the receipt that of a fingerprint: late members become 0 bytes, and kernels the word that
 * stands for all of their kind. */
void members_blank(const struct member *members, size_t count, void *receipt);

#endif
