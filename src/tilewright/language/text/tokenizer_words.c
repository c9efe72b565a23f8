/* Text cut into words by patterns. */
#include "tokenizer_parts.h"

#define MOST_ITEMS 16

int32_t tw_last_at_most(const uint32_t *numbers, uint32_t count, uint32_t shift, uint32_t value) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (numbers[middle] >> shift <= value) low = middle + 1;
        else high = middle;
    }
    return (int32_t)low - 1;
}

int tw_in_set(const tw_tokenizer *t, uint32_t code, uint32_t set) {
    int32_t range = tw_last_at_most(t->set_ranges, t->set_range_count, 8, code);
    return range >= 0 && (t->set_rows[t->set_ranges[range] & 0xFFu] >> set & 1u);
}

static size_t taken(const tw_tokenizer *t, const tw_item *item, const uint32_t *text, size_t at, size_t end) {
    size_t most = item->most == TW_MANY || item->most > end - at ? end - at : item->most, count = 0;
    while (count < most && tw_in_set(t, text[at + count], item->set)) count++;
    return count;
}

/* Where the items of an alternative end, or `at` if they do not match. The last one that can give back a character does
   so, and those behind it are tried again. */
static size_t items_end(
    const tw_tokenizer *t, const tw_alternative *one, const uint32_t *text, size_t at, size_t end
) {
    const tw_item *items = t->items + one->first_item;
    size_t counts[MOST_ITEMS], place = at;
    int32_t item = 0;
    for (;;) {
        for (; item < one->items; item++) {
            counts[item] = taken(t, items + item, text, place, end);
            place += counts[item];
            if (counts[item] < items[item].least) break;
        }
        int is_barred = one->barred != TW_NO_SET && place < end && tw_in_set(t, text[place], one->barred);
        if (item == one->items && !is_barred) return place;
        if (item < one->items) place -= counts[item];
        for (item--; item >= 0 && counts[item] <= items[item].least; item--) place -= counts[item];
        if (item < 0) return at;
        counts[item]--, place--, item++;
    }
}

static size_t alternative_end(
    const tw_tokenizer *t, const tw_alternative *one, const uint32_t *text, size_t at, size_t end
) {
    size_t found = items_end(t, one, text, at, end);
    for (uint32_t i = 0; found > at && i < one->tails; i++) {
        size_t tail = items_end(t, t->alternatives + one->first_tail + i, text, found, end);
        if (tail > found) return tail;
    }
    return found;
}

static size_t match_end(const tw_tokenizer *t, const tw_split *split, const uint32_t *text, size_t at, size_t end) {
    for (uint32_t i = 0; i < split->alternatives; i++) {
        size_t found = alternative_end(t, t->alternatives + split->first_alternative + i, text, at, end);
        if (found > at) return found;
    }
    return at;
}

static size_t match_start(const tw_tokenizer *t, const tw_split *split, const uint32_t *text, size_t at, size_t end) {
    while (at < end && match_end(t, split, text, at, end) == at) at++;
    return at;
}

size_t tw_word_end(
    const tw_tokenizer *t, const tw_split *split, const uint32_t *text, size_t at, size_t end, int *is_word
) {
    size_t found = match_end(t, split, text, at, end);
    *is_word = found == at || split->behaviour != TW_REMOVED;
    if (found > at) return split->behaviour == TW_MERGED_WITH_NEXT ? match_start(t, split, text, found, end) : found;
    found = match_start(t, split, text, at, end);
    return split->behaviour == TW_MERGED_WITH_PREVIOUS && found < end ? match_end(t, split, text, found, end) : found;
}
