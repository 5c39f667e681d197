// SPDX-License-Identifier: Apache-2.0
// Fuzzes io/tables/safetensors.c: the input is the header of a safetensors file. Its first two
// bytes are the size of the data that the header describes; the rest is the header. It fails on a
// crash, or if an accepted tensor lies outside that data.
#include "base/misuse.h"
#include "io/tables/safetensors.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t ELEMENT[] = {
    [SAFETENSORS_F32] = 4, [SAFETENSORS_F16] = 2, [SAFETENSORS_BF16] = 2};

/* Names ascend, and every tensor is as large as its shape and inside the data, which has room for
 * all of them and for nothing else. */
static void check(const struct safetensors_table *table, uint64_t data) {
	uint64_t sum = 0;
	for (size_t i = 0; i < table->count; i++) {
		const struct safetensors_tensor *tensor = &table->tensors[i];
		REQUIRE(!i || strcmp(tensor[-1].name, tensor->name) < 0);
		REQUIRE(tensor->type <= SAFETENSORS_BF16 && tensor->dimensions <= 4 &&
		        !tensor->file);
		uint64_t bytes = ELEMENT[tensor->type];
		for (size_t k = 0; k < 4; k++) {
			REQUIRE(tensor->shape[k] &&
			        (k < tensor->dimensions || tensor->shape[k] == 1));
			bytes *= tensor->shape[k];
		}
		REQUIRE(tensor->begin <= tensor->end && tensor->end <= data &&
		        tensor->end - tensor->begin == bytes);
		sum += bytes;
	}
	REQUIRE(sum == data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct safetensors_table table;
	struct cuttle_error error = {""};
	if (size < 2) return 0;
	const uint64_t data = bytes[0] | (uint64_t)bytes[1] << 8;
	const enum cuttle_status status =
	    safetensors_parse((const char *)bytes + 2, size - 2, data, &table, &error);
	if (status)
		REQUIRE(status == CUTTLE_MODEL && !table.tensors && !table.count &&
		        error.message[0] && !strchr(error.message, '\n'));
	else check(&table, data);
	safetensors_table_free(&table);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL("\x14\x00{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"BF16\","
	                 "\"shape\":[2,3],\"data_offsets\":[8,20]},"
	                 "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}   "),
	    FUZZ_LITERAL(
	        "\x12\x00{\"x\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[16,18]},"
	        "\"\\u00e9\":{\"data_offsets\":[0,16],\"shape\":[1,2,2,1],\"dtype\":\"F32\"}}"),
	    FUZZ_LITERAL("\x00\x00{}"),
	    FUZZ_LITERAL("\x08\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,2],"
	                 "\"data_offsets\":[9223372036854775807,-1e999]}}"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
