/* Totals as bytes by the instructions of x86-64, at any width of vectors: the ways of which TW_IS_NEAR, and TW_FLOAT_WAY.
 *
 * A product of 32 bits and 32 bits has 64: those of even lanes and those of odd lanes are computed apart, and what is left
 * of them after the first 31 or 32 bits are dropped are lanes of one vector again. */
#ifndef TW_REQUANT_X86_H
#define TW_REQUANT_X86_H

#if (defined(__AVX512BW__) && TW_VECTOR_BYTES == 64) || (defined(__AVX2__) && TW_VECTOR_BYTES == 32)
#define TW_REQUANTS_IN_VECTORS 1

typedef int64_t tw_longs __attribute__((vector_size(TW_VECTOR_BYTES)));
typedef uint64_t tw_bits __attribute__((vector_size(TW_VECTOR_BYTES)));
typedef uint8_t tw_unsigned_bytes __attribute__((vector_size(TW_VECTOR_BYTES)));
typedef float tw_quotients __attribute__((vector_size(TW_VECTOR_BYTES)));

#define TW_FEWEST_SHIFTED 33 /* half a unit is in the upper word */
#define TW_MOST_SHIFTED 54   /* the zero point fits above the unit */
#define TW_NEAREST 12582912.0f /* added, a number below 2^22 loses all behind the point, ties to even */

#if TW_VECTOR_BYTES == 64
#define TW_X86(name) _mm512_##name
typedef __m512i tw_register;
#else
#define TW_X86(name) _mm256_##name
typedef __m256i tw_register;
#endif

/* Whether a requantisation may go by tw_scaled. */
TW_ALWAYS int tw_is_scaled(tw_way way, const tw_requant *r, const int32_t *add) {
  if (way == TW_NEAR_WAY) return !add && r->shift >= TW_FEWEST_SHIFTED && r->shift <= TW_MOST_SHIFTED;
  return way == TW_NEAR_DOUBLE_WAY || way == TW_NEAR_DOUBLE_UP_WAY || way == TW_FLOAT_WAY;
}

/* What all lanes share. */
typedef struct {
  tw_words start, least, most; /* added before the last shift; of TW_FLOAT_WAY what results are limited to, as floats */
  int32_t shift, zero_point;
  tw_bytes low, high;
} tw_scale_all;

/* What each lane has of its own. */
typedef struct {
  tw_words mul, odd, half, shift;
} tw_scale_lanes;

TW_ALWAYS tw_scale_all tw_scale_all_of(tw_way way, const tw_requant *r) {
  const int32_t shift = way == TW_NEAR_WAY ? r->shift - 32 : 0;
  const float least = (float)(r->low - r->zero_point), most = (float)(r->high - r->zero_point);
  tw_scale_all made = {{0}, {0}, {0}, shift, r->zero_point, {0}, {0}};
  if (way == TW_NEAR_WAY) made.start += (int32_t)((1u << shift >> 1) + ((uint32_t)r->zero_point << shift));
  made.least = (tw_words)((tw_quotients){0} + least);
  made.most = (tw_words)((tw_quotients){0} + most);
  made.low += (int8_t)r->low;
  made.high += (int8_t)r->high;
  return made;
}

TW_ALWAYS tw_scale_lanes tw_scale_lanes_of(tw_way way, const int32_t *mul, const int32_t *add) {
  tw_scale_lanes made = {{0}, {0}, {0}, {0}};
  memcpy(&made.mul, mul, sizeof made.mul);
  made.odd = (tw_words)((tw_bits)made.mul >> 32);
  if (way == TW_NEAR_DOUBLE_WAY || way == TW_NEAR_DOUBLE_UP_WAY) {
    memcpy(&made.shift, add, sizeof made.shift);
    made.shift = -made.shift;
    made.half = (((tw_words){0} + 1) << made.shift) >> 1;
  }
  return made;
}

TW_ALWAYS tw_longs tw_even_products(tw_words a, tw_words b) {
  return (tw_longs)TW_X86(mul_epi32)((tw_register)a, (tw_register)b);
}

/* The lower words of the first and the upper ones of the second. */
TW_ALWAYS tw_words tw_joined(tw_bits even, tw_bits odd) {
#if TW_VECTOR_BYTES == 64
  return (tw_words)_mm512_mask_blend_epi32(0xAAAA, (__m512i)even, (__m512i)odd);
#else
  return (tw_words)_mm256_blend_epi32((__m256i)even, (__m256i)odd, 0xAA);
#endif
}

/* Results, with their zero point, that 16 bits hold. */
TW_ALWAYS tw_words tw_scaled(tw_way way, const tw_scale_all *all, const tw_scale_lanes *lanes, tw_words total) {
  if (way == TW_FLOAT_WAY) {
    tw_quotients made = __builtin_convertvector(total, tw_quotients) * (tw_quotients)lanes->mul;
    const tw_quotients least = (tw_quotients)all->least, most = (tw_quotients)all->most;
    const tw_words below = made < least, above = made > most;
    made = (tw_quotients)((below & all->least) | (~below & (tw_words)made));
    made = (tw_quotients)((above & all->most) | (~above & (tw_words)made));
    return __builtin_convertvector((made + TW_NEAREST) - TW_NEAREST, tw_words) + all->zero_point;
  }
  const tw_longs even = tw_even_products(total, lanes->mul);
  const tw_longs odd = tw_even_products((tw_words)((tw_bits)total >> 32), lanes->odd);
  if (way == TW_NEAR_WAY) return (tw_joined((tw_bits)even >> 32, (tw_bits)odd) + all->start) >> all->shift;
  const int64_t half = 1 << 30;
  const tw_words high = tw_joined((tw_bits)(even + half) >> 31, (tw_bits)(odd + half) << 1);
  const tw_words rounded = high + lanes->half;
  return ((way == TW_NEAR_DOUBLE_WAY ? rounded + (high >> 31) : rounded) >> lanes->shift) + all->zero_point;
}

/* Words that 16 bits hold, two vectors of them as one, lane by lane of 16 bytes. */
TW_ALWAYS tw_words tw_packed_words(tw_words a, tw_words b) {
  return (tw_words)TW_X86(packs_epi32)((tw_register)a, (tw_register)b);
}

/* Four vectors of words as bytes within their limits: [lane of 16 bytes][vector][4]. */
TW_ALWAYS tw_bytes tw_limited_bytes(const tw_scale_all *all, int is_unsigned, const tw_words *v) {
  const tw_register a = (tw_register)tw_packed_words(v[0], v[1]), b = (tw_register)tw_packed_words(v[2], v[3]);
  if (is_unsigned) {
    const tw_register made = TW_X86(packus_epi16)(a, b);
    return (tw_bytes)TW_X86(min_epu8)(TW_X86(max_epu8)(made, (tw_register)all->low), (tw_register)all->high);
  }
  const tw_register made = TW_X86(packs_epi16)(a, b);
  return (tw_bytes)TW_X86(min_epi8)(TW_X86(max_epi8)(made, (tw_register)all->low), (tw_register)all->high);
}

/* The same with a vector's bytes side by side: [vector][lane]. */
TW_ALWAYS tw_bytes tw_bytes_of_vectors(const tw_scale_all *all, int is_unsigned, const tw_words *v) {
  const tw_register made = (tw_register)tw_limited_bytes(all, is_unsigned, v);
#if TW_VECTOR_BYTES == 64
  return (tw_bytes)_mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), made);
#else
  return (tw_bytes)_mm256_permutevar8x32_epi32(made, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
#endif
}

/* Rows of bytes from rows of totals with the same factors, two rows at a time. */
TW_ALWAYS void tw_scale_in_vectors(tw_way way, int rows, const tw_requant *r, const int32_t *mul, const int32_t *add,
                                   int is_unsigned, const tw_sums *t, uint8_t *y, int64_t pitch) {
  const tw_scale_all all = tw_scale_all_of(way, r);
  const tw_scale_lanes lanes[2] = {tw_scale_lanes_of(way, mul, add),
                                   tw_scale_lanes_of(way, mul + TW_COLUMNS / 2, add ? add + TW_COLUMNS / 2 : NULL)};
  TW_UNROLLED for (int row = 0; row < rows; row += 2) {
    tw_words v[4];
    memcpy(v, t[row].v, sizeof t[row].v);
    memcpy(v + 2, t[row + 1 < rows ? row + 1 : row].v, sizeof t[row].v);
    TW_UNROLLED for (int i = 0; i < 4; i++) v[i] = tw_scaled(way, &all, &lanes[i % 2], v[i]);
    const tw_bytes made = tw_bytes_of_vectors(&all, is_unsigned, v);
    memcpy(y + row * pitch, &made, TW_COLUMNS);
    if (row + 1 < rows) memcpy(y + (row + 1) * pitch, (const uint8_t *)&made + TW_COLUMNS, TW_COLUMNS);
  }
}

#endif
#endif
