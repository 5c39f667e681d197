// SPDX-License-Identifier: Apache-2.0
// gemm with AMX int8: the block of 16 channels x 32 k of gemm.h is a B tile as it lies in memory (unsigned), up to 16 rows of activations
// are an A tile (signed), and a C tile holds the exact sums of one block. What follows it is the arithmetic of gemm.h in AVX-512.
//   TDPBSUD (Intel SDM): C[row][channel] += sum over k of (signed) A[row][k] * (unsigned) B[k / 4][4 channel + k % 4], in int32.
#include "base/misuse.h"
#include "kernels/gemm.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
// The tile instructions do not tell gcc 12 what they read (ldtilecfg: 8 bytes of the 64; tileloadd: nothing): this writes it out first.
#define WRITTEN(address) __asm__ volatile("" : : "r"(address) : "memory")

enum {
	ROWS_LEAST = 8, /* below, AVX-512 has the same bits sooner */
	TILE_ROWS = 16,
	PASS_ROWS = 64, /* rows that share an unpacked block; their sums stay in L1 */
	WIDTH = 2,
	TILE_BYTES = 512,
	TILE_SUMS = TILE_ROWS * GEMM_GROUP,
	PREFETCH_BYTES = 1024
};

/* The operand of LDTILECFG, palette 1. */
struct tile_configuration {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_configuration) == 64, "as LDTILECFG reads it");

/* Tiles 0-3: C of [row tile][group]; 4, 5: A of the row tiles; 6, 7: B of the groups. The instructions take literal numbers alone. */
static void configure(size_t height) {
	struct tile_configuration configuration = {.palette = 1};
	for (size_t tile = 0; tile < 8; tile++) {
		configuration.rows[tile] = (uint8_t)(tile < 6 ? height : GEMM_BLOCK / 4);
		configuration.row_bytes[tile] = tile == 4 || tile == 5 ? GEMM_BLOCK : 4 * GEMM_GROUP;
	}
	WRITTEN(&configuration);
	_tile_loadconfig(&configuration);
}

INLINE __m512 load_f16(const uint16_t *half) {
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)half));
}

INLINE void unpack(uint8_t *to, const uint8_t *packed) {
	const __m512i nibble = _mm512_set1_epi8(15);
	for (size_t i = 0; i < 4; i++) {
		const __m512i both = _mm512_loadu_si512(packed + 64 * i);
		_mm512_store_si512(to + 64 * i, _mm512_and_si512(both, nibble));
		_mm512_store_si512(to + TILE_BYTES / 2 + 64 * i, _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble));
	}
}

/* isum[row tile][group] of one block for one or two row tiles and the groups of B. */
INLINE void block_sums(bool two, size_t width, const int8_t *upper, const int8_t *lower, size_t k, int32_t isum[2][WIDTH][TILE_SUMS]) {
	_tile_zero(0);
	_tile_loadd(4, upper, k);
	_tile_dpbsud(0, 4, 6);
	if (width == WIDTH) {
		_tile_zero(1);
		_tile_dpbsud(1, 4, 7);
	}
	if (two) {
		_tile_zero(2);
		_tile_loadd(5, lower, k);
		_tile_dpbsud(2, 5, 6);
		if (width == WIDTH) {
			_tile_zero(3);
			_tile_dpbsud(3, 5, 7);
		}
	}
	_tile_stored(0, isum[0][0], 64);
	if (width == WIDTH) _tile_stored(1, isum[0][1], 64);
	if (two) _tile_stored(2, isum[1][0], 64);
	if (two && width == WIDTH) _tile_stored(3, isum[1][1], 64);
}

/* One row's block of one group: its exact sums, corrected for weights stored unsigned, into its running sums. */
INLINE void add_block(enum packed_type type, float *acc, const int32_t *isum, __m512 weight_scale, __m512 minimum,
                      const struct gemm_rows *rows, size_t at) {
	const int32_t offset = type == PACKED_Q8_0 ? 128 : type == PACKED_Q4_0 ? 8 : 0;
	const __m512i exact = _mm512_sub_epi32(_mm512_load_si512(isum), _mm512_set1_epi32(offset ? offset * rows->sum[at] : 0));
	const __m512 both = _mm512_mul_ps(weight_scale, _mm512_set1_ps(rows->scale[at]));
	__m512 value = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(exact), _mm512_load_ps(acc));
	if (type == PACKED_Q4_1) value = _mm512_fmadd_ps(minimum, _mm512_set1_ps(rows->scaled_sum[at]), value);
	_mm512_store_ps(acc, value);
}

/* Up to PASS_ROWS rows from row `first` on, `width` groups of channels. `type` and `width` are constants after inlining. A row tile that
 * would reach beyond the last row starts sooner and its rows that were done already are left alone: no tile ever holds padding. */
INLINE void pass(enum packed_type type, size_t width, size_t height, float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                 size_t first, const struct packed_matrix *w, const size_t *group) {
	const size_t blocks = w->k / GEMM_BLOCK, packed_bytes = type == PACKED_Q8_0 ? TILE_BYTES : TILE_BYTES / 2;
	const size_t end = rows->rows - first < PASS_ROWS ? rows->rows : first + PASS_ROWS, start_most = rows->rows - height;
	_Alignas(64) float acc[PASS_ROWS][WIDTH][GEMM_GROUP];
	_Alignas(64) int32_t isum[2][WIDTH][TILE_SUMS];
	_Alignas(64) uint8_t unpacked[WIDTH][TILE_BYTES];
	for (size_t r = first; r < end; r++)
		for (size_t g = 0; g < width; g++) _mm512_store_ps(acc[r - first][g], _mm512_setzero_ps());
	for (size_t b = 0; b < blocks; b++) {
		const uint8_t *tile[WIDTH];
		__m512 weight_scale[WIDTH], minimum[WIDTH];
		for (size_t g = 0; g < width; g++) {
			tile[g] = (const uint8_t *)w->weights + (group[g] * blocks + b) * packed_bytes;
			for (size_t i = 0; i < packed_bytes; i += 64) _mm_prefetch((const char *)tile[g] + PREFETCH_BYTES + i, _MM_HINT_T0);
			const size_t at = (group[g] * blocks + b) * GEMM_GROUP;
			weight_scale[g] = load_f16(w->scales + at);
			minimum[g] = type == PACKED_Q4_1 ? load_f16(w->minima + at) : _mm512_setzero_ps();
			if (type == PACKED_Q8_0) continue;
			unpack(unpacked[g], tile[g]);
			tile[g] = unpacked[g];
		}
		WRITTEN(unpacked);
		_tile_loadd(6, tile[0], 64);
		if (width == WIDTH) _tile_loadd(7, tile[WIDTH - 1], 64);
		for (size_t upper = first; upper < end; upper += 2 * TILE_ROWS) {
			const size_t from[2] = {upper, upper + TILE_ROWS};
			const bool two = from[1] < end;
			size_t start[2];
			for (size_t t = 0; t < 2; t++) start[t] = from[t] < start_most ? from[t] : start_most;
			const int8_t *q = rows->q + b * GEMM_BLOCK;
			if (two) block_sums(true, width, q + start[0] * w->k, q + start[1] * w->k, w->k, isum);
			else block_sums(false, width, q + start[0] * w->k, NULL, w->k, isum);
			for (size_t t = 0; t < 1 + (size_t)two; t++)
				for (size_t r = from[t]; r < start[t] + height; r++)
					for (size_t g = 0; g < width; g++)
						add_block(type, acc[r - first][g], &isum[t][g][(r - start[t]) * GEMM_GROUP],
						          weight_scale[g], minimum[g], rows, r * blocks + b);
		}
	}
	for (size_t r = first; r < end; r++)
		for (size_t g = 0; g < width; g++) {
			float *to = out + r * out_stride + g * GEMM_GROUP;
			const __m512 value = _mm512_load_ps(acc[r - first][g]);
			_mm512_storeu_ps(to, add ? _mm512_add_ps(_mm512_loadu_ps(to), value) : value);
		}
}

/* Tiles belong to the thread and are dear to save at a switch: they are taken and given back within one call. */
INLINE void in_tiles(enum packed_type type, float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                     const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end) {
	const size_t height = rows->rows < TILE_ROWS ? rows->rows : TILE_ROWS;
	configure(height);
	for (size_t place = begin; place < end;) {
		const size_t width = end - place < WIDTH ? 1 : WIDTH;
		size_t group[WIDTH];
		for (size_t g = 0; g < width; g++) group[g] = groups ? groups[place + g] : place + g;
		for (size_t first = 0; first < rows->rows; first += PASS_ROWS) {
			float *to = out + place * GEMM_GROUP;
			if (width == WIDTH) pass(type, WIDTH, height, to, out_stride, add, rows, first, w, group);
			else pass(type, 1, height, to, out_stride, add, rows, first, w, group);
		}
		place += width;
	}
	_tile_release();
}

void gemm_q8_amx(float *out, size_t out_stride, bool add, const struct gemm_rows *rows, const struct packed_matrix *w,
                 const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE(w->type == PACKED_Q8_0 && w->k == rows->k);
	if (rows->rows < ROWS_LEAST) gemm_q8_avx512(out, out_stride, add, rows, w, groups, begin, end);
	else in_tiles(PACKED_Q8_0, out, out_stride, add, rows, w, groups, begin, end);
}

void gemm_q4_amx(float *out, size_t out_stride, bool add, const struct gemm_rows *rows, const struct packed_matrix *w,
                 const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE((w->type == PACKED_Q4_0 || w->type == PACKED_Q4_1) && w->k == rows->k);
	if (rows->rows < ROWS_LEAST) gemm_q4_avx512(out, out_stride, add, rows, w, groups, begin, end);
	else if (w->type == PACKED_Q4_1) in_tiles(PACKED_Q4_1, out, out_stride, add, rows, w, groups, begin, end);
	else in_tiles(PACKED_Q4_0, out, out_stride, add, rows, w, groups, begin, end);
}
