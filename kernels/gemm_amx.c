// SPDX-License-Identifier: Apache-2.0
// gemm with AMX int8, for every block type.
// A run is up to 32 blocks of one group. Its weights are unpacked once for all rows of a pass, to
// signed bytes in the order of a B tile. Its scales and minima are unpacked to fp32.
// An A tile is 16 rows of activations. A C tile holds the exact sums of one part of k, for 16 rows
// x 16 channels. The rest is the arithmetic of gemm.h in AVX-512, with the running sums in
// registers.
//   TDPBSSD (Intel SDM): C[row][channel] += sum over k of A[row][k] * B[k / 4][4 channel + k % 4],
//   signed, in int32.
// Example, one group, k = 4096, 600 rows: the first pass is 512 rows, the second 88. Each takes 4
// runs of 32 blocks. For each run the second pass computes 5 tiles of rows, and one for the last 8.
#include "base/misuse.h"
#include "kernels/gemm.h"
#include "kernels/part_scale.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
// The tile instructions do not tell gcc 12 all that they read and write: ldtilecfg names 8 of its
// 64 bytes, tileloadd none. This makes gcc write everything to memory before.
#define WRITTEN(address) __asm__ volatile("" : : "r"(address) : "memory")

enum {
	TILE_ROWS = 16,  /* with fewer rows AVX-512 is as fast and gives the same bits */
	PASS_ROWS = 512, /* rows that share an unpacked run; their sums, 32 KiB, stay in L2 */
	RUN = 32,        /* blocks; their weights, 16 KiB, stay in L1 */
	HALVES = 2,      /* of a block */
	BLOCK_BYTES = GEMM_BLOCK * GEMM_GROUP, /* of a block of a group, unpacked */
	PREFETCH_BYTES = 4096                  /* from the weights in use to those fetched ahead */
};

/* The operand of LDTILECFG, palette 1. */
struct tile_configuration {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_configuration) == 64, "as LDTILECFG reads it");

/* Tiles 0 and 1 are C, 2 and 3 are A, 4 and 5 are B. Even parts use 0, 2 and 4; odd parts the rest.
 */
static void configure_tiles(size_t span) {
	struct tile_configuration configuration = {.palette = 1};
	for (size_t tile = 0; tile < 6; tile++) {
		configuration.rows[tile] = (uint8_t)(tile < 4 ? TILE_ROWS : span / 4);
		configuration.row_bytes[tile] = (uint16_t)(tile / 2 == 1 ? span : 4 * GEMM_GROUP);
	}
	WRITTEN(&configuration);
	_tile_loadconfig(&configuration);
}

/* A run of one group, unpacked. Scales and minima are per part: 32 or 64 parts. */
struct unpacked_run {
	_Alignas(64) int8_t weights[RUN][BLOCK_BYTES];
	_Alignas(64) float scale[RUN * HALVES][GEMM_GROUP];
	_Alignas(64) float minimum[RUN * HALVES][GEMM_GROUP];
};

/* The matrix with which GF2P8AFFINEQB moves bit `from + j` of each byte to bit `to + j`, for
 * j < count. All other bits become 0; but with `sign` the bits above repeat the last one moved.
 * Example: from = 4, to = 0, count = 4, sign: the high nibble as a signed number, 0xf0 to 0xff. */
INLINE __m512i make_field_matrix(unsigned from, unsigned to, unsigned count, bool sign) {
	uint64_t matrix = 0;
#pragma GCC unroll 8
	for (unsigned bit = 0; bit < 8; bit++) {
		const bool above = sign && bit >= to + count;
		if (bit >= to && (bit < to + count || above))
			matrix |= (uint64_t)1
			          << (8 * (7 - bit) + (above ? from + count - 1 : from + bit - to));
	}
	return _mm512_set1_epi64((int64_t)matrix);
}

INLINE __m512i move_plane_bits(const uint8_t *plane, __m512i matrix) {
	return _mm512_gf2p8affine_epi64_epi8(_mm512_loadu_si512(plane), matrix, 0);
}

/* The weights of vector i of half `half` of a block, [16 channels][4 k].
 * A type's offset, if any, is half of its codes' range: 8 for 4 bits. So code - offset needs no
 * subtraction. First the top bit of the code is copied to all bits above it. The last plane holds
 * the top bit and is moved with `sign` for that. Then the top bit and its copies are turned.
 * Example, offset 8: code 0011 becomes 00000011, then 11111011, which is 3 - 8 = -5. Code 1010
 * becomes 11111010, then 00000010, which is 10 - 8 = 2. */
INLINE __m512i unpack_weights(enum packed_type type, const uint8_t *packed, unsigned half,
                              unsigned i) {
	if (type == PACKED_Q8_0)
		return _mm512_xor_si512(_mm512_loadu_si512(packed + 64 * (4 * half + i)),
		                        _mm512_set1_epi8((char)0x80));
	const size_t bits = packed_bits(type);
	const int offset = packed_offset(type);
	__m512i code = _mm512_setzero_si512();
	unsigned up = 0;
	if (bits & 4) {
		code = move_plane_bits(packed + 64 * i,
		                       make_field_matrix(4 * half, 0, 4, offset && bits == 4));
		packed += 256, up = 4;
	}
	if (bits & 2) {
		code = _mm512_or_si512(
		    code, move_plane_bits(packed + 64 * half,
		                          make_field_matrix(2 * i, up, 2, offset && !(bits & 1))));
		packed += 128, up += 2;
	}
	if (bits & 1)
		code = _mm512_or_si512(
		    code, move_plane_bits(packed, make_field_matrix(4 * half + i, up, 1, offset)));
	if (packed_has_table(type))
		return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_setr_epi8(GEMM_IQ4_TABLE)),
		                           code);
	return offset ? _mm512_xor_si512(code, _mm512_set1_epi8((char)-offset)) : code;
}

/* Unpacks blocks [begin, end) of a group. */
INLINE void unpack_blocks(enum packed_type type, struct unpacked_run *run,
                          const struct packed_matrix *w, size_t group, size_t begin, size_t end) {
	const size_t blocks = w->k / GEMM_BLOCK, bytes = packed_bits(type) * 64,
	             parts = GEMM_BLOCK / packed_span(type);
	const uint8_t *packed = (const uint8_t *)w->weights + (group * blocks + begin) * bytes;
	const size_t first_scale = group * group_scale_halves(type, w->k);
	for (size_t b = begin; b < end; b++, packed += bytes) {
		for (size_t i = 0; i < bytes; i += 64)
			_mm_prefetch((const char *)packed + PREFETCH_BYTES + i, _MM_HINT_T0);
		int8_t *to = run->weights[b - begin];
#pragma GCC unroll 2
		for (unsigned half = 0; half < HALVES; half++)
#pragma GCC unroll 4
			for (unsigned i = 0; i < 4; i++, to += 64)
				_mm512_store_si512(to, unpack_weights(type, packed, half, i));
		for (size_t part = b * parts; part < (b + 1) * parts; part++) {
			_mm512_store_ps(run->scale[part - begin * parts],
			                (__m512)part_scale(type, w->scales + first_scale, part, 0));
			if (packed_has_minimum(type))
				_mm512_store_ps(
				    run->minimum[part - begin * parts],
				    (__m512)part_scale(type, w->minima + first_scale, part, 0));
		}
	}
}

/* The exact sums of one part for a tile of rows. There are two branches because the instructions
 * take the numbers of tiles only as literals. */
INLINE void multiply_part(bool odd, int32_t isum[TILE_ROWS][GEMM_GROUP], const int8_t *a, size_t k,
                          const int8_t *weights) {
	if (odd) {
		_tile_zero(1);
		_tile_loadd(3, a, k);
		_tile_loadd(5, weights, 64);
		_tile_dpbssd(1, 3, 5);
		_tile_stored(1, isum, 64);
	} else {
		_tile_zero(0);
		_tile_loadd(2, a, k);
		_tile_loadd(4, weights, 64);
		_tile_dpbssd(0, 2, 4);
		_tile_stored(0, isum, 64);
	}
}

/* Where the running sums of a run come from and go to. */
struct running_sums {
	const float *from; /* those of the run before, [row][16]; NULL: none, they begin at 0 */
	float *to;         /* 16 floats for each row */
	size_t to_stride;  /* from one row to the next, floats */
	bool add;          /* add them to what is there */
};

INLINE void store_row_sum(float *to, bool add, __m512 sum) {
	_mm512_storeu_ps(to, add ? _mm512_add_ps(_mm512_loadu_ps(to), sum) : sum);
}

/* Computes a tile of rows, from row `first` on, by a run: `count` blocks of k from block `begin`
 * on. span and has_minimum are constants after inlining. The tile instructions are one part ahead:
 * while AVX-512 takes the sums of one part, AMX computes those of the next. */
INLINE void compute_tile(size_t span, bool has_minimum, struct running_sums sums,
                         const struct gemm_rows *rows, size_t first, const struct unpacked_run *run,
                         size_t begin, size_t count) {
	_Alignas(64) int32_t isum[2][TILE_ROWS][GEMM_GROUP];
	const size_t k = rows->k, blocks = k / GEMM_BLOCK, parts = count * (GEMM_BLOCK / span);
	const int8_t *a = rows->q + first * k + begin * GEMM_BLOCK, *weights = run->weights[0];
	const float *scale = rows->scale + first * blocks + begin,
	            *scaled_sum = rows->scaled_sum + first * blocks + begin;
	const int32_t *half_sum = rows->half_sum + HALVES * (first * blocks + begin);
	__m512 sum[TILE_ROWS];
	for (size_t r = 0; r < TILE_ROWS; r++)
		sum[r] =
		    sums.from ? _mm512_load_ps(sums.from + r * GEMM_GROUP) : _mm512_setzero_ps();
	multiply_part(false, isum[0], a, k, weights);
	for (size_t part = 0; part < parts; part += 2)
#pragma GCC unroll 2
		for (size_t odd = 0; odd < 2; odd++) {
			const size_t at = part + odd, next = at + 1;
			if (at >= parts) break;
			if (next < parts)
				multiply_part(!odd, isum[!odd], a + next * span, k,
				              weights + next * span * GEMM_GROUP);
			const size_t b = at * span / GEMM_BLOCK;
			const __m512 weight_scale = _mm512_load_ps(run->scale[at]);
			const __m512 minimum =
			    has_minimum ? _mm512_load_ps(run->minimum[at]) : _mm512_setzero_ps();
#pragma GCC unroll 16
			for (size_t r = 0; r < TILE_ROWS; r++) {
				const float scale_a = scale[r * blocks + b];
				const __m512 exact =
				    _mm512_cvtepi32_ps(_mm512_load_si512(isum[odd][r]));
				sum[r] = _mm512_fmadd_ps(
				    _mm512_mul_ps(weight_scale, _mm512_set1_ps(scale_a)), exact,
				    sum[r]);
				if (!has_minimum) continue;
				const float reach =
				    span == GEMM_BLOCK
				        ? scaled_sum[r * blocks + b]
				        : scale_a * (float)half_sum[r * blocks * HALVES + at];
				sum[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(reach), sum[r]);
			}
		}
	for (size_t r = 0; r < TILE_ROWS; r++)
		store_row_sum(sums.to + r * sums.to_stride, sums.add, sum[r]);
}

/* Computes all rows of a pass, [first, end), by a run; `sums` is for the first row. A tile that
 * would reach beyond the last row begins earlier, so no tile ever holds padding. Its sums for rows
 * that were done already are dropped. Example: rows 0 .. 19 are tiles 0 .. 15 and 4 .. 19. */
INLINE void compute_run(size_t span, bool has_minimum, struct running_sums sums,
                        const struct gemm_rows *rows, size_t first, size_t end,
                        const struct unpacked_run *run, size_t begin, size_t count) {
	for (; end - first >= TILE_ROWS; first += TILE_ROWS) {
		compute_tile(span, has_minimum, sums, rows, first, run, begin, count);
		if (sums.from) sums.from += TILE_ROWS * GEMM_GROUP;
		sums.to += TILE_ROWS * sums.to_stride;
	}
	if (first == end) return;
	_Alignas(64) float last[TILE_ROWS][GEMM_GROUP] = {{0}};
	const size_t fresh = end - first, done = TILE_ROWS - fresh;
	if (sums.from) memcpy(last[done], sums.from, fresh * sizeof *last);
	compute_tile(span, has_minimum, (struct running_sums){last[0], last[0], GEMM_GROUP, false},
	             rows, end - TILE_ROWS, run, begin, count);
	for (size_t r = 0; r < fresh; r++)
		store_row_sum(sums.to + r * sums.to_stride, sums.add,
		              _mm512_load_ps(last[done + r]));
}

typedef void unpack_fn(struct unpacked_run *run, const struct packed_matrix *w, size_t group,
                       size_t begin, size_t end);
typedef void tiles_fn(struct running_sums sums, const struct gemm_rows *rows, size_t first,
                      size_t end, const struct unpacked_run *run, size_t begin, size_t count);
#define UNPACK(TYPE)                                                                               \
	static void unpack_##TYPE(struct unpacked_run *run, const struct packed_matrix *w,         \
	                          size_t group, size_t begin, size_t end) {                        \
		unpack_blocks(TYPE, run, w, group, begin, end);                                    \
	}
#define TILES(NAME, SPAN, HAS_MINIMUM)                                                             \
	static void NAME(struct running_sums sums, const struct gemm_rows *rows, size_t first,     \
	                 size_t end, const struct unpacked_run *run, size_t begin, size_t count) { \
		compute_run(SPAN, HAS_MINIMUM, sums, rows, first, end, run, begin, count);         \
	}
UNPACK(PACKED_Q8_0)
UNPACK(PACKED_Q4_0)
UNPACK(PACKED_Q4_1)
UNPACK(PACKED_Q5_0)
UNPACK(PACKED_Q5_1)
UNPACK(PACKED_IQ4_NL)
UNPACK(PACKED_IQ4_XS)
UNPACK(PACKED_Q4_K)
UNPACK(PACKED_Q5_K)
UNPACK(PACKED_Q6_K)
UNPACK(PACKED_Q3_K)
UNPACK(PACKED_Q2_K)
TILES(blocks_plain, GEMM_BLOCK, false)
TILES(blocks_minimum, GEMM_BLOCK, true)
TILES(halves_plain, GEMM_HALF, false)
TILES(halves_minimum, GEMM_HALF, true)

/* Tiles belong to the thread, and saving them at a switch of threads is costly. So they are
 * configured and released within one call. */
static void compute_in_tiles(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                             const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                             size_t end) {
	static unpack_fn *const unpackers[PACKED_TYPES] = {
	    [PACKED_Q8_0] = unpack_PACKED_Q8_0,     [PACKED_Q4_0] = unpack_PACKED_Q4_0,
	    [PACKED_Q4_1] = unpack_PACKED_Q4_1,     [PACKED_Q5_0] = unpack_PACKED_Q5_0,
	    [PACKED_Q5_1] = unpack_PACKED_Q5_1,     [PACKED_IQ4_NL] = unpack_PACKED_IQ4_NL,
	    [PACKED_IQ4_XS] = unpack_PACKED_IQ4_XS, [PACKED_Q4_K] = unpack_PACKED_Q4_K,
	    [PACKED_Q5_K] = unpack_PACKED_Q5_K,     [PACKED_Q6_K] = unpack_PACKED_Q6_K,
	    [PACKED_Q3_K] = unpack_PACKED_Q3_K,     [PACKED_Q2_K] = unpack_PACKED_Q2_K};
	static tiles_fn *const takers[2][2] = {{blocks_plain, blocks_minimum},
	                                       {halves_plain, halves_minimum}};
	unpack_fn *const unpacker = unpackers[w->type];
	tiles_fn *const taker =
	    takers[packed_span(w->type) == GEMM_HALF][packed_has_minimum(w->type)];
	const size_t blocks = w->k / GEMM_BLOCK;
	_Alignas(64) float acc[PASS_ROWS][GEMM_GROUP];
	struct unpacked_run run;
	configure_tiles(packed_span(w->type));
	for (size_t place = begin; place < end; place++) {
		const size_t group = groups ? groups[place] : place;
		for (size_t first = 0, last; first < rows->rows; first = last) {
			last = rows->rows - first < PASS_ROWS ? rows->rows : first + PASS_ROWS;
			const struct running_sums whole = {
			    NULL, out + first * out_stride + place * GEMM_GROUP, out_stride, add};
			for (size_t b = 0; b < blocks; b += RUN) {
				const size_t count = blocks - b < RUN ? blocks - b : RUN;
				struct running_sums sums =
				    b + count == blocks
				        ? whole
				        : (struct running_sums){NULL, acc[0], GEMM_GROUP, false};
				if (b) sums.from = acc[0];
				unpacker(&run, w, group, b, b + count);
				WRITTEN(&run);
				taker(sums, rows, first, last, &run, b, count);
			}
		}
	}
	_tile_release();
}

#define GEMM(NAME, FEW)                                                                            \
	void NAME(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,           \
	          const struct packed_matrix *w, const uint32_t *groups, size_t begin,             \
	          size_t end) {                                                                    \
		REQUIRE(!packed_is_float(w->type) && w->k == rows->k);                             \
		if (rows->rows < TILE_ROWS)                                                        \
			FEW(out, out_stride, add, rows, w, groups, begin, end);                    \
		else compute_in_tiles(out, out_stride, add, rows, w, groups, begin, end);          \
	}
GEMM(gemm_q8_amx, gemm_q8_avx512)
GEMM(gemm_q4_amx, gemm_q4_avx512)
GEMM(gemm_planes_amx, gemm_planes_avx512)
