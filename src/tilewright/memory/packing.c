/* Packing boxes under a ceiling: each box keeps its columns (time) and is free to move in height (bytes).

   Each box has a floor, below which it cannot lie. A box whose floor is below the end of all others that share a column
   with it, were these on their floors, has nothing beneath it there: it is placed on its floor and lifts those others
   above it, or it lies higher, on top of one of them, and its floor rises to the lowest of their ends. As each packing,
   with its boxes dropped as far as they go, is reached in this way, a search that runs dry proves the ceiling too low.

   In each column the heights of the boxes above any floor must fit under the ceiling, and a box that cannot be the
   lowest one is lifted. Each floor knows the placements that it follows from, so that a failure goes back to the last
   placement that it depends on. Boxes that share no columns with others are placed on their own. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { IMPOSSIBLE, FOUND, GIVEN_UP };                 /* what comes of a search */
enum { LOWEST, BEST, TIGHTEST, TIGHTEST_AND_FULLEST };  /* which box is the next one */
enum { NONE = -1 };

static const int64_t SKY = INT64_MAX;

typedef struct {
  int64_t first, last, height;
} tw_box;

typedef struct {
  int32_t box; /* of a placement, its complement */
  int64_t floor;
} tw_change;

typedef struct {
  const tw_box *box;
  const int32_t *rank; /* of boxes: which to try first */
  int32_t boxes, columns, rule;
  int64_t ceiling, work, budget;
  double *failures; /* of columns */

  int64_t *floor;
  int32_t *level; /* of a placement among all; NONE while a box is not placed */
  int32_t levels;
  int32_t *near, *near_start;   /* boxes that share a column with a box */
  int32_t *cover, *cover_start; /* boxes of a column: those that are not placed, by their floors, then the others */
  int32_t *covering;            /* how many are not placed */
  int64_t *left;                /* their heights together */
  int32_t *queue, queued;       /* columns in which something has changed */
  uint8_t *is_queued;

  int32_t words;                /* of a set of levels */
  uint64_t *reason, *conflict;  /* levels that each floor, and the last failure, follow from */
  tw_change *trail;
  uint64_t *trail_reason;
  int32_t trailed, trail_room;
  int32_t out_of_memory;
} tw_search;

/* ---- sets of levels --------------------------------------------------------------------------------------------- */

static uint64_t *reason_of(const tw_search *s, int32_t box) { return s->reason + (size_t)box * (size_t)s->words; }

static void add_level(uint64_t *set, int32_t level) { set[level / 64] |= UINT64_C(1) << level % 64; }

static int take_level(uint64_t *set, int32_t level) {
  uint64_t bit = UINT64_C(1) << level % 64, had = set[level / 64] & bit;
  set[level / 64] &= ~bit;
  return had != 0;
}

static void clear(const tw_search *s, uint64_t *set) { memset(set, 0, sizeof *set * (size_t)s->words); }

static void unite(const tw_search *s, uint64_t *into, const uint64_t *from) {
  for (int32_t i = 0; i < s->words; i++) into[i] |= from[i];
}

/* ---- changes that can be undone --------------------------------------------------------------------------------- */

static int has_room(tw_search *s) {
  if (s->trailed < s->trail_room) return 1;
  size_t room = s->trail_room ? 2 * (size_t)s->trail_room : 4096;
  tw_change *trail = realloc(s->trail, sizeof *trail * room);
  if (trail) s->trail = trail;
  uint64_t *reasons = realloc(s->trail_reason, sizeof *reasons * (size_t)s->words * room);
  if (reasons) s->trail_reason = reasons;
  if (!trail || !reasons) {
    s->out_of_memory = 1;
    return 0;
  }
  s->trail_room = (int32_t)room;
  return 1;
}

static void queue_columns(tw_search *s, int32_t box) {
  for (int64_t column = s->box[box].first; column <= s->box[box].last; column++) {
    if (s->is_queued[column]) continue;
    s->is_queued[column] = 1;
    s->queue[s->queued++] = (int32_t)column;
  }
}

static void empty_queue(tw_search *s) {
  while (s->queued) s->is_queued[s->queue[--s->queued]] = 0;
}

/* The reason stays what it was; the caller adds to it. */
static void lift(tw_search *s, int32_t box, int64_t floor) {
  if (!has_room(s)) return;
  memcpy(s->trail_reason + (size_t)s->trailed * (size_t)s->words, reason_of(s, box), sizeof(uint64_t) * (size_t)s->words);
  s->trail[s->trailed++] = (tw_change){box, s->floor[box]};
  s->floor[box] = floor;
  queue_columns(s, box);
}

static void take_from_columns(tw_search *s, int32_t box) {
  for (int64_t column = s->box[box].first; column <= s->box[box].last; column++) {
    int32_t *cover = s->cover + s->cover_start[column], at = 0, last = --s->covering[column];
    while (cover[at] != box) at++;
    memmove(cover + at, cover + at + 1, sizeof *cover * (size_t)(last - at));
    cover[last] = box;
    s->left[column] -= s->box[box].height;
    s->work += last;
  }
}

static void give_back_to_columns(tw_search *s, int32_t box) {
  for (int64_t column = s->box[box].first; column <= s->box[box].last; column++) {
    int32_t *cover = s->cover + s->cover_start[column], at = s->covering[column];
    while (cover[at] != box) at++;
    cover[at] = cover[s->covering[column]];
    cover[s->covering[column]++] = box;
    s->left[column] += s->box[box].height;
  }
}

/* A box on its floor, and all that share a column with it above it: none of them fits beneath. */
static void place(tw_search *s, int32_t box) {
  if (!has_room(s)) return;
  s->trail[s->trailed++] = (tw_change){~box, 0};
  s->level[box] = s->levels++;
  take_from_columns(s, box);
  queue_columns(s, box);
  int64_t top = s->floor[box] + s->box[box].height;
  for (int32_t i = s->near_start[box]; i < s->near_start[box + 1]; i++) {
    int32_t other = s->near[i];
    if (s->level[other] != NONE || s->floor[other] >= top) continue;
    lift(s, other, top);
    if (s->box[other].height > s->floor[box]) clear(s, reason_of(s, other)); /* beneath it there was never room */
    add_level(reason_of(s, other), s->level[box]);
  }
  s->work += s->near_start[box + 1] - s->near_start[box];
}

static void undo(tw_search *s, int32_t trailed) {
  empty_queue(s);
  while (s->trailed > trailed) {
    tw_change change = s->trail[--s->trailed];
    if (change.box < 0) {
      s->level[~change.box] = NONE;
      s->levels--;
      give_back_to_columns(s, ~change.box);
      continue;
    }
    s->floor[change.box] = change.floor;
    memcpy(reason_of(s, change.box), s->trail_reason + (size_t)s->trailed * (size_t)s->words,
           sizeof(uint64_t) * (size_t)s->words);
  }
}

/* ---- what follows ----------------------------------------------------------------------------------------------- */

static int64_t end_of(const tw_search *s, int32_t box) { return s->floor[box] + s->box[box].height; }

/* Nearly sorted as it was before. */
static void sort_column(const tw_search *s, int32_t *cover, int32_t count) {
  for (int32_t i = 1; i < count; i++) {
    int32_t box = cover[i], at = i;
    for (; at > 0 && s->floor[cover[at - 1]] > s->floor[box]; at--) cover[at] = cover[at - 1];
    cover[at] = box;
  }
}

/* Do all boxes above any of the floors fit under the ceiling? */
static int fits(const tw_search *s, const int32_t *cover, int32_t count) {
  int64_t above = 0;
  for (int32_t i = count - 1; i >= 0; i--) {
    above += s->box[cover[i]].height;
    if (s->floor[cover[i]] + above <= s->ceiling) continue;
    clear(s, s->conflict);
    for (; i < count; i++) unite(s, s->conflict, reason_of(s, cover[i]));
    return 0;
  }
  return 1;
}

/* A box that would leave the others too little room as the lowest one lies on top of another. */
static void lift_above_others(tw_search *s, const int32_t *cover, int32_t count, int64_t left) {
  int64_t least = SKY, second = SKY;
  int32_t lowest = NONE;
  for (int32_t i = 0; i < count; i++) {
    int64_t end = end_of(s, cover[i]);
    if (end < least) {
      second = least, least = end, lowest = cover[i];
    } else if (end < second) {
      second = end;
    }
  }
  for (int32_t i = count - 1; i >= 0 && s->floor[cover[i]] + left > s->ceiling; i--) {
    int32_t box = cover[i];
    int64_t floor = box == lowest ? second : least;
    if (floor <= s->floor[box]) continue;
    lift(s, box, floor);
    for (int32_t j = 0; j < count; j++)
      if (j != i && s->box[cover[j]].height < floor) unite(s, reason_of(s, box), reason_of(s, cover[j]));
    s->work += count;
  }
}

static int follows(tw_search *s) {
  while (s->queued) {
    int32_t column = s->queue[--s->queued], count = s->covering[column];
    int32_t *cover = s->cover + s->cover_start[column];
    s->is_queued[column] = 0;
    sort_column(s, cover, count);
    s->work += count;
    if (!fits(s, cover, count)) {
      s->failures[column] += 1;
      return 0;
    }
    lift_above_others(s, cover, count, s->left[column]);
  }
  return 1;
}

/* ---- choices ---------------------------------------------------------------------------------------------------- */

/* The lowest place on top of another box; SKY where there is none. */
static int64_t next_floor(const tw_search *s, int32_t box) {
  int64_t least = SKY;
  for (int32_t i = s->near_start[box]; i < s->near_start[box + 1]; i++) {
    int32_t other = s->near[i];
    if (s->level[other] == NONE && end_of(s, other) < least) least = end_of(s, other);
  }
  return least;
}

static int is_better(const tw_search *s, int32_t box, int32_t best) {
  return best == NONE || s->rank[box] < s->rank[best];
}

static int32_t lowest_of(const tw_search *s, const int32_t *boxes, int32_t count) {
  int32_t best = NONE;
  for (int32_t i = 0; i < count; i++)
    if (best == NONE || s->floor[boxes[i]] < s->floor[best] ||
        (s->floor[boxes[i]] == s->floor[best] && is_better(s, boxes[i], best)))
      best = boxes[i];
  return best;
}

/* Of those that begin below all ends. */
static int32_t best_of(const tw_search *s, const int32_t *boxes, int32_t count) {
  int64_t least = SKY;
  int32_t best = NONE;
  for (int32_t i = 0; i < count; i++)
    if (end_of(s, boxes[i]) < least) least = end_of(s, boxes[i]);
  for (int32_t i = 0; i < count; i++)
    if (s->floor[boxes[i]] < least && is_better(s, boxes[i], best)) best = boxes[i];
  return best;
}

/* With the least room left for each time that it has failed, and for each box. */
static int32_t tightest_column(const tw_search *s, const int32_t *boxes, int32_t count) {
  int64_t first = s->box[boxes[0]].first, last = first;
  for (int32_t i = 0; i < count; i++)
    if (s->box[boxes[i]].last > last) last = s->box[boxes[i]].last;
  int32_t tightest = NONE;
  double least = 0;
  for (int64_t column = first; column <= last; column++) {
    int32_t waiting = s->covering[column];
    if (!waiting) continue;
    int64_t floor = s->floor[s->cover[s->cover_start[column]]];
    double room = (double)(s->ceiling - floor - s->left[column] + 1) / (1 + s->failures[column]);
    if (s->rule == TIGHTEST_AND_FULLEST) room /= waiting;
    if (tightest == NONE || room < least) tightest = (int32_t)column, least = room;
  }
  return tightest;
}

static int32_t best_of_tightest(const tw_search *s, const int32_t *boxes, int32_t count) {
  int32_t column = tightest_column(s, boxes, count), best = NONE;
  const int32_t *cover = s->cover + s->cover_start[column];
  for (int32_t i = 0; i < s->covering[column]; i++)
    if (is_better(s, cover[i], best) && s->floor[cover[i]] < next_floor(s, cover[i])) best = cover[i];
  return best == NONE ? lowest_of(s, boxes, count) : best;
}

static int32_t chosen(tw_search *s, const int32_t *boxes, int32_t count) {
  s->work += 2 * count;
  if (s->rule == LOWEST) return lowest_of(s, boxes, count);
  if (s->rule == BEST) return best_of(s, boxes, count);
  return best_of_tightest(s, boxes, count);
}

/* ---- the search ------------------------------------------------------------------------------------------------- */

/* Why the floor of a box that does not lie on it is the next one: what has failed, and what else it could lie on. */
static void explain_next(tw_search *s, int32_t box, int64_t next) {
  unite(s, s->conflict, reason_of(s, box));
  for (int32_t i = s->near_start[box]; i < s->near_start[box + 1]; i++) {
    int32_t other = s->near[i];
    if (s->box[other].height >= next) continue;
    if (s->level[other] == NONE)
      unite(s, s->conflict, reason_of(s, other));
    else
      add_level(s->conflict, s->level[other]);
  }
  s->work += s->near_start[box + 1] - s->near_start[box];
}

/* After a failure with a box on its floor: it lies higher, unless the failure has nothing to do with it. */
static int lies_higher(tw_search *s, int32_t box) {
  if (!take_level(s->conflict, s->levels)) return 0;
  int64_t next = next_floor(s, box);
  explain_next(s, box, next);
  if (next == SKY) return 0;
  lift(s, box, next);
  unite(s, reason_of(s, box), s->conflict);
  return follows(s);
}

static int place_all(tw_search *s, const int32_t *boxes, int32_t count);

/* Boxes that hang together. */
static int place_part(tw_search *s, const int32_t *boxes, int32_t count) {
  int32_t *others = malloc(sizeof *others * (size_t)count);
  int outcome = IMPOSSIBLE;
  if (!others) return GIVEN_UP;
  do {
    if (s->work > s->budget || s->out_of_memory) {
      outcome = GIVEN_UP;
      break;
    }
    int32_t box = chosen(s, boxes, count), trailed = s->trailed, kept = 0;
    for (int32_t i = 0; i < count; i++)
      if (boxes[i] != box) others[kept++] = boxes[i];
    place(s, box);
    outcome = follows(s) ? place_all(s, others, kept) : IMPOSSIBLE;
    if (outcome != IMPOSSIBLE) break;
    undo(s, trailed);
    if (!lies_higher(s, box)) break;
  } while (1);
  free(others);
  return outcome;
}

/* Boxes by their first columns; parts that share no columns are placed one after the other. */
static int place_all(tw_search *s, const int32_t *boxes, int32_t count) {
  s->work += count;
  for (int32_t first = 0, end; first < count; first = end) {
    int64_t last = s->box[boxes[first]].last;
    for (end = first + 1; end < count && s->box[boxes[end]].first <= last; end++)
      if (s->box[boxes[end]].last > last) last = s->box[boxes[end]].last;
    int outcome = place_part(s, boxes + first, end - first);
    if (outcome != FOUND) return outcome;
  }
  return FOUND;
}

/* ---- setting up ------------------------------------------------------------------------------------------------- */

static int share_columns(const tw_box *a, const tw_box *b) { return a->first <= b->last && b->first <= a->last; }

static int list_near(tw_search *s) {
  size_t pairs = 0;
  for (int32_t i = 0; i < s->boxes; i++)
    for (int32_t j = 0; j < s->boxes; j++) pairs += i != j && share_columns(&s->box[i], &s->box[j]);
  s->near = malloc(sizeof *s->near * (pairs + 1));
  if (!s->near) return 0;
  int32_t at = 0;
  for (int32_t i = 0; i < s->boxes; i++) {
    s->near_start[i] = at;
    for (int32_t j = 0; j < s->boxes; j++)
      if (i != j && share_columns(&s->box[i], &s->box[j])) s->near[at++] = j;
  }
  s->near_start[s->boxes] = at;
  s->work += at + s->boxes;
  return 1;
}

static int list_columns(tw_search *s) {
  size_t cells = 0;
  for (int32_t i = 0; i < s->boxes; i++) cells += (size_t)(s->box[i].last - s->box[i].first + 1);
  s->cover = malloc(sizeof *s->cover * (cells + 1));
  if (!s->cover) return 0;
  int32_t at = 0;
  for (int32_t column = 0; column < s->columns; column++) {
    s->cover_start[column] = at;
    for (int32_t i = 0; i < s->boxes; i++) {
      if (s->box[i].first > column || s->box[i].last < column) continue;
      s->cover[at++] = i;
      s->left[column] += s->box[i].height;
    }
    s->covering[column] = at - s->cover_start[column];
  }
  s->work += at;
  return 1;
}

static int allocate(tw_search *s) {
  size_t boxes = (size_t)s->boxes, columns = (size_t)s->columns;
  s->words = (s->boxes + 63) / 64;
  s->floor = calloc(boxes + 1, sizeof *s->floor);
  s->level = malloc(sizeof *s->level * (boxes + 1));
  s->near_start = calloc(boxes + 1, sizeof *s->near_start);
  s->cover_start = calloc(columns + 1, sizeof *s->cover_start);
  s->covering = calloc(columns + 1, sizeof *s->covering);
  s->left = calloc(columns + 1, sizeof *s->left);
  s->queue = calloc(columns + 1, sizeof *s->queue);
  s->is_queued = calloc(columns + 1, sizeof *s->is_queued);
  s->reason = calloc((boxes + 1) * (size_t)s->words, sizeof *s->reason);
  s->conflict = calloc((size_t)s->words + 1, sizeof *s->conflict);
  if (!s->floor || !s->level || !s->near_start || !s->cover_start || !s->covering || !s->left || !s->queue ||
      !s->is_queued || !s->reason || !s->conflict)
    return 0;
  for (int32_t i = 0; i < s->boxes; i++) s->level[i] = NONE;
  return list_near(s) && list_columns(s);
}

static void release(tw_search *s) {
  free(s->floor), free(s->level), free(s->near), free(s->near_start), free(s->cover), free(s->cover_start);
  free(s->covering), free(s->left), free(s->queue), free(s->is_queued), free(s->reason), free(s->conflict);
  free(s->trail), free(s->trail_reason);
}

/* An outcome. `by_first` are all boxes by their first columns; `failures` of columns are added to; `work` is the most
   to do, and becomes what was done; `offsets` are written where the outcome is FOUND. */
int32_t tw_pack(const tw_box *box, const int32_t *by_first, const int32_t *rank, int32_t boxes, int32_t columns,
                int32_t rule, int64_t ceiling, double *failures, int64_t *work, int64_t *offsets);

int32_t tw_pack(const tw_box *box, const int32_t *by_first, const int32_t *rank, int32_t boxes, int32_t columns,
                int32_t rule, int64_t ceiling, double *failures, int64_t *work, int64_t *offsets) {
  tw_search search = {.box = box, .rank = rank, .boxes = boxes, .columns = columns, .rule = rule,
                      .ceiling = ceiling, .budget = *work, .failures = failures};
  int outcome = GIVEN_UP;
  if (allocate(&search)) {
    for (int32_t i = 0; i < boxes; i++) queue_columns(&search, i);
    outcome = follows(&search) ? place_all(&search, by_first, boxes) : IMPOSSIBLE;
  }
  if (search.out_of_memory) outcome = GIVEN_UP;
  if (outcome == FOUND) memcpy(offsets, search.floor, sizeof *offsets * (size_t)boxes);
  *work = search.work;
  release(&search);
  return outcome;
}
