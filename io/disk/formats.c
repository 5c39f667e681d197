// SPDX-License-Identifier: Apache-2.0
// The table of foreign formats, and how it is searched: from the top, by ending or by first bytes.
// The first row that fits names the format.
#include "io/disk/formats.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <stdio.h>
#include <string.h>

enum { MOST_ENDINGS = 4 }; /* of one format */

/* What makes lines of JSON of whatever pandas reads. */
#define PANDAS(reader)                                                                             \
	"python3 -c \"import pandas; pandas." reader                                               \
	".to_json('out.jsonl', orient='records', lines=True)\""

/* A list of objects is made a table first. */
#define PICKLE                                                                                     \
	PANDAS("DataFrame(pandas.read_pickle('%s'))")                                              \
	" (a pickle runs what is in it: open none from people you do not trust)"

static const struct format {
	const char *name;                  /* in messages, after "FILE is" */
	const char *advice;                /* a command; its one %s stands for the file */
	const char *mark;                  /* the first bytes; "" = this format has no mark */
	size_t mark_size;                  /* bytes */
	const char *endings[MOST_ENDINGS]; /* NULL behind the last */
	bool text;                         /* a file that cuttle writes may have this ending */
} FORMATS[] = {
#define MARK(literal) .mark = (literal), .mark_size = sizeof(literal) - 1
    {"compressed by gzip", "zcat %s | cuttle VERB -i - ...", MARK("\x1f\x8b\x08"), {".gz"}},
    {"compressed by zstd", "zstdcat %s | cuttle VERB -i - ...", MARK("\x28\xb5\x2f\xfd"), {".zst"}},
    {"compressed by bzip2", "bzcat %s | cuttle VERB -i - ...", MARK("BZh91AY&SY"), {".bz2"}},
    {"compressed by xz", "xzcat %s | cuttle VERB -i - ...", MARK("\xfd\x37zXZ\0"), {".xz"}},
    // Most office files (.xlsx, .docx, .odt ...) are zip archives and begin as any zip archive
    // does. So only the ending tells them apart.
    {"a workbook",
     "libreoffice --headless --convert-to csv %s",
     MARK(""),
     {".xlsx", ".xls", ".ods"}},
    {"a document of a word processor",
     "libreoffice --headless --convert-to txt:Text %s, then one {\"text\": ...} a line",
     MARK(""),
     {".docx", ".doc", ".odt", ".rtf"}},
    {"a zip archive", "unzip -p %s | cuttle VERB -i - ...", MARK("PK\x03\x04"), {".zip"}},
    {"Parquet", PANDAS("read_parquet('%s')"), MARK("PAR1\x15"), {".parquet", ".pq"}},
    {"Arrow",
     PANDAS("read_feather('%s')") " (if it is a stream, as datasets of Hugging Face are: "
                                  "pyarrow.ipc.open_stream(FILE).read_pandas())",
     MARK("ARROW1\0\0"),
     {".arrow", ".ipc", ".feather"}},
    {"a stream of Arrow",
     "python3 -c \"import pyarrow.ipc; pyarrow.ipc.open_stream('%s').read_pandas()"
     ".to_json('out.jsonl', orient='records', lines=True)\"",
     MARK("\xff\xff\xff\xff"),
     {".arrows"}},
    {"Feather", PANDAS("read_feather('%s')"), MARK("FEA1\0\0\0\0"), {0}},
    // A table may have a column called ORC, so its three first letters are no mark.
    {"ORC", PANDAS("read_orc('%s')"), MARK(""), {".orc"}},
    {"Avro",
     "python3 -c \"import fastavro, json; [print(json.dumps(r, default=str)) for r in "
     "fastavro.reader(open('%s', 'rb'))]\" >out.jsonl",
     MARK("Obj\x01"),
     {".avro"}},
    {"a data set of Stata", PANDAS("read_stata('%s')"), MARK("<stata_dta>"), {".dta"}},
    // Formats 113 to 115, of little-endian machines: pandas writes 114 unless told otherwise.
    {"a data set of Stata", PANDAS("read_stata('%s')"), MARK("q\x02\x01\0"), {0}},
    {"a data set of Stata", PANDAS("read_stata('%s')"), MARK("r\x02\x01\0"), {0}},
    {"a data set of Stata", PANDAS("read_stata('%s')"), MARK("s\x02\x01\0"), {0}},
    {"a data set of SAS",
     PANDAS("read_sas('%s', encoding='infer')"),
     MARK("\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60"),
     {".sas7bdat"}},
    {"a transport file of SAS",
     PANDAS("read_sas('%s', format='xport', encoding='latin-1')"),
     MARK("HEADER RECORD***"),
     {".xpt", ".xport"}},
    {"a data set of SPSS", PANDAS("read_spss('%s')"), MARK("$FL2@(#)"), {".sav", ".zsav"}},
    {"a data set of SPSS", PANDAS("read_spss('%s')"), MARK("$FL3@(#)"), {0}},
    {"a pickle of Python", PICKLE, MARK("\x80\x04\x95"), {".pkl", ".pickle"}},
    {"a pickle of Python", PICKLE, MARK("\x80\x05\x95"), {0}},
    // No text in UTF-8 begins with the first byte, and none has the second.
    {"a pickle of Python", PICKLE, MARK("\x80\x02"), {0}},
    {"a pickle of Python", PICKLE, MARK("\x80\x03"), {0}},
    {"HDF5", PANDAS("read_hdf('%s')"), MARK("\x89HDF\r\n\x1a\n"), {".h5", ".hdf5", ".hdf"}},
    {"an array of NumPy",
     "python3 -c \"import numpy, json; [print(json.dumps({'text': str(t)})) for t in "
     "numpy.load('%s')]\" >out.jsonl",
     MARK("\x93NUMPY"),
     {".npy"}},
    {"an archive of NumPy",
     "python3 -c \"import numpy, json; [print(json.dumps({'text': str(t)})) for t in "
     "numpy.load('%s')['NAME']]\" >out.jsonl",
     MARK(""),
     {".npz"}},
    {"an object of R",
     "Rscript -e \"jsonlite::stream_out(readRDS('%s'), file('out.jsonl'))\"",
     MARK(""),
     {".rds"}},
    {"a workspace of R",
     "Rscript -e \"load('%s'); jsonlite::stream_out(NAME, file('out.jsonl'))\"",
     MARK(""),
     {".rdata", ".rda"}},
    {"a PDF", "pdftotext %s - | jq -cRs '{text: .}' >>out.jsonl", MARK("%PDF-"), {".pdf"}},
    {"a database of SQLite",
     "sqlite3 -csv -header %s 'select * from TABLE' >out.csv",
     MARK("SQLite format 3\0"),
     {".sqlite", ".sqlite3", ".db"}},
    // UTF-32 must stand before UTF-16: its mark ff fe 00 00 begins with ff fe, the mark of UTF-16.
    {"text in UTF-32",
     "iconv -f UTF-32 -t UTF-8 %s | cuttle VERB -i - ...",
     MARK("\xff\xfe\0\0"),
     {0}},
    {"text in UTF-32",
     "iconv -f UTF-32 -t UTF-8 %s | cuttle VERB -i - ...",
     MARK("\0\0\xfe\xff"),
     {0}},
    {"text in UTF-16", "iconv -f UTF-16 -t UTF-8 %s | cuttle VERB -i - ...", MARK("\xff\xfe"), {0}},
    {"text in UTF-16", "iconv -f UTF-16 -t UTF-8 %s | cuttle VERB -i - ...", MARK("\xfe\xff"), {0}},
    {"a message of HL7 v2",
     "tr '\\r' '\\n' <%s | grep '^OBX' | cut -d'|' -f6 | jq -cR '{text: .}' >out.jsonl makes each "
     "observation a record",
     MARK("MSH|"),
     {".hl7"}},
    {"one JSON document",
     "jq -c '.[]' %s >out.jsonl makes lines of a list, jq -c '.entry[].resource' of a FHIR bundle, "
     "jq -c . of one object; or name it .jsonl if each line is a record",
     MARK(""),
     {".json"},
     .text = true},
    {"plain text",
     "jq -cR '{text: .}' %s >out.jsonl makes each line a record",
     MARK(""),
     {".txt"},
     .text = true},
};
enum { FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

static enum cuttle_status refuse_format(const struct format *format, const char *path,
                                        struct cuttle_error *error) {
	char advice[384];
	const char *place = strstr(format->advice, "%s");
	// Few of the commands read standard input under its name here.
	const char *file = strcmp(path, "-") ? path : "FILE";
	(void)snprintf(advice, sizeof advice, "%.*s%.120s%s", (int)(place - format->advice),
	               format->advice, file, place + 2);
	return io_fail(error, CUTTLE_INPUT, "%.60s is %s, neither JSONL nor CSV: %s",
	               file_shown(path), format->name, advice);
}

enum cuttle_status formats_check_name(const char *path, struct cuttle_error *error) {
	for (const struct format *format = FORMATS; format < FORMATS + FORMAT_COUNT; format++)
		for (size_t i = 0; i < MOST_ENDINGS && format->endings[i]; i++)
			if (file_ends_in(path, format->endings[i]))
				return refuse_format(format, path, error);
	return CUTTLE_OK;
}

enum cuttle_status formats_check_output(const char *option, const char *path,
                                        struct cuttle_error *error) {
	for (const struct format *format = FORMATS; format < FORMATS + FORMAT_COUNT; format++)
		for (size_t i = 0; !format->text && i < MOST_ENDINGS && format->endings[i]; i++)
			if (file_ends_in(path, format->endings[i]))
				return io_fail(error, CUTTLE_USAGE,
				               "%s %.120s: by its ending it would be %s, which "
				               "cuttle does not write. For a table of texts end "
				               "in .csv, else in .jsonl",
				               option, path, format->name);
	if (file_ends_in(path, ".tsv"))
		return io_fail(error, CUTTLE_USAGE,
		               "%s %.120s: cuttle writes no tabs between cells; for a table of "
		               "texts end in .csv, else in .jsonl",
		               option, path);
	return CUTTLE_OK;
}

enum cuttle_status formats_check_lines(const char *option, const char *path,
                                       struct cuttle_error *error) {
	return file_ends_in(path, ".csv")
	           ? io_fail(error, CUTTLE_USAGE, "%s %.120s: the output is JSONL: name it .jsonl",
	                     option, path)
	           : CUTTLE_OK;
}

/* -1.5 is what it says. */
static bool is_negative_number(const char *text, size_t size) {
	size_t points = 0;
	for (size_t i = 1; i < size; i++) {
		const bool point = text[i] == '.' && i > 1;
		if (!point && (text[i] < '0' || text[i] > '9')) return false;
		points += point;
	}
	return size > 1 && *text == '-' && points <= 1;
}

bool formats_formula(const char *text, size_t size) {
	return size && memchr("=+-@\t\r", *text, 6) && !is_negative_number(text, size);
}

enum cuttle_status formats_check_start(const char *path, const char *bytes, size_t size,
                                       struct cuttle_error *error) {
	for (const struct format *format = FORMATS; format < FORMATS + FORMAT_COUNT; format++)
		if (format->mark_size && size >= format->mark_size &&
		    !memcmp(bytes, format->mark, format->mark_size))
			return refuse_format(format, path, error);
	return CUTTLE_OK;
}
