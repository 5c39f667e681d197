// SPDX-License-Identifier: Apache-2.0
// paths.h: makes sure that a command writes over nothing that it reads, or writes for another
// option.
//
// A verb lists every path before it opens one, as in
//   {PATH_ALONE("-i", "a.jsonl", PATH_STREAM), PATH_ALONE("-o", "b.jsonl", PATH_OUTPUT)}
// Two paths are the same in either of two cases:
//   - They lead to one file, by device and inode: ./z, a symbolic link and a hard link to z are z.
//   - They have one name in one folder. No file needs to stand there yet.
// What is written beside a path counts too: `-i z.journal -o z` is refused, because generate keeps
// its journal there.
#ifndef CUTTLE_IO_DISK_PATHS_H
#define CUTTLE_IO_DISK_PATHS_H

#include "engine/cuttle/status.h"

/* How a command uses a path. From PATH_LEDGER on, it writes. */
enum path_role {
	PATH_STREAM, /* read once, from its beginning: a file, a pipe or a terminal; "-" is standard
	                input */
	PATH_FILE,   /* read: a regular file */
	PATH_MODEL,  /* the same, or several of a model in parts; its errors are those of a model */
	PATH_FOLDER, /* read: a folder with a model */
	PATH_RUN,    /* read: a folder of cuttle shard open; its errors are of usage */
	PATH_LEDGER, /* read and written in place: a regular file */
	PATH_OUTPUT, /* written by way of scratch files (file_scratch): a regular file; "-" is
	                standard output */
	PATH_RECORD, /* the same, but never "-" */
	PATH_COPY    /* the same, and it has the form and the ending of an input */
};

struct path_use {
	const char *option; /* as messages name it: "-i" */
	const char *path;   /* NULL = not given */
	enum path_role role;
	const char *also;      /* a second path that the option reads or writes, as it does the
	                          first; NULL = none */
	const char *beside[6]; /* endings: path + ending is written too; NULL after the last */
};

/* A struct path_use that touches the path alone. */
// clang-format off
#define PATH_ALONE(option, path, role) {option, path, role, NULL, {NULL}}
// clang-format on

/* Opens nothing, so it never waits for a pipe. An input that is not there is no error here.
 * USAGE: an empty path; two paths that are the same, one of them written; "-" for two inputs or
 * where it cannot be; an output that is no regular file, whose folder is not there or not
 * writable, or whose ending is that of a format that cuttle does not write; a run that is no
 * folder. INPUT, MODEL or LEDGER, by the role: an input of the wrong kind. NOMEM. */
enum cuttle_status paths_check(const struct path_use *uses, size_t count,
                               struct cuttle_error *error);

#endif
