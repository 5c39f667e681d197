# cuttle. `make help` lists the targets.
MAKEFLAGS += -r
BUILD ?= build
Q := $(if $(filter 1,$(V)),,@)
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
AR := $(if $(filter default,$(origin AR)),$(shell $(CC) -print-prog-name=ar 2>/dev/null),$(AR))
OBJCOPY := $(or $(OBJCOPY),$(shell $(CC) -print-prog-name=objcopy 2>/dev/null))
CFLAGS ?= -O3 -g
BLAS ?= $(if $(wildcard /usr/include/*/cblas.h /usr/include/cblas.h),1,0)
CURL ?= $(if $(wildcard /usr/include/*/curl/curl.h /usr/include/curl/curl.h),1,0)
HTTP ?= $(if $(and $(wildcard /usr/include/*/microhttpd.h /usr/include/microhttpd.h),$(wildcard /usr/include/*/gnutls/abstract.h /usr/include/gnutls/abstract.h)),1,0)
CRYPTO ?= 1
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))

# Neither changes a value: no errno from sqrtf, no claim to see floating-point exceptions.
ARITHMETIC := -fno-fast-math -ffp-contract=off -fno-math-errno -fno-trapping-math
WARNINGS := -Wall -Wextra -Werror -Wvla -Wmissing-prototypes -Wstrict-prototypes -Wundef -Wshadow -Wno-psabi
override CPPFLAGS += -I. -D_GNU_SOURCE
override CFLAGS += -std=c11 $(ARITHMETIC) $(WARNINGS) -fno-omit-frame-pointer -fvisibility=hidden -fPIC -pthread -MMD -MP
# A symbol that is looked up at its first call saves the vector registers on the stack, with whatever text is in them: all are looked up
# before the first record is read.
override LDFLAGS += -Wl,-z,relro -Wl,-z,now
# libmicrohttpd finds this one of the command in place of its own: serve/http/http_refuse.c says why.
override LDFLAGS += -Wl,--export-dynamic-symbol=MHD_queue_response
CORE_LIBS := -lm -pthread
IO_LIBS := -ljansson -lcsv -lsodium -lsqlite3 -lutf8proc
# Of OpenBLAS the header alone: kernels/gemm_blas.c loads the library when --isa blas asks for it.
ifeq ($(BLAS),1)
override CPPFLAGS += -DCUTTLE_BLAS
endif
# Of libcurl, too: io/remote/remote.c loads the library when it opens a connection.
ifeq ($(CURL),1)
override CPPFLAGS += -DCUTTLE_CURL
endif
# Of libcrypto not even that: io/disk/model_hash.c loads it for a large model. A static program could not.
ifeq ($(CRYPTO),1)
override CPPFLAGS += -DCUTTLE_LIBCRYPTO
endif

# Of libmicrohttpd, too: serve/http/mhd.c loads it when a server starts.
ifeq ($(HTTP),1)
override CPPFLAGS += -DCUTTLE_HTTP
SERVE := $(filter-out serve/serve_none.c serve/http/health%,$(wildcard serve/*.c serve/*/*.c))
else
# Private jobs without their routes need no HTTP, and are tested either way.
SERVE := serve/serve_none.c serve/http/keys.c serve/http/http_check.c $(filter-out serve/jobs/jobs_routes.c,$(wildcard serve/jobs/*.c))
endif

CORE := $(wildcard base/*.c engine/*.c engine/*/*.c engine/*/*/*.c dp/*.c kernels/*.c)
ifneq ($(ARCH),x86_64)
CORE := $(filter-out %_avx2.c %_avxvnni.c %_avx512.c %_amx.c,$(CORE))
endif
ifneq ($(ARCH),aarch64)
CORE := $(filter-out %_neon.c %_dotprod.c,$(CORE))
endif
# Nothing else of the core loads a library, and a static program could not.
ifneq ($(BLAS),1)
CORE := $(filter-out %_blas.c base/library.c,$(CORE))
endif
# Of io/remote/remote.c and its refusal, which needs no header of libcurl, one is left out.
# A server is asked whether it is well by libcurl, too.
SERVE += serve/http/health$(if $(filter 1,$(CURL)),,_none).c
IO := $(filter-out $(if $(filter 1,$(CURL)),io/remote/remote_none.c,io/remote/remote.c),$(wildcard io/*/*.c topics/*.c convert/*.c tag/*.c measure/*.c workflow/*.c workflow/*/*.c)) $(SERVE) $(filter-out $(CORE),base/library.c)
TOOLS := $(wildcard tools/*.c tools/*/*.c)
# A program is named like its file, whichever folder the file is in: tests/dp/test_dp_draw.c makes build/tests/test_dp_draw.
PROGRAMS := $(filter-out $(if $(filter 1,$(HTTP)),,tests/serve/%),$(wildcard tests/*/test_*.c tests/support/gen_*.c))
TESTS := $(filter test_%,$(notdir $(PROGRAMS:.c=)))
SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(PROGRAMS) $(wildcard tests/fuzz/*.c),$(wildcard tests/*/*.c)))
FUZZ := $(filter-out $(if $(filter 1,$(HTTP)),,fuzz_request),$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
T ?= 60
RUNS ?= -1
SEED ?= 0
SOURCES := $(wildcard base/*.[ch] kernels/*.[ch] dp/*.[ch] engine/*.[ch] engine/*/*.[ch] engine/*/*/*.[ch] io/*/*.[ch] topics/*.[ch] convert/*.[ch] tag/*.[ch] measure/*.[ch] workflow/*.[ch] workflow/*/*.[ch] serve/*.[ch] serve/*/*.[ch] tools/*.[ch] tools/*/*.[ch] tests/*/*.[ch] examples/*.c examples/*.cpp bench/*.[ch] models/*.c)
object = $(patsubst %.c,$(BUILD)/%.o,$(1))
program_object = $(call object,$(filter %/$(1).c,$(PROGRAMS)))

MODEL ?= models/SmolLM2-135M-Instruct.Q4_1.gguf
# Data sets that some tests and benches read, and skip where they are not: bench/README.md lists them.
DATA ?= ../shared/data

all: $(BUILD)/packages $(BUILD)/cuttle $(BUILD)/example $(BUILD)/libcuttle.a

# Instruction-set flags live here and nowhere else.
$(BUILD)/kernels/%_dotprod.o: TIER := -march=armv8.2-a+dotprod
$(BUILD)/kernels/%_avx2.o: TIER := -mavx2 -mfma -mf16c
$(BUILD)/kernels/%_avxvnni.o: TIER := -mavx2 -mfma -mf16c -mavxvnni
AVX512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx2 -mfma -mf16c -mprefer-vector-width=512
$(BUILD)/kernels/%_avx512.o: TIER := $(AVX512)
$(BUILD)/kernels/%_amx.o: TIER := $(AVX512) -mgfni -mamx-tile -mamx-int8
ifeq ($(ARCH),x86_64)
$(BUILD)/tests/kernels/test_amx_emulated.o: TIER := $(AVX512) -mgfni
endif

# Says which package is missing, once, instead of a page of compiler errors. The library needs none of them.
$(BUILD)/packages: setup.sh
	@./setup.sh check
	@mkdir -p $(@D) && touch $@
$(call object,$(filter-out $(CORE) examples/%,$(filter %.c,$(SOURCES)))): | $(BUILD)/packages

# What everything is built with. The file changes with its content only, and then everything is built anew.
FLAGS = $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(COVERED) $(GEMMS) BLAS=$(BLAS) CURL=$(CURL) HTTP=$(HTTP)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS))' >$@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo CC $<
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(TIER) $(WATCHED) $(TESTED) -c $< -o $@

# Tests are compiled at -O1, for which gcc needs half of the time. Those of kernels keep -O3, because they emulate instructions in loops.
$(BUILD)/tests/%.o: TESTED := $(if $(filter -O3,$(CFLAGS)),-O1)
$(BUILD)/tests/kernels/%.o: TESTED :=

# The page is inside the command: the assembler reads it.
$(BUILD)/serve/page.o: serve/page/page.html

# For whoever uses the library: one object, whose names are local but for those of engine/cuttle.h, so that none collides with others'.
$(BUILD)/libcuttle.a: $(call object,$(CORE))
	$(Q)$(CC) -r -nostdlib $^ -o $(BUILD)/libcuttle.o
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/libcuttle.o
	@rm -f $@
	$(Q)$(AR) rcs $@ $(BUILD)/libcuttle.o
# The same as a shared library. Its number goes up when a program that was built against it would no longer run.
SO := libcuttle.so.0
$(BUILD)/$(SO): $(call object,$(CORE)) packaging/libcuttle.map
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SO) -Wl,--version-script=packaging/libcuttle.map $(filter %.o,$^) $(CORE_LIBS) -o $@
# For the command and the tests, which look inside.
$(BUILD)/libcuttle-inside.a: $(call object,$(CORE)) $(OTHERS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
$(BUILD)/libcuttle-io.a: $(call object,$(IO))
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
$(BUILD)/cuttle: $(call object,$(TOOLS)) $(BUILD)/libcuttle-io.a $(BUILD)/libcuttle-inside.a
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(IO_LIBS) $(CORE_LIBS) -o $@
# The command with another version. Of the two functions that tell it the first is taken.
$(BUILD)/tests/cuttle_next: $(BUILD)/tests/support/next/version.o $(call object,$(TOOLS)) $(BUILD)/libcuttle-io.a $(BUILD)/libcuttle-inside.a
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--allow-multiple-definition $^ $(IO_LIBS) $(CORE_LIBS) -o $@
# What tests/cli/goldens.sh loads before the command: the same random bits each time, and one date.
$(BUILD)/tests/steady.so: $(BUILD)/tests/support/steady/steady.o
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared $^ -ldl -o $@
.SECONDEXPANSION:
$(addprefix $(BUILD)/tests/,$(notdir $(PROGRAMS:.c=))): $(BUILD)/tests/%: $$(call program_object,$$*) $(SUPPORT) $(BUILD)/libcuttle-io.a $(BUILD)/libcuttle-inside.a
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -lcmocka $(TEST_LIBS) $(IO_LIBS) $(CORE_LIBS) -o $@
$(BUILD)/replay/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/replay.o $(SUPPORT) $(BUILD)/libcuttle-io.a $(BUILD)/libcuttle-inside.a
	@mkdir -p $(@D)
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -lcmocka $(IO_LIBS) $(CORE_LIBS) -o $@
# Only clang has this; make fuzz sets the flags. Kernels read no files, and from the comparisons of sorting and searching there is nothing to
# learn: to follow them would only make every execution slower. Gemms, which take clang minutes with sanitizers, are left to make asan.
$(foreach room,base engine io topics convert tag serve,$(BUILD)/$(room)/%.o): TIER := $(COVERED)
$(patsubst %,$(BUILD)/%.o,base/utf8 base/words engine/text/merge engine/text/special engine/text/unicode engine/text/vocab_find): \
	TIER := $(COVERED) $(COVERED:%=-fno-sanitize-coverage=trace-cmp)
# Where each of their variables is at each instruction took gcc as long as the code: lines are enough.
$(BUILD)/kernels/gemm_%.o: WATCHED := $(GEMMS) $(if $(filter -g,$(CFLAGS)),-g1)
$(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(SUPPORT) $(BUILD)/libcuttle-io.a $(BUILD)/libcuttle-inside.a
	@mkdir -p $(@D)
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) $^ -lcmocka $(IO_LIBS) $(CORE_LIBS) -o $@
$(BUILD)/example: $(BUILD)/examples/generate.o $(BUILD)/libcuttle.a
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(CORE_LIBS) -o $@
# A model of this machine in place of a remote service, for make demo-infer and tests/cli/infer.sh.
$(BUILD)/loopback: $(BUILD)/examples/loopback.o $(BUILD)/libcuttle.a
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -ljansson $(CORE_LIBS) -o $@
$(BUILD)/make-random: $(call object,models/make_random.c) $(BUILD)/libcuttle-io.a $(BUILD)/libcuttle-inside.a
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(IO_LIBS) $(CORE_LIBS) -o $@

$(addprefix $(BUILD)/,likelihood records methods fusion recovery words words_attacks clusters masks): $(BUILD)/%: $(BUILD)/bench/%.o $(BUILD)/bench/marked.o $(BUILD)/bench/weights.o $(BUILD)/libcuttle-io.a $(BUILD)/libcuttle-inside.a
	@echo LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(IO_LIBS) $(CORE_LIBS) -o $@

wrap = -Wl,$(subst $() $(),$(comma),$(addprefix --wrap=,$(1)))
comma := ,
$(BUILD)/tests/test_alloc_failure: TEST_LIBS := $(call wrap,malloc calloc realloc reallocarray aligned_alloc strdup strndup asprintf open_memstream free \
	mmap mremap munmap)
$(BUILD)/tests/test_stream: TEST_LIBS := $(call wrap,http_now)
$(BUILD)/tests/test_serve_keys: TEST_LIBS := $(call wrap,keys_recall)
$(BUILD)/tests/test_serve_upload: TEST_LIBS := $(call wrap,clock_gettime pthread_cond_timedwait)
$(BUILD)/tests/test_serve_jobs: TEST_LIBS := $(call wrap,clock_gettime pthread_cond_timedwait budgets_fit job_charged)
$(BUILD)/tests/test_plain: TEST_LIBS := $(call wrap,http_later http_later_gone http_later_reply http_later_send http_add http_json http_fail http_stream_send)
$(BUILD)/tests/test_io_remote: TEST_LIBS := $(call wrap,dlopen)
$(BUILD)/tests/test_io_model_hash: TEST_LIBS := $(call wrap,dlopen)
$(BUILD)/tests/test_io_journal: TEST_LIBS := $(call wrap,fallocate)
$(BUILD)/tests/test_protocol: TEST_LIBS := $(call wrap,journal_open binding_open journal_load ledger_match ledger_reserve ledger_draw ledger_finish \
	journal_mark journal_sync journal_remove journal_close output_seal output_close file_sync_folder file_sync file_replace_by file_write \
	ftruncate fsync fdatasync rename link unlink access)
$(BUILD)/tests/test_io_ledger: TEST_LIBS := $(call wrap,free)
$(BUILD)/tests/test_dp_failures: TEST_LIBS := $(call wrap,malloc calloc free getrandom expl)
$(BUILD)/tests/test_dp_fusion_failures: TEST_LIBS := $(call wrap,malloc calloc free)
$(BUILD)/tests/test_dp_rank_failures: TEST_LIBS := $(call wrap,calloc free dp_rank_tabulate)
$(BUILD)/tests/test_dp_noise: TEST_LIBS := $(call wrap,dp_draw_number dp_draw_below_wide)
$(BUILD)/tests/test_dp_threshold: TEST_LIBS := $(call wrap,dp_noise_laplace)
$(BUILD)/tests/test_dp_amin: TEST_LIBS := $(call wrap,dp_noise_laplace calloc malloc free)
$(BUILD)/tests/test_measure_failures: TEST_LIBS := $(call wrap,calloc free)

# ---- what people type ----------------------------------------------------------------------------
help:
	@echo 'make           build $(BUILD)/cuttle and $(BUILD)/libcuttle.a'
	@echo 'make demo      packages, model, build, then private messages to a shop from the invented ones in tools/samples, as they are drawn;'
	@echo '               stopped, it continues; rm -r demo for new ones'
	@echo 'make demo-evaluate  the same, then a table of how good they are'
	@echo 'make demo-style  a style that all private messages have and no public example, taken up at epsilon 3'
	@echo 'make demo-sanitize  the same, then twelve invented letters with private marks, before and after side by side'
	@echo 'make demo-infer  the same, then invented texts continued with the help of a model that sees perturbed words alone'
	@echo 'make test      packages, model, build, every test at the smallest size that can still fail; the ten slowest come last'
	@echo 'make test-all  the same, every test at its full size, as the nightly does'
	@echo 'make check     every test at its full size, with what is installed already'
	@echo 'make docs-check  runs every command line of README.md and docs/ on small inputs, measures their sentences and follows their links'
	@echo 'make test-nightly  statistics with fresh random bits and more of them, games for secrets, timing, full sizes, all of asan; three hours. Its parts: $(NIGHT:%=night-%)'
	@echo 'make gate      what .ci/run does: all that a change must pass, in half an hour; FROM=stage goes on where it was cut'
	@echo 'make core      $(BUILD)-core/libcuttle.a, which needs libc, libm and pthread alone, for appliances; CC=aarch64-linux-gnu-gcc'
	@echo 'make asan      every test under ASan and UBSan, in $(BUILD)-asan'
	@echo 'make tsan      threads that share a model, and the server of jobs, under TSan, in $(BUILD)-tsan'
	@echo 'make fuzz      libFuzzer (clang) on the readers of foreign files, T=60 seconds each (RUNS=N inputs, SEED=N the same ones), in $(BUILD)-fuzz'
	@echo 'make coverage  how much of dp/ its tests reach, in $(BUILD)-coverage'
	@echo 'make mutants   breaks each promise once, as tests/mutants say, and wants a test to fail;  MUTANTS="name..." for some'
	@echo 'make proofs    installs coq (1 GB), compiles the proofs of dp/PRIVACY.md, lists their axioms; apart from test and CI'
	@echo 'make protocol  installs spin, walks the protocol of charges, from all that may happen to wrong variants; some minutes; nightly'
	@echo 'make prove     installs Frama-C (1 GB), proves the integer core of the C; the bounded part needs ESBMC=command; nightly'
	@echo 'make format    clang-format in place;  make lint  style, arrows of includes, circles of calls, clang-tidy, shellcheck'
	@echo 'make install   command, manual, completions, library and headers into $$(DESTDIR)$$(PREFIX), PREFIX=/usr/local;  make uninstall'
	@echo 'make deb       Debian packages, in the folder above;  make static  one file for appliances, $(BUILD)-static/cuttle'
	@echo 'make wheel     Python wheel with the static command, in dist (pip install dist/*.whl: docs/PYTHON.md);  make wheel-arm64'
	@echo 'make oci       container image with server and remote client, for amd64 and arm64, in dist/oci (docs/PACKAGES.md);  OCI=amd64 for one'
	@echo 'make musl      $(BUILD)-musl/libcuttle.a and an example with musl instead of glibc'
	@echo 'variables      V=1 prints commands  CC=gcc|clang  CFLAGS  BLAS=1|0  CURL=1|0  HTTP=1|0  CRYPTO=1|0  BUILD=folder  MODEL=file.gguf; what another setting changes is built anew'

demo:
	@./setup.sh demo
	@models/fetch.sh
	@$(MAKE) --no-print-directory -j2 $(BUILD)/cuttle
	@tools/demo.sh $(BUILD)/cuttle $(MODEL)

demo-evaluate:
	@./setup.sh demo
	@models/fetch.sh
	@$(MAKE) --no-print-directory -j2 $(BUILD)/cuttle
	@tools/demo-evaluate.sh $(BUILD)/cuttle $(MODEL)

demo-style:
	@./setup.sh demo
	@models/fetch.sh
	@$(MAKE) --no-print-directory -j2 $(BUILD)/cuttle
	@tools/demo-style.sh $(BUILD)/cuttle $(MODEL)

demo-sanitize:
	@./setup.sh demo
	@models/fetch.sh
	@$(MAKE) --no-print-directory -j2 $(BUILD)/cuttle
	@tools/demo-sanitize.sh $(BUILD)/cuttle $(MODEL)

demo-infer:
	@./setup.sh demo
	@models/fetch.sh
	@$(MAKE) --no-print-directory -j2 $(BUILD)/cuttle $(BUILD)/loopback
	@tools/demo-infer.sh $(BUILD)/cuttle $(MODEL) $(BUILD)/loopback

# The sizes of test-all take three times as long, and hardly ever find what these do not, so the night has them. These programs are the
# killers of fewest mutants for their time (under one in a second of a processor), so make test, which may take six minutes, leaves them to
# the gate (make test-later).
LATER := test_alloc_failure test_amx_emulated test_bench test_dp_amin_transcripts test_dp_exact test_dp_oracle test_dp_ratio test_dp_tables \
	test_dp_transcripts test_injection test_io_marks test_learn_canary test_sampling test_shared test_threads test_vocab
LATER_CLI := amin bench budget generate infer library memory noninterference quotes savings trace
test test-later: export CUTTLE_TEST_SHORT := 1
test: export CUTTLE_TEST_WITHOUT := $(LATER) $(LATER_CLI)
test test-all:
	@./setup.sh test
	@models/fetch.sh
	@$(MAKE) --no-print-directory -j$$(nproc) all tests
	@$(MAKE) --no-print-directory check

tests: $(addprefix $(BUILD)/tests/,$(TESTS) gen_tiny gen_split gen_edits gen_schema cuttle_next steady.so) $(addprefix $(BUILD)/replay/,$(FUZZ)) $(BUILD)/loopback

check: all tests
	@CUTTLE=$(BUILD)/cuttle CUTTLE_EXAMPLE=$(BUILD)/example CUTTLE_MODEL=$(MODEL) CUTTLE_DATA=$(DATA) tests/run.sh $(addprefix $(BUILD)/tests/,$(TESTS)) $(addprefix $(BUILD)/replay/,$(FUZZ))

# What a sanitizer's day leaves out as well.
later-names:
	@echo $(LATER) $(LATER_CLI)
test-later: all tests
	@CUTTLE=$(BUILD)/cuttle CUTTLE_EXAMPLE=$(BUILD)/example CUTTLE_MODEL=$(MODEL) CUTTLE_DATA=$(DATA) CUTTLE_TEST_CLI=0 \
		tests/run.sh $(LATER:%=$(BUILD)/tests/%) $(LATER_CLI:%=tests/cli/%.sh)

# Every command line of README.md and docs/, on small inputs; their sentences and links. It is one of the tests of make test, too.
docs-check: $(BUILD)/cuttle $(BUILD)/tests/gen_tiny
	@CUTTLE=$(BUILD)/cuttle CUTTLE_MODEL=$(MODEL) tests/cli/docs.sh

NIGHTLY := test_dp_oracle test_dp_fusion test_dp_mixture test_sampling test_isolation test_canary test_learn_canary test_timing test_vocab test_splits
# Scripts that by day use a tiny model, or repeat less.
NIGHTLY_CLI := budget docs games infer kill ledger noninterference savings serve serve_jobs serve_trail tag trace units
# The night in parts, so that one which failed can run again alone: make night-packages.
NIGHT := check lint clang asan statistics oracles packages arm proofs documents
test-nightly:
	@failed=; for part in $(NIGHT); do \
		echo "== night-$$part, $$(date +%H:%M)"; $(MAKE) --no-print-directory night-$$part || failed="$$failed night-$$part"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }
night-check:
	@$(MAKE) --no-print-directory check
night-lint:
	@./setup.sh ci
	@$(MAKE) --no-print-directory lint
night-clang:
	@./setup.sh ci
	@CUTTLE_TEST_SHORT=1 CUTTLE_TEST_CLI=0 $(MAKE) --no-print-directory -j2 CC=clang BUILD=$(BUILD)-clang check
night-asan:
	@CUTTLE_TEST_SHORT=1 $(MAKE) --no-print-directory asan
night-statistics: $(addprefix $(BUILD)/tests/,$(NIGHTLY) gen_tiny gen_split cuttle_next) $(BUILD)/cuttle $(BUILD)/loopback
	@CUTTLE=$(BUILD)/cuttle CUTTLE_MODEL=$(MODEL) CUTTLE_DATA=$(DATA) CUTTLE_TEST_NIGHTLY=1 CUTTLE_TEST_CLI=0 CUTTLE_TEST_JOBS=1 \
		tests/run.sh $(filter $(BUILD)/tests/test_%,$^) $(NIGHTLY_CLI:%=tests/cli/%.sh)
night-oracles: $(addprefix $(BUILD)/tests/,gen_split gen_edits gen_schema) $(BUILD)/cuttle
	@echo "== tests/oracle/accountant.py"
	@tests/oracle/accountant.py | diff - tests/golden/accountant.txt
	@echo "== tests/oracle/fusion.py"
	@tests/oracle/fusion.py | diff - tests/golden/fusion.txt
	@echo "== tests/oracle/split.py"
	@tests/oracle/split.py | diff - tests/golden/split.txt
	@echo "== tests/oracle/clusters.py"
	@tests/oracle/clusters.py 3 tools/samples/notes.jsonl | diff - tests/golden/clusters.txt
	@echo "== tests/oracle/next_token.py"
	@tests/oracle/next_token.py | diff - tests/golden/next_token.txt
	@echo "== tests/oracle/schema.py"
	@tests/oracle/schema.py $(BUILD)/tests/gen_schema 100000
night-packages: $(BUILD)/cuttle
	@echo "== tests/appliance.sh"
	@CUTTLE_MODEL=$(MODEL) tests/appliance.sh
	@echo "== tests/packages.sh, built twice; tests/arm_packages.sh"
	@./setup.sh deb
	@CUTTLE_TEST_NIGHTLY=1 tests/packages.sh
	@CUTTLE=$(BUILD)/cuttle tests/arm_packages.sh
	@echo "== tests/wheel.sh, with that for arm64"
	@CUTTLE_TEST_NIGHTLY=1 tests/wheel.sh
	@echo "== tests/image.sh, with that for arm64"
	@CUTTLE_TEST_NIGHTLY=1 tests/image.sh
	@echo "== tests/launchers.sh"
	@./setup.sh cluster
	@tests/launchers.sh
night-arm: $(BUILD)/cuttle
	@echo "== tests/arm.sh; the library alone for aarch64"
	@CUTTLE=$(BUILD)/cuttle CUTTLE_MODEL=$(MODEL) CUTTLE_TEST_NIGHTLY=1 tests/arm.sh
	@$(MAKE) --no-print-directory core CC=aarch64-linux-gnu-gcc BUILD=$(BUILD)-arm
night-proofs:
	@echo "== proofs/check.sh again"
	@if command -v coqchk >/dev/null; then BUILD=$(BUILD) proofs/check.sh && BUILD=$(BUILD) proofs/check.sh again; \
		else echo "SKIPPED: coq is not installed, make proofs installs it"; fi
	@echo "== proofs/protocol/check.sh all"
	@./setup.sh protocol
	@proofs/protocol/check.sh all
	@echo "== proofs/prove.sh"
	@proofs/prove.sh
night-documents: $(BUILD)/fusion $(BUILD)/recovery
	@echo "== bench/fusion.c and bench/recovery.c: what is left of a document, and 300 games for its secrets"
	@if [ -e $(DATA)/mtsamples_pii.jsonl ]; then \
		$(BUILD)/fusion $(MODEL) $(DATA)/mtsamples_pii.jsonl 20 1000 _ && $(BUILD)/recovery $(MODEL) $(DATA)/mtsamples_pii.jsonl 100 400 40; \
		else echo "SKIPPED: $(DATA)/mtsamples_pii.jsonl is not there"; fi

# All that a change must pass; half an hour. FROM=stage goes on where it was cut.
gate:
	@.ci/run

# Another compiler's arithmetic: what computes, and its tests. The night has all programs.
CLANG := $(filter-out $(LATER),$(filter test_%,$(notdir $(basename $(wildcard tests/kernels/*.c tests/dp/*.c tests/engine/*.c)))))
clang:
	@CUTTLE_TEST_SHORT=1 $(MAKE) --no-print-directory CC=clang BUILD=$(BUILD)-clang clang-run
clang-run: all $(addprefix $(BUILD)/tests/,$(CLANG))
	@CUTTLE=$(BUILD)/cuttle CUTTLE_MODEL=$(MODEL) CUTTLE_DATA=$(DATA) CUTTLE_TEST_CLI=0 tests/run.sh $(CLANG:%=$(BUILD)/tests/%)

core:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-core BLAS=0 $(BUILD)-core/libcuttle.a $(BUILD)-core/example

asan:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-asan CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all' check

# Threads that share a model. Kernels and their tables are left to the tests of kernels: their loops would take minutes here.
TSAN := test_shared test_threads $(if $(filter 1,$(HTTP)),test_serve_http test_serve_jobs test_serve_upload)
tsan: $(BUILD)/cuttle
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-tsan BLAS=0 CFLAGS='-O1 -g -fsanitize=thread' CUTTLE=$(abspath $<) tsan-run
tsan-run: $(addprefix $(BUILD)/tests/,$(TSAN))
	@CUTTLE=$(CUTTLE) CUTTLE_TEST_CLI=0 CUTTLE_TEST_JOBS=1 TSAN_OPTIONS=halt_on_error=1 tests/run.sh $^

fuzz:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-fuzz CC=clang CFLAGS='-O2 -g -fsanitize=address,undefined -fno-sanitize-recover=all' \
		COVERED=-fsanitize=fuzzer-no-link GEMMS=-fno-sanitize=all fuzz-run
fuzz-run: $(foreach target,$(FUZZ),$(BUILD)/replay/$(target) $(BUILD)/fuzz/$(target))
	@tests/fuzz/run.sh $(BUILD) $(T) $(RUNS) $(SEED) $(FUZZ)

# Only dp/ and its tests are built to be counted. The other objects are those of the usual build. With
# -pthread gcc counts by atomic instructions, which takes eight times as long; these tests have one thread.
coverage: $(call object,$(filter-out dp/%,$(CORE)) $(IO))
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-coverage CC=gcc CFLAGS='-O1 -g --coverage -fprofile-update=single' \
		CORE='$(filter dp/%,$(CORE))' IO= OTHERS='$^' coverage-run
coverage-run: $(addprefix $(BUILD)/tests/,$(filter test_dp_%,$(TESTS)))
	@CUTTLE_TEST_SHORT=1 tests/coverage.sh $(BUILD) $^

mutants:
	@CUTTLE_MODEL=$(MODEL) tests/mutants/run.sh $(MUTANTS)

proofs:
	@./setup.sh proofs
	@BUILD=$(BUILD) proofs/check.sh

protocol:
	@./setup.sh protocol
	@proofs/protocol/check.sh all

prove:
	@./setup.sh prove || echo 'prove: SKIPPED what needs these packages'
	@proofs/prove.sh

format:
	clang-format -i $(SOURCES)

lint: $(BUILD)/cuttle
	@BUILD=$(BUILD) tests/lint.sh

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := $(shell sed -n 's/^.define CUTTLE_VERSION "\(.*\)"/\1/p' engine/cuttle/status.h)
# Manual pages and completions come from the tables of options, so a command of this machine prints them. A cross build names one.
HELPER ?= $(BUILD)/cuttle
MAN := $(DESTDIR)$(PREFIX)/share/man/man1
COMPLETIONS := bash:bash-completion/completions/cuttle zsh:zsh/vendor-completions/_cuttle fish:fish/vendor_completions.d/cuttle.fish
install: install-command install-library install-headers
install-command: $(BUILD)/cuttle $(HELPER)
	install -Dm755 $(BUILD)/cuttle $(DESTDIR)$(PREFIX)/bin/cuttle
	@mkdir -p $(MAN) $(foreach shell,$(COMPLETIONS),$(DESTDIR)$(PREFIX)/share/$(dir $(lastword $(subst :, ,$(shell)))))
	$(HELPER) help --mdoc >$(MAN)/cuttle.1
	set -e; for verb in $$($(HELPER) help --verbs); do $(HELPER) help --mdoc $$verb >$(MAN)/cuttle-$$verb.1; done
	set -e; for shell in $(COMPLETIONS); do $(HELPER) help --completion $${shell%%:*} >$(DESTDIR)$(PREFIX)/share/$${shell#*:}; done
install-library: $(BUILD)/libcuttle.a $(BUILD)/$(SO)
	install -Dm644 $(BUILD)/libcuttle.a $(DESTDIR)$(LIBDIR)/libcuttle.a
	install -Dm644 $(BUILD)/$(SO) $(DESTDIR)$(LIBDIR)/$(SO)
	ln -sf $(SO) $(DESTDIR)$(LIBDIR)/libcuttle.so
	@mkdir -p $(DESTDIR)$(LIBDIR)/pkgconfig
	sed -e 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(VERSION),; s,@PRIVATE@,$(CORE_LIBS),' packaging/cuttle.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/cuttle.pc
# cuttle.h and, beside it, the folder cuttle that it includes.
install-headers:
	install -Dm644 engine/cuttle.h $(DESTDIR)$(PREFIX)/include/cuttle.h
	install -Dm644 -t $(DESTDIR)$(PREFIX)/include/cuttle engine/cuttle/*.h
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/cuttle $(MAN)/cuttle.1 $(MAN)/cuttle-*.1 $(DESTDIR)$(LIBDIR)/libcuttle.a $(DESTDIR)$(LIBDIR)/$(SO) \
		$(DESTDIR)$(LIBDIR)/libcuttle.so $(DESTDIR)$(LIBDIR)/pkgconfig/cuttle.pc $(DESTDIR)$(PREFIX)/include/cuttle.h \
		$(foreach shell,$(COMPLETIONS),$(DESTDIR)$(PREFIX)/share/$(lastword $(subst :, ,$(shell))))
	rm -rf $(DESTDIR)$(PREFIX)/include/cuttle

# One file that needs nothing of the system: for appliances. It has no OpenBLAS, no libcurl, no libmicrohttpd and no libcrypto, so cuttle infer sends nothing and cuttle serve does not begin.
static:
	@./setup.sh build
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-static BLAS=0 CURL=0 HTTP=0 CRYPTO=0 LDFLAGS='$(LDFLAGS) -static -Wl,-Map=$(BUILD)-static/cuttle.map' \
		$(BUILD)-static/cuttle

# Python wheels, in dist: the static command and a thin module (python/). A static program brings its own C library, so the tag's number
# says nothing of it. What it needs is Linux 3.17 or newer.
wheel: static
	set -e; wheel=$$(python3 python/make_wheel.py --command $(BUILD)-static/cuttle --helper $(BUILD)-static/cuttle \
		--platform manylinux_2_17_$(ARCH) dist); \
		packaging/sbom.py wheel $$wheel $(BUILD)-static/cuttle.map >$${wheel%.whl}.spdx.json; echo $$wheel
# For arm64, built on another machine: with the cross compiler and Debian's arm64 libraries.
ARM64 := $(abspath $(BUILD)-arm/debian)
wheel-arm64: $(BUILD)/cuttle
	@./setup.sh arm
	@tests/arm_libraries.sh $(ARM64)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-arm-static CC=aarch64-linux-gnu-gcc BLAS=0 CURL=0 HTTP=0 CRYPTO=0 \
		CPPFLAGS='-I$(ARM64)/root/usr/include -I$(ARM64)/root/usr/include/aarch64-linux-gnu' \
		LDFLAGS='-static -Wl,-Map=$(BUILD)-arm-static/cuttle.map -L$(ARM64)/root/usr/lib/aarch64-linux-gnu' $(BUILD)-arm-static/cuttle
	set -e; wheel=$$(python3 python/make_wheel.py --command $(BUILD)-arm-static/cuttle --helper $(BUILD)/cuttle \
		--platform manylinux_2_17_aarch64 --strip aarch64-linux-gnu-strip dist); \
		packaging/sbom.py wheel $$wheel $(BUILD)-arm-static/cuttle.map $(ARM64)/packages >$${wheel%.whl}.spdx.json; echo $$wheel

# The library and its example with musl instead of glibc, for systems that have the one and not the other. Debian's musl has no headers of
# Linux: they are looked for last, and alone, since those of glibc lie beside them.
musl:
	@./setup.sh musl
	@mkdir -p $(BUILD)-musl/linux-headers
	@ln -sfn /usr/include/linux /usr/include/asm-generic /usr/include/$$(musl-gcc -dumpmachine)/asm $(BUILD)-musl/linux-headers
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-musl BLAS=0 CC=musl-gcc CPPFLAGS='-idirafter $(BUILD)-musl/linux-headers' LDFLAGS='$(LDFLAGS) -static' \
		$(BUILD)-musl/libcuttle.a $(BUILD)-musl/example

# Debian packages, in the folder above: cuttle, libcuttle0, libcuttle-dev, cuttle-server. For arm64, tests/arm_packages.sh.
deb:
	@./setup.sh deb
	dpkg-buildpackage -b -uc -us
	packaging/sbom.py debs ../*cuttle*_$(VERSION)-*_$$(dpkg --print-architecture).deb >../cuttle_$(VERSION)_$$(dpkg --print-architecture).spdx.json

# A container image of the files of these packages and of Debian's, an OCI layout, and beside it the list of what is inside.
OCI ?= amd64 arm64
oci: $(BUILD)/cuttle
	@./setup.sh oci
	@mkdir -p dist
	set -e; for arch in $(OCI); do \
		CUTTLE=$(BUILD)/cuttle packaging/debs.sh $$arch $(BUILD)-oci/$$arch/debs; \
		packaging/image_packages.sh $$arch $(abspath $(BUILD)-oci)/$$arch/packages; done
	packaging/make_image.py dist/oci $(foreach arch,$(OCI),$(arch)=$(BUILD)-oci/$(arch))
	set -e; for arch in $(OCI); do packaging/sbom.py image dist/oci $$arch >dist/oci-$$arch.spdx.json; done

clean:
	rm -rf build build-*/ dist

.PHONY: all help demo demo-evaluate demo-style demo-sanitize demo-infer test test-later later-names test-all test-nightly $(NIGHT:%=night-%) tests check docs-check gate clang clang-run core asan tsan tsan-run fuzz fuzz-run coverage coverage-run mutants proofs protocol prove format lint install install-command install-library install-headers uninstall static wheel wheel-arm64 musl deb oci clean FORCE
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)
