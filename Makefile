# cuttle. `make help` lists the targets.
MAKEFLAGS += -r
BUILD ?= build
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
CFLAGS ?= -O3 -g
BLAS ?= $(if $(wildcard /usr/include/*/cblas.h /usr/include/cblas.h),1,0)
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))

# Neither changes a value: no errno from sqrtf, no claim to see floating-point exceptions.
ARITHMETIC := -fno-fast-math -ffp-contract=off -fno-math-errno -fno-trapping-math
WARNINGS := -Wall -Wextra -Werror -Wvla -Wmissing-prototypes -Wstrict-prototypes -Wundef -Wshadow -Wno-psabi
override CPPFLAGS += -I. -D_GNU_SOURCE
override CFLAGS += -std=c11 $(ARITHMETIC) $(WARNINGS) -fno-omit-frame-pointer -fvisibility=hidden -pthread -MMD -MP
CORE_LIBS := -lm -pthread
IO_LIBS := -ljansson -lcsv -lsodium
ifeq ($(BLAS),1)
override CPPFLAGS += -DCUTTLE_BLAS
CORE_LIBS += -lopenblas
endif

CORE := $(wildcard base/*.c engine/*.c dp/*.c) $(wildcard kernels/*.c)
ifneq ($(ARCH),x86_64)
CORE := $(filter-out %_avx2.c %_avx512.c,$(CORE))
endif
ifneq ($(BLAS),1)
CORE := $(filter-out %_blas.c,$(CORE))
endif
IO := $(wildcard io/*.c)
TOOLS := $(wildcard tools/*.c)
TESTS := $(patsubst tests/%.c,%,$(wildcard tests/test_*.c))
object = $(patsubst %.c,$(BUILD)/%.o,$(1))

all: $(BUILD)/cuttle $(BUILD)/example

# Instruction-set flags live here and nowhere else.
$(BUILD)/kernels/%_avx2.o: TIER := -mavx2 -mfma -mf16c
$(BUILD)/kernels/%_avx512.o: TIER := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx2 -mfma -mf16c -mprefer-vector-width=512

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TIER) -c $< -o $@

$(BUILD)/libcuttle.a: $(call object,$(CORE))
	@rm -f $@
	$(AR) rcs $@ $^
$(BUILD)/libcuttle-io.a: $(call object,$(IO))
	@rm -f $@
	$(AR) rcs $@ $^
$(BUILD)/cuttle: $(call object,$(TOOLS)) $(BUILD)/libcuttle-io.a $(BUILD)/libcuttle.a
	$(CC) $(CFLAGS) $(LDFLAGS) $^ $(IO_LIBS) $(CORE_LIBS) -o $@
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(BUILD)/libcuttle-io.a $(BUILD)/libcuttle.a
	$(CC) $(CFLAGS) $(LDFLAGS) $^ -lcmocka $(IO_LIBS) $(CORE_LIBS) -o $@
$(BUILD)/example: $(BUILD)/examples/generate.o $(BUILD)/libcuttle.a
	$(CC) $(CFLAGS) $(LDFLAGS) $^ $(CORE_LIBS) -o $@

clean:
	rm -rf build

.PHONY: all clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
