// SPDX-License-Identifier: Apache-2.0
// Tests tag/rules.c and tag/names.c. It fails if a rule misses what it is for, or takes what only
// looks like it; if a checksum does not count; if a hostile text takes more than linear time; or if
// recall or precision on invented records (presidio_synth_pii.jsonl, not in the repository) is
// below what it was when it was measured last.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/records/source.h"
#include "io/documents/spans.h"
#include "io/text/fold.h"
#include "tag/names.h"
#include "tests/support/foldings.h"
#include "tag/rules.h"
#include "tests/support/files.h"
#include "tests/support/statistics.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What was found, as "PERSON(Roe) URL(www.x.org)". */
struct shown {
	const char *text;
	char words[1024];
	size_t used, end, count;
};

static void show(struct shown *shown, size_t start, size_t end, const char *type) {
	shown->used += (size_t)snprintf(
	    shown->words + shown->used, sizeof shown->words - shown->used, "%s%s(%.*s)",
	    shown->used ? " " : "", type, (int)(end - start), shown->text + start);
	assert_true(shown->used < sizeof shown->words);
}

static void show_rule(void *user, size_t start, size_t end, enum tag_type type) {
	struct shown *shown = user;
	assert_true(start < end && start >= shown->end && end <= strlen(shown->text));
	shown->end = end;
	show(shown, start, end, tag_type_name(type));
}

static void show_name(void *user, size_t start, size_t end, const char *type) {
	show(user, start, end, type);
}

static void expect(const char *text, const char *wanted) {
	struct shown shown = {.text = text};
	tag_rules(text, strlen(text), show_rule, &shown);
	assert_string_equal(shown.words, wanted);
}

struct example {
	const char *text, *wanted;
};

/* `text` with `joint` for each '~'. */
static void put_joints(char *words, size_t size, const char *text, const char *joint) {
	size_t used = 0;
	for (*words = 0; *text; text++) {
		used += (size_t)snprintf(words + used, size - used, "%.*s",
		                         *text == '~' ? (int)strlen(joint) : 1,
		                         *text == '~' ? joint : text);
		assert_true(used < size);
	}
}

static void expect_joined(const struct example *examples, size_t count, const char *joint) {
	char text[256], wanted[256];
	for (size_t i = 0; i < count; i++) {
		put_joints(text, sizeof text, examples[i].text, joint);
		put_joints(wanted, sizeof wanted, examples[i].wanted, joint);
		expect(text, wanted);
	}
}

static void expect_all(const struct example *examples, size_t count) {
	for (size_t i = 0; i < count; i++) expect(examples[i].text, examples[i].wanted);
}
#define EXPECT(examples) expect_all(examples, sizeof(examples) / sizeof *(examples))

static void addresses(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"to anna.may+work@mail.example.org.", "EMAIL_ADDRESS(anna.may+work@mail.example.org)"},
	    {"<j\u00f6rg@m\u00fcller.de>", "EMAIL_ADDRESS(j\u00f6rg@m\u00fcller.de)"},
	    {"\u201canna@x.de\u201d", "EMAIL_ADDRESS(anna@x.de)"},
	    {"user@localhost, a@b, @x.de, a@.de, a@x.d", ""},
	    {"see https://www.x.org/a_b?q=(1)#z.", "URL(https://www.x.org/a_b?q=(1)#z)"},
	    {"at www.x.org, x.y.com: mail.x.com/i and ftp://h",
	     "URL(www.x.org) URL(x.y.com) URL(mail.x.com/i) URL(ftp://h)"},
	    {"e.g. pain.He is://, www. .com x.comma", ""},
	    {"from 195.206.132.199: 10.0.0.1/8.",
	     "IP_ADDRESS(195.206.132.199) IP_ADDRESS(10.0.0.1)"},
	    {"|86.121.97.248|", "IP_ADDRESS(86.121.97.248)"},
	    {"256.1.1.1 1.2.3 1.2.3.4.5 1.2.3.4x", "CODE(256.1.1.1) CODE(1.2.3.4.5)"},
	    {"6e40:4041:c617:e898:c11:40d2:c669:2eb4",
	     "IP_ADDRESS(6e40:4041:c617:e898:c11:40d2:c669:2eb4)"},
	    {"fe80::1, ::1 and ::ffff:1.2.3.4.",
	     "IP_ADDRESS(fe80::1) IP_ADDRESS(::1) IP_ADDRESS(::ffff:1.2.3.4)"},
	    {"std::cat dead::beef a:b:c :: 1::x", ""},
	};
	EXPECT(examples);
}

/* Each is right; with one digit changed it is not what it was. */
static void checksums(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"GB29 NWBK 6016 1331 9268 19 is", "IBAN_CODE(GB29 NWBK 6016 1331 9268 19)"},
	    {"DE89370400440532013000", "IBAN_CODE(DE89370400440532013000)"},
	    {"gb42nawi04454264788619.", "IBAN_CODE(gb42nawi04454264788619)"},
	    {"NO9386011117947", "IBAN_CODE(NO9386011117947)"},
	    {"DE89370400440532013001", "CODE(DE89370400440532013001)"},
	    {"GB29 NWBK an ab12 and more words", ""},
	    {"4111 1111 1111 1111 and 4111-1111-1111-1111",
	     "CREDIT_CARD(4111 1111 1111 1111) CREDIT_CARD(4111-1111-1111-1111)"},
	    {"378282246310005", "CREDIT_CARD(378282246310005)"},
	    {"4111111111111112", "CODE(4111111111111112)"},
	    {"41111111111111111111 4111111111111111x",
	     "CODE(41111111111111111111) CODE(4111111111111111x)"},
	    {"078-05-1120, 219 09 9999.", "US_SSN(078-05-1120) US_SSN(219 09 9999)"},
	    {"no 000-12-3456", "PHONE_NUMBER(000-12-3456)"},
	    {"no 666-12-3456", "PHONE_NUMBER(666-12-3456)"},
	    {"078-05-11203", "PHONE_NUMBER(078-05-11203)"},
	};
	EXPECT(examples);
}

static void numbers(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"+41 (0)71 526 99 04-Fax", "PHONE_NUMBER(+41 (0)71 526 99 04)"},
	    {"(898)666-3621x0135 +1-604-696-5272 ext. 12",
	     "PHONE_NUMBER((898)666-3621x0135) PHONE_NUMBER(+1-604-696-5272 ext. 12)"},
	    {"call 555-1234, 780 6326, 01.84.17.61.18, 3660170548",
	     "PHONE_NUMBER(555-1234) PHONE_NUMBER(780 6326) PHONE_NUMBER(01.84.17.61.18) "
	     "PHONE_NUMBER(3660170548)"},
	    {"1-800-555-0100 930.167.3943 089/123456",
	     "PHONE_NUMBER(1-800-555-0100) PHONE_NUMBER(930.167.3943) PHONE_NUMBER(089/123456)"},
	    {"12 34 56, (12), 3.14159, 12.5 +- 3, 1-2-3-4-5-6-7", "CODE(1-2-3-4-5-6-7)"},
	    {"$5, US$ 1,000.50, EUR 5 million and 20 \u20ac; 7 dollars",
	     "MONEY($5) MONEY($ 1,000.50) MONEY(EUR 5 million) MONEY(20 \u20ac) MONEY(7 dollars)"},
	    {"\u00a31.5m", "MONEY(\u00a31.5m)"},
	    {"$x, 5 millimetres, euro 2 of 3", ""},
	    {"MRN-20394, no. 36244/06, A1B2C3D4E5; ABC-1234",
	     "CODE(MRN-20394) CODE(36244/06) CODE(A1B2C3D4E5)"},
	    {"BP 120/80, 1234.56 mg, 98.6 F, case 777/99", "CODE(777/99)"},
	};
	EXPECT(examples);
}

static void dates(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"9/15/1946, 28.8.03 and 2003-08-28 12:13:52.",
	     "DATE_TIME(9/15/1946) DATE_TIME(28.8.03) DATE_TIME(2003-08-28 12:13:52)"},
	    {"2003-08-28T12:13:52.125+02:00!", "DATE_TIME(2003-08-28T12:13:52.125+02:00)"},
	    {"12 March 2004, March 12th, 2004, 3rd of May, Mar 2004, 12-Mar-04",
	     "DATE_TIME(12 March 2004) DATE_TIME(March 12th, 2004) DATE_TIME(3rd of May) "
	     "DATE_TIME(Mar 2004) DATE_TIME(12-Mar-04)"},
	    {"on Tuesday at 5 pm, since 1977; the 1990s; 10:30",
	     "DATE_TIME(Tuesday at 5 pm) DATE_TIME(1977) DATE_TIME(1990s) DATE_TIME(10:30)"},
	    {"May I march in mar 3 or 13/13/2004, 2004.5, 1899, 25:10", "CODE(13/13/2004)"},
	    {"08:30:00Z, 10:30Zx, born 1833, DOB 1833, 1833 units",
	     "DATE_TIME(08:30:00Z) DATE_TIME(1833) DATE_TIME(1833)"},
	    {"12-14 March 1957, 3.\u20135. M\u00e4rz, 12-14 mg, 5-8 may",
	     "DATE_TIME(12-14 March 1957) DATE_TIME(3.\u20135. M\u00e4rz)"},
	    {"Mar-04, Mar-12-2004, 12/Mar/2004, Mar 12 '57, 12 Mar \u201957",
	     "DATE_TIME(Mar-04) DATE_TIME(Mar-12-2004) DATE_TIME(12/Mar/2004) DATE_TIME(Mar 12 "
	     "'57) "
	     "DATE_TIME(12 Mar \u201957)"},
	    {"12 Mar 57. (3 May 04) 12 Mar 57 men, um 8 Uhr, le 3 mars 1957 \u00e0 10h30, 10h75",
	     "DATE_TIME(12 Mar 57) DATE_TIME(3 May 04) DATE_TIME(12 Mar) DATE_TIME(8 Uhr) "
	     "DATE_TIME(3 mars 1957 \u00e0 10h30)"},
	};
	EXPECT(examples);
}

/* Records whose dates were moved have years before 1900 and behind 2100. */
static void dates_of_any_century(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"2118-06-14, 2118-6-2 08:30, 14.6.2118; 06/14/2118 at 8:30 pm",
	     "DATE_TIME(2118-06-14) DATE_TIME(2118-6-2 08:30) DATE_TIME(14.6.2118) "
	     "DATE_TIME(06/14/2118 at 8:30 pm)"},
	    {"2118-06-14T08:30:00Z; [**2118-6-14**]",
	     "DATE_TIME(2118-06-14T08:30:00Z) DATE_TIME(2118-6-14)"},
	    {"1833-01-02, June 14, 2118, Jun 1833, 2200-12-31, 1800-01-01",
	     "DATE_TIME(1833-01-02) DATE_TIME(June 14, 2118) DATE_TIME(Jun 1833) "
	     "DATE_TIME(2200-12-31) DATE_TIME(1800-01-01)"},
	    {"2201-01-02 and 1799-01-02", "PHONE_NUMBER(2201-01-02) PHONE_NUMBER(1799-01-02)"},
	    {"In 2145, since 1833; in\u00a02200.",
	     "DATE_TIME(2145) DATE_TIME(1833) DATE_TIME(2200)"},
	    {"1850 mL, 2200 calories, begin 2145, in 1799, in 2201", ""},
	    {"1990-1995, 1990\u20131995 and 2118-06; 2118-13",
	     "DATE_TIME(1990-1995) DATE_TIME(1990\u20131995) DATE_TIME(2118-06) CODE(2118-13)"},
	};
	EXPECT(examples);
}

static void months_of_seven_languages(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"am 12. M\u00e4rz 1957, 3. M\u00c4RZ 2118, 3. Okt. 2118 um 08:30",
	     "DATE_TIME(12. M\u00e4rz 1957) DATE_TIME(3. M\u00c4RZ 2118) "
	     "DATE_TIME(3. Okt. 2118 um 08:30)"},
	    {"le 1er ao\u00fbt 1957, 14 juillet, f\u00e9vrier 2118, 3 fe\u0301vrier 1957",
	     "DATE_TIME(1er ao\u00fbt 1957) DATE_TIME(14 juillet) DATE_TIME(f\u00e9vrier 2118) "
	     "DATE_TIME(3 fe\u0301vrier 1957)"},
	    {"12 de marzo de 1957, 5 enero; 3 gennaio 1957, 1\u00ba maggio",
	     "DATE_TIME(12 de marzo de 1957) DATE_TIME(5 enero) DATE_TIME(3 gennaio 1957) "
	     "DATE_TIME(1\u00ba maggio)"},
	    {"3 de mar\u00e7o de 2118, 7 fevereiro; d.d. 3 mei 2118, 4 mrt 1957, maart 2118",
	     "DATE_TIME(3 de mar\u00e7o de 2118) DATE_TIME(7 fevereiro) DATE_TIME(3 mei 2118) "
	     "DATE_TIME(4 mrt 1957) DATE_TIME(maart 2118)"},
	    {"3 out of 5, 2 set 3, 5 may be, 4 march on, grade 3. May be, mars, 12 mais", ""},
	};
	EXPECT(examples);
}

/* A dash or space outside ASCII joins numbers as '-' and ' ' do. */
static void joints(void **state) {
	static const char *const dashes[] = {"-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2212"};
	static const char *const spaces[] = {" ", "\u00a0", "\u2007", "\u2009", "\u202f", "\u3000"};
	static const struct example dashed[] = {
	    {"SSN 078~05~1120.", "US_SSN(078~05~1120)"},
	    {"call 415~555~0123, 555~1234", "PHONE_NUMBER(415~555~0123) PHONE_NUMBER(555~1234)"},
	    {"(415) 555~0123", "PHONE_NUMBER((415) 555~0123)"},
	    {"4111~1111~1111~1111", "CREDIT_CARD(4111~1111~1111~1111)"},
	    {"GB29~NWBK~6016~1331~9268~19", "IBAN_CODE(GB29~NWBK~6016~1331~9268~19)"},
	    {"12~03~1957, 1957~03~12T08:30:00~05:00, 12~Mar~04",
	     "DATE_TIME(12~03~1957) DATE_TIME(1957~03~12T08:30:00~05:00) DATE_TIME(12~Mar~04)"},
	    {"MRN~20394 36244~06", "CODE(MRN~20394) CODE(36244~06)"},
	    {"Dr. Roe~May", "PERSON(Roe~May)"},
	    {"a 93~year~old", "AGE(93)"},
	    {"1~2~3~4~5~6~7, 078~05~11203", "CODE(1~2~3~4~5~6~7) PHONE_NUMBER(078~05~11203)"},
	};
	static const struct example spaced[] = {
	    {"SSN 078~05~1120.", "US_SSN(078~05~1120)"},
	    {"+41~44~668~18~00 x~1", "PHONE_NUMBER(+41~44~668~18~00)"},
	    {"4111~1111~1111~1111", "CREDIT_CARD(4111~1111~1111~1111)"},
	    {"GB29~NWBK~6016~1331~9268~19", "IBAN_CODE(GB29~NWBK~6016~1331~9268~19)"},
	    {"12~March~2004, March~12,~2004 at~5~pm",
	     "DATE_TIME(12~March~2004) DATE_TIME(March~12,~2004 at~5~pm)"},
	    {"\u20ac~5~000~000 and 7~dollars", "MONEY(\u20ac~5~000~000) MONEY(7~dollars)"},
	    {"Dr.~Anna~Roe, Prof.~Dr.~med.~Roe, Patient:~Roe,~Anna",
	     "PERSON(Anna~Roe) PERSON(Roe) PERSON(Roe,~Anna)"},
	    {"MRN:~1234, Med.~Rec.~No.~1234", "CODE(1234) CODE(1234)"},
	    {"14~Mill~Lane,~Leeds", "STREET_ADDRESS(14~Mill~Lane,~Leeds)"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof dashes / sizeof *dashes; i++)
		expect_joined(dashed, sizeof dashed / sizeof *dashed, dashes[i]);
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		expect_joined(spaced, sizeof spaced / sizeof *spaced, spaces[i]);
	expect("192.168.0.1\u2013192.168.0.9", "IP_ADDRESS(192.168.0.1) IP_ADDRESS(192.168.0.9)");
	expect("1\u201412, 5\u201312 mg, \u2011123\u2011", "");
}

static void people(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"Dr. Anna van der Roe-May saw Mr O'Neil.",
	     "PERSON(Anna van der Roe-May) PERSON(O'Neil)"},
	    {"Ms. J. Roe's and PATIENT: Bo Li\n", "PERSON(J. Roe) PERSON(Bo Li)"},
	    {"Prof. \u00c5ngstr\u00f6m; mrs. Roe", "PERSON(\u00c5ngstr\u00f6m) PERSON(Roe)"},
	    {"the dr said; Mrs. the; patient: well; Drive On; M.D. Roe", ""},
	    {"Prof. Dr. med. Anna Roe, Frau Dr. Roe, Dipl.-Ing. Roe, Attending: Dr. Roe, MD",
	     "PERSON(Anna Roe) PERSON(Roe) PERSON(Roe) PERSON(Roe)"},
	    {"Dr. J.R. Roe, Dr. A.B.C. Roe-May, Dr. J.  Roe",
	     "PERSON(J.R. Roe) PERSON(A.B.C. Roe-May) PERSON(J.  Roe)"},
	    {"Dr. Max Born, Prof. Wei He, Mr. Anna Room; Mr. Roe DOB: 1; Mr. Roe Sex: F; Mr. Roe "
	     "Room 2",
	     "PERSON(Max Born) PERSON(Wei He) PERSON(Anna Room) PERSON(Roe) PERSON(Roe) "
	     "PERSON(Roe)"},
	    {"discussed with MR. ROE; Dictated by: Roe, Jane MD; Patient: None; seen by Roe",
	     "PERSON(ROE) PERSON(Roe, Jane)"},
	    {"Dipl.-Psych. Roe, Dott.ssa Roe", "PERSON(Roe) PERSON(Roe)"},
	    {"seen by Dr.\nRoe; over 50 ms.\nNormal", "PERSON(Roe)"},
	    {"by Dr. X. If so; Dr. A.  She; Dr. Roe Dr. Poe; Dr. XXX; trace MR. Mitral",
	     "PERSON(X.) PERSON(A.) PERSON(Roe) PERSON(Poe)"},
	};
	EXPECT(examples);
}

static void family_name_first(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"Patient: ROE, JANE", "PERSON(ROE, JANE)"},
	    {"Name: Roe, Jane Q.", "PERSON(Roe, Jane Q.)"},
	    {"Attending: Poe, Sam MD", "PERSON(Poe, Sam)"},
	    {"Patient: Roe,Jane", "PERSON(Roe,Jane)"},
	    {"RE: ROE, JANE; cc: Roe, Jane; Re: your letter",
	     "PERSON(ROE, JANE) PERSON(Roe, Jane)"},
	    {"Nachname: Roe, Vorname: Anna; Name: Roe Mother: Poe",
	     "PERSON(Roe) PERSON(Anna) PERSON(Roe) PERSON(Poe)"},
	    {"Patient:      ROE, JANE M.   MRN", "PERSON(ROE, JANE M.)"},
	    {"Name: van der Roe, Anna Maria; Patient Name: Roe-May, Jo\u00e3o",
	     "PERSON(van der Roe, Anna Maria) PERSON(Roe-May, Jo\u00e3o)"},
	    {"Attending: Roe, M.D.; Patient: Roe, Room 2; Patient: Roe, 54",
	     "PERSON(Roe) PERSON(Roe) PERSON(Roe)"},
	    {"saw ROE, JANE M. and Roe, Jane Q. there; Mill, Lane 4; ROE, Jane Q.",
	     "PERSON(ROE, JANE M.) PERSON(Roe, Jane Q.)"},
	};
	EXPECT(examples);
}

/* Names that neither a title nor a colon tells. */
static void names_by_their_form(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"by J. R. Roe, J.R. Roe and J. R. R. Roe-May", "PERSON(J. R. Roe) PERSON(J.R. Roe) "
	                                                    "PERSON(J. R. R. Roe-May)"},
	    {"Jane Q. Roe met Jane Q Roe", "PERSON(Jane Q. Roe) PERSON(Jane Q Roe)"},
	    {"Hepatitis B. Then M. D. Roe, U.S. Army, E. Coli, What A Day, Then I Went, Type A. "
	     "Roe",
	     ""},
	    {"My name is Roe; named Anna Roe; his wife Anna, Dear Anna, hi Anna!",
	     "PERSON(Roe) PERSON(Anna Roe) PERSON(Anna) PERSON(Anna) PERSON(Anna)"},
	    {"The name is the; called EMS; Dear Doctor, my wife The; Dear Colleagues", ""},
	    {"our partner Roe Inc; my brother Anna's", "PERSON(Anna)"},
	};
	EXPECT(examples);
}

static void records(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"MRN: 1234, MRN 1234, MRN#1234, MRN-1234, MRN No. A12, mrn is 1234.",
	     "CODE(1234) CODE(1234) CODE(1234) CODE(1234) CODE(A12) CODE(1234)"},
	    {"Med Rec No. 1234, Medical Record Number: 12-34/A, Chart #1234, Acct # : 1234",
	     "CODE(1234) CODE(12-34/A) CODE(1234) CODE(1234)"},
	    {"Patient ID 1234; Fall-Nr. 1234; Case No. 1234; File: 1234",
	     "CODE(1234) CODE(1234) CODE(1234) CODE(1234)"},
	    {"Medical record 1234, UHID 12345, Hosp. No. 123", "CODE(1234) CODE(12345) CODE(123)"},
	    {"MRN1234, mrn 1x, MRN12345x, XMRN1234; MRN:\n1234, Case No.:\r\n  1234; MRN\n1234",
	     "CODE(MRN1234) CODE(MRN12345x) CODE(1234) CODE(1234)"},
	    {"Historia cl\u00ednica: 1234", "CODE(1234)"},
	    {"Visit: 12, chart 1234, unit 12, MRN: none, MRN: 1, record", ""},
	    {"Admission: 12/03/1957; MRN: 415 555 0123; Patient ID: 078-05-1120",
	     "DATE_TIME(12/03/1957) PHONE_NUMBER(415 555 0123) CODE(078-05-1120)"},
	};
	EXPECT(examples);
}

static void ages(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"aged 93; a 93-year-old; 93 y/o, 93yo, 93 y.o. man; age: 102; 101 years of age",
	     "AGE(93) AGE(93) AGE(93) AGE(93) AGE(93) AGE(102) AGE(101)"},
	    {"93 M with, a 93/F who, 93-F presents; mujer de 93 a\u00f1os, 93 ans, 93 anni",
	     "AGE(93) AGE(93) AGE(93) AGE(93) AGE(93) AGE(93)"},
	    {"93M with, 101F s/p; Age/Sex: 93/M; 93-yr-old, 93 year-old",
	     "AGE(93) AGE(101) AGE(93) AGE(93) AGE(93)"},
	    {"101F, 93M men, ninetyish; 98 F today", ""},
	    {"ninety-three years old, aged ninety; 93 Jahre alt, 93-j\u00e4hrige, \u00e2g\u00e9e "
	     "de 93 ans",
	     "AGE(ninety-three) AGE(ninety) AGE(93) AGE(93) AGE(93)"},
	    {"aged 89, 88-year-old, 126 years old, 93 years ago, 1.93 y/o, age 93.5, 93 yogurts",
	     ""},
	};
	EXPECT(examples);
}

static void street_addresses(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"lives at 14 Mill Lane, Leeds, and", "STREET_ADDRESS(14 Mill Lane, Leeds)"},
	    {"14a Mill Lane, Leeds LS1 4AB. 2-4 High St.",
	     "STREET_ADDRESS(14a Mill Lane, Leeds LS1 4AB) "
	     "STREET_ADDRESS(2-4 High St.)"},
	    {"5 Main St., Apt. 3, Springfield, IL 62701-1234",
	     "STREET_ADDRESS(5 Main St., Apt. 3, Springfield, IL 62701-1234)"},
	    {"5 East 42nd Street NW #4, New York, NY",
	     "STREET_ADDRESS(5 East 42nd Street NW #4, New York, NY)"},
	    {"12 rue de la Paix, 75002 Paris; Via Roma 12",
	     "STREET_ADDRESS(12 rue de la Paix, 75002 Paris) "
	     "STREET_ADDRESS(Via Roma 12)"},
	    {"Hauptstra\u00dfe 5, 10115 Berlin; Lindenweg 12; Kerkstraat 12, 1017 GL Amsterdam",
	     "STREET_ADDRESS(Hauptstra\u00dfe 5, 10115 Berlin) STREET_ADDRESS(Lindenweg 12) "
	     "STREET_ADDRESS(Kerkstraat 12, 1017 GL Amsterdam)"},
	    {"P.O. Box 42, Leeds", "STREET_ADDRESS(P.O. Box 42, Leeds)"},
	    {"2 Elm Dr. Roe", "PERSON(Roe)"},
	    {"via IV, 850 ml; 14 days, Lane 4; 3 Road; Street 5; 14 mill lane; weg 3", ""},
	};
	EXPECT(examples);
}

static void list_of_names(void **state) {
	(void)state;
	static const char list[] =
	    "Anna Roe\r\n\n  J\u00d6RG \u0141uk\t\nRoe\tSURNAME\n4711-A\tCODE";
	static const char text[] = "anna\nroe, j\u00f6rg \u0142uk, Roe, Roebuck, Annaroe 4711-a.";
	struct shown shown = {.text = text};
	struct names *names;
	size_t wrong;
	// A tab with nothing behind it has no type.
	assert_false(names_make(list, sizeof list - 1, &names, &wrong));
	assert_int_equal(wrong, 3);
	names_free(names);
	static const char good[] = "Anna Roe\r\n\n  J\u00d6RG \u0141uk\nRoe\tSURNAME\n4711-A\tCODE";
	assert_true(names_make(good, sizeof good - 1, &names, &wrong));
	assert_int_equal(names_count(names), 4);
	assert_true(names_scan(names, text, sizeof text - 1, show_name, &shown));
	assert_string_equal(shown.words,
	                    "PERSON(anna\nroe) PERSON(j\u00f6rg \u0142uk) SURNAME(Roe) "
	                    "CODE(4711-a)");
	names_free(names);
	assert_false(names_make("a\n\xff", 3, &names, &wrong));
	assert_int_equal(wrong, 2);
	names_free(names);
	assert_true(names_make("", 0, &names, &wrong));
	assert_int_equal(names_count(names), 0);
	names_free(names);
}

/* A name is found however it is written (io/text/fold.h), and only with a boundary around it. */
static void names_are_folded(void **state) {
	(void)state;
	for (size_t i = 0; i < 2 * (size_t)FOLDING_COUNT; i++) {
		char list[128], text[128], wanted[128];
		const char *listed = FOLDINGS[i / 2][i % 2], *written = FOLDINGS[i / 2][1 - i % 2];
		size_t size = strlen(written), wrong;
		struct names *names;
		fold_trim(&written, &size);
		// A line break ends a name of the list, and a tab begins its type.
		(void)snprintf(list, sizeof list, "%s\n", listed);
		for (char *c = list; c[1]; c++)
			if (*c == '\t' || *c == '\n') *c = ' ';
		(void)snprintf(text, sizeof text, "x %.*s.", (int)size, written);
		(void)snprintf(wanted, sizeof wanted, "PERSON(%.*s)", (int)size, written);
		struct shown shown = {.text = text};
		assert_true(names_make(list, strlen(list), &names, &wrong));
		assert_int_equal(names_count(names), 1);
		assert_true(names_scan(names, text, strlen(text), show_name, &shown));
		assert_string_equal(shown.words, wanted);
		names_free(names);
	}
	// A list with a byte order mark: the first name is as any other, and so is its type.
	static const char marked[] = "\uFEFFAnna Roe\tCODE\u00a0\r\nBo Li\r\n\uFEFF\r\n";
	static const char text[] = "Anna Roe, Bo Li";
	struct shown shown = {.text = text};
	struct names *names;
	size_t wrong;
	assert_true(names_make(marked, sizeof marked - 1, &names, &wrong));
	assert_int_equal(names_count(names), 2);
	assert_true(names_scan(names, text, sizeof text - 1, show_name, &shown));
	assert_string_equal(shown.words, "CODE(Anna Roe) PERSON(Bo Li)");
	names_free(names);
	assert_false(names_make("\uFEFF\tCODE", 8, &names, &wrong));
	assert_int_equal(wrong, 1);
	names_free(names);
}

static void count_mark(void *user, size_t start, size_t end, enum tag_type type) {
	struct shown *shown = user;
	(void)type;
	assert_true(start < end && start >= shown->end);
	shown->end = end;
	shown->count++;
}

/* A quarter of a megabyte of a few repeated bytes takes no longer than ordinary text, and has not
 * too many marks. The slowest takes a fifth of a second; where each byte looked at all others, it
 * would be minutes. */
static void repeated_bytes(void **state) {
	(void)state;
	static const char *const patterns[] = {
	    "a",       "1",         "1 ",       "1-",         "a.",       "a@",      "a-",
	    "@",       "(1",        "+",        ":",          "1:",       "a:",      "::",
	    "$",       "\u20ac",    "\u00e9",   "www.",       "a://",     "Mr ",     "Dr.",
	    "A ",      "Mr A",      "Patient:", "1/",         "12:30 ",   "1,",      "GB29",
	    "GB29 N",  "0 0-",      "A'",       "com.",       "a.com.x-", "March ",  "19",
	    "\xff",    "$1",        "1.1.1.",   "1a:2b",      "A\u2019",  "x1",      "http://a ",
	    "a@b.c",   "11/11/11-", "\u2011",   "1\u2011",    "A\u2011",  "1\u202f", "a\u0301",
	    "Prof. ",  "Dr. med. ", "A. ",      "Aa B. ",     "Roe, ",    "Roe, A",  "1 Aa ",
	    "1 A-",    "1 rue de ", "Via Aa ",  "Med. Rec. ", "MRN ",     "MRN: ",   "ninety-",
	    "age of ", "name is ",  "wife ",    "in 2118",    "12 de ",   "Apt ",    "12. ",
	};
	const size_t size = briefly() ? 1 << 14 : 1 << 18;
	char *text = malloc(size);
	assert_non_null(text);
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		const size_t length = strlen(patterns[i]);
		for (size_t at = 0; at < size; at++) text[at] = patterns[i][at % length];
		struct shown shown = {.text = text};
		const clock_t began = clock();
		tag_rules(text, size, count_mark, &shown);
		assert_true((double)(clock() - began) / CLOCKS_PER_SEC < 10);
		assert_true(shown.count <= size / 2);
	}
	free(text);
}

/* ---- invented records with known spans ------------------------------------------------------- */

struct measured {
	const char *path; /* of the records */
	struct span_types types;
	size_t tagged[SPANS_TYPES], hit[SPANS_TYPES], found[TAG_TYPES], right[TAG_TYPES];
	const struct spans *spans;
	bool seen[1 << 12]; /* of this line: the span was found */
};

/* Counts a mark. A host counts as a URL. */
static void measure_mark(void *user, size_t start, size_t end, enum tag_type type) {
	struct measured *measured = user;
	bool right = false;
	for (size_t i = 0; i < spans_count(measured->spans); i++) {
		const struct text_span *span = &spans_all(measured->spans)[i];
		const char *name = measured->types.names[span->type];
		if (!strcmp(name, "DOMAIN_NAME")) name = "URL";
		if (strcmp(name, tag_type_name(type)) != 0) continue;
		right |= span->start < end && span->end > start;
		if (start <= span->start && end >= span->end) measured->seen[i] = true;
	}
	measured->found[type]++;
	measured->right[type] += right;
}

static void measure_line(struct measured *measured, const char *line, size_t size, size_t number) {
	const struct spans_request request = {
	    .path = measured->path, .text_field = "text", .spans_field = "spans"};
	struct spans spans = {0};
	struct cuttle_error error;
	assert_int_equal(spans_read(&request, line, size, number, &measured->types, &spans, &error),
	                 CUTTLE_OK);
	assert_true(spans_count(&spans) <= sizeof measured->seen);
	memset(measured->seen, 0, sizeof measured->seen);
	measured->spans = &spans;
	tag_rules(spans.text.used ? spans.text.bytes : "", spans.text.used, measure_mark, measured);
	for (size_t i = 0; i < spans_count(&spans); i++) {
		measured->tagged[spans_all(&spans)[i].type]++;
		measured->hit[spans_all(&spans)[i].type] += measured->seen[i];
	}
	spans_free(&spans);
}

static void recall_of_invented_records(void **state) {
	(void)state;
	static const struct {
		enum tag_type type;
		double recall, precision;
	} wanted[] = {{TAG_EMAIL_ADDRESS, .98, .98}, {TAG_IBAN_CODE, .98, .98},
	              {TAG_IP_ADDRESS, .98, .98},    {TAG_CREDIT_CARD, .98, .98},
	              {TAG_US_SSN, .98, .98},        {TAG_PHONE_NUMBER, .98, .85},
	              {TAG_DATE_TIME, .98, .9},      {TAG_PERSON, .235, .986},
	              {TAG_STREET_ADDRESS, .11, .99}};
	static struct measured measured;
	char path[4096];
	measured.path = files_data("presidio_synth_pii.jsonl", path, sizeof path);
	struct source source;
	struct cuttle_error error;
	const char *line;
	size_t size, number = 0, reached = 0;
	if (access(path, R_OK) != 0) {
		printf("skipped: recall on invented records: there is no %s\n", path);
		skip();
	}
	assert_int_equal(source_open(&source, path, &error), CUTTLE_OK);
	while (assert_int_equal(source_line(&source, &line, &size, &error), CUTTLE_OK), line)
		measure_line(&measured, line, size, ++number);
	source_close(&source);
	for (size_t i = 0; i < measured.types.count; i++) {
		const double recall = (double)measured.hit[i] / (double)measured.tagged[i];
		printf("recall of %-18s %.3f of %zu\n", measured.types.names[i], recall,
		       measured.tagged[i]);
		for (size_t j = 0; j < sizeof wanted / sizeof *wanted; j++)
			if (!strcmp(tag_type_name(wanted[j].type), measured.types.names[i])) {
				assert_true(recall >= wanted[j].recall);
				reached++;
			}
	}
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const enum tag_type type = wanted[i].type;
		const double precision =
		    (double)measured.right[type] / (double)measured.found[type];
		printf("precision of %-15s %.3f of %zu\n", tag_type_name(type), precision,
		       measured.found[type]);
		assert_true(precision >= wanted[i].precision);
	}
	assert_int_equal(reached, sizeof wanted / sizeof *wanted);
	assert_true(number >= 1000);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addresses),
	    cmocka_unit_test(checksums),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(dates),
	    cmocka_unit_test(people),
	    cmocka_unit_test(list_of_names),
	    cmocka_unit_test(names_are_folded),
	    cmocka_unit_test(joints),
	    cmocka_unit_test(dates_of_any_century),
	    cmocka_unit_test(months_of_seven_languages),
	    cmocka_unit_test(family_name_first),
	    cmocka_unit_test(names_by_their_form),
	    cmocka_unit_test(records),
	    cmocka_unit_test(ages),
	    cmocka_unit_test(street_addresses),
	    cmocka_unit_test(repeated_bytes),
	    cmocka_unit_test(recall_of_invented_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
