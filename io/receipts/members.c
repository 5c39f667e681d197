// SPDX-License-Identifier: Apache-2.0
// A value of members.h is found by its offset. Each kind has a line in write_member and one in
// read_member.
#include "io/receipts/members.h"

#include "base/utf8.h"
#include "io/receipts/attest.h"
#include <string.h>

static json_t *text_or_null(const char *text) {
	return text && *text ? json_string(text) : json_null();
}

static json_t *integer_or_null(uint64_t value, uint64_t none) {
	return value == none ? json_null() : json_integer((json_int_t)value);
}

/* The value of a member that is always there. */
static json_t *write_member(const struct member *member, const void *at) {
	switch (member->kind) {
	case MEMBER_FIXED:
		return json_string(member->text);
	case MEMBER_COUNT:
		return json_integer((json_int_t) * (const uint64_t *)at);
	case MEMBER_SEED:
		return integer_or_null(*(const uint64_t *)at, UINT64_MAX);
	case MEMBER_LENGTH:
		return integer_or_null(*(const uint32_t *)at, 0);
	case MEMBER_NUMBER:
		return json_integer(*(const uint32_t *)at);
	case MEMBER_REAL:
		return json_real(*(const double *)at);
	case MEMBER_FLAG:
		return json_boolean(*(const bool *)at);
	case MEMBER_TEXT:
	case MEMBER_ISA:
	case MEMBER_WORD:
		return json_string(*(const char *const *)at);
	case MEMBER_NAME:
	case MEMBER_LABEL:
		return text_or_null(*(const char *const *)at);
	case MEMBER_HASH:
	case MEMBER_SOME:
	case MEMBER_DATE:
		return json_string(at);
	case MEMBER_CHOICE:
	case MEMBER_VARIANT:
		return json_string(member->names[*(const uint32_t *)at]);
	case MEMBER_GIVEN:
		return jsonout_text(at, strlen(at));
	default:
		return NULL;
	}
}

static json_t *add_member(json_t *object, const struct member *member, const void *receipt) {
	const void *at = (const char *)receipt + member->offset;
	switch (member->kind) {
	case MEMBER_FOREIGN:
		return object;
	case MEMBER_VARIANT:
		if (*(const uint32_t *)at == 0) return object;
		break;
	case MEMBER_SOME:
		if (!*(const char *)at) return object;
		break;
	case MEMBER_PART:
		return member->add ? member->add(object, receipt) : object;
	case MEMBER_STOPS:
		return receipt_add_stops(object, at);
	case MEMBER_SAVINGS:
		return receipt_add_savings(object, at);
	case MEMBER_CHARGE:
		return receipt_add_charge(object, at, member->text);
	default:
		break;
	}
	const struct jsonout_member one = {member->name, member->make ? member->make(receipt)
	                                                              : write_member(member, at)};
	return jsonout_extend(object, &one, 1);
}

json_t *members_add(json_t *object, const struct member *members, size_t count,
                    const void *receipt) {
	for (size_t i = 0; i < count; i++) object = add_member(object, &members[i], receipt);
	return object;
}

/* The number of a name among those of the row; their number, where it is none. */
static uint32_t find_word(const struct member *member, const char *word) {
	uint32_t i = 0;
	while (i < member->most && strcmp(member->names[i], word) != 0) i++;
	return i;
}

static bool read_choice(const json_t *root, const struct member *member, void *at) {
	const char *word;
	if (!attest_text(root, member->name, &word)) return false;
	const uint32_t found = find_word(member, word);
	if (found == member->most) return false;
	if (member->kind != MEMBER_WORD) *(uint32_t *)at = found;
	else *(const char **)at = member->names[found];
	return true;
}

static bool read_bounded(const json_t *root, const struct member *member, void *at) {
	const bool wide = member->size == sizeof(uint64_t);
	const uint64_t limit = wide ? INT64_MAX : UINT32_MAX;
	uint64_t value;
	const bool right =
	    attest_count(root, member->name, member->most ? member->most : limit, &value) &&
	    value >= member->least;
	if (wide) *(uint64_t *)at = value;
	else *(uint32_t *)at = (uint32_t)value;
	return right;
}

static bool read_label(const json_t *root, const char *name, const char **label) {
	return attest_name(root, name, label) && (!*label || utf8_name(*label, strlen(*label)));
}

static bool read_member(struct attested *attested, const struct member *member, void *at) {
	const json_t *root = attested->root;
	switch (member->kind) {
	case MEMBER_LENGTH:
		if (json_is_null(json_object_get(root, member->name))) return true;
		return read_bounded(root, member, at) && *(const uint32_t *)at > 0;
	case MEMBER_COUNT:
	case MEMBER_NUMBER:
	case MEMBER_SEED:
		return read_bounded(root, member, at);
	case MEMBER_STOPS:
		return attest_stops(attested, at);
	case MEMBER_SAVINGS:
		return attest_savings(root, at);
	case MEMBER_CHARGE:
		return attest_charge(root, member->text, at);
	case MEMBER_REAL:
		return attest_real(root, member->name, at);
	case MEMBER_FLAG:
		return attest_flag(root, member->name, at);
	case MEMBER_TEXT:
	case MEMBER_ISA:
		return attest_text(root, member->name, at);
	case MEMBER_NAME:
		return attest_name(root, member->name, at);
	case MEMBER_LABEL:
		return read_label(root, member->name, at);
	case MEMBER_SOME:
		if (!json_object_get(root, member->name)) return true;
		return attest_hash(root, member->name, at);
	case MEMBER_HASH:
		return attest_hash(root, member->name, at);
	case MEMBER_DATE:
		return attest_date(root, at);
	case MEMBER_VARIANT:
		if (!json_object_get(root, member->name)) return true;
		return read_choice(root, member, at) && *(const uint32_t *)at > 0;
	case MEMBER_CHOICE:
	case MEMBER_WORD:
		return read_choice(root, member, at);
	case MEMBER_GIVEN:
		return json_is_string(json_object_get(root, member->name));
	case MEMBER_PART:
	case MEMBER_MADE:
	case MEMBER_FIXED:
	case MEMBER_FOREIGN:
		break;
	}
	return true;
}

bool members_take(struct attested *attested, const struct member *members, size_t count,
                  void *receipt) {
	bool right = true;
	for (size_t i = 0; right && i < count; i++)
		right = members[i].take ? members[i].take(attested, receipt)
		                        : read_member(attested, &members[i],
		                                      (char *)receipt + members[i].offset);
	return right;
}

void members_blank(const struct member *members, size_t count, void *receipt) {
	for (size_t i = 0; i < count; i++) {
		void *at = (char *)receipt + members[i].offset;
		if (members[i].late) memset(at, 0, members[i].size);
		if (members[i].kind == MEMBER_ISA)
			*(const char **)at = receipt_command_isa(*(const char *const *)at);
	}
}
