/* The walk over pieces of work of depthwise_channels.h; the kernel says whether four channels have a quick way, and has it:
 * `has_fast_rows` and `fast_rows`, for which each core has TW_MORE_TAPS more bytes for each row of a filter. */
#ifndef TW_DEPTHWISE_PIECES_H
#define TW_DEPTHWISE_PIECES_H

/* Output rows from `out_y` to `end` of four channels, whose planes are loaded. */
static void channels(work *k, int32_t image, int32_t channel, int32_t out_y, int32_t end) {
  const tw_conv_params *const p = k->p;
  const int32_t pitch = p->out_w * p->groups;
  set_channels(k, channel);
  TW_Y *y = k->y + (image * p->out_h + out_y) * pitch + channel;
  if (has_fast_rows(k)) {
    fast_rows(k, end - out_y, y);
    return;
  }
  for (int f = 0; f < 4; f++, y++) {
    const uint8_t *from = k->at + f * k->planes.plane;
    TW_Y *to = y;
    for (int32_t row = out_y; row < end; row++, from += p->stride_h * k->planes.pitch, to += pitch) {
      any_row(k, from, f, channel + f, to);
    }
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  work k;
  k.p = p, k.x = x, k.w = w, k.b = b, k.mul = mul, k.add = add, k.y = y;
  k.words = (p->kernel_w + 3) >> 2;
  const int32_t read = (p->out_w - 1) * p->stride_w + 4 * k.words;
  tw_planes *const planes = &k.planes;
  planes->step = p->groups, planes->width = p->in_w, planes->across = p->in_w * p->groups;
  planes->pitch = (tw_max(p->pad_left + p->in_w, read) + 3) & ~3;
  planes->plane = planes->pitch * ((p->chunk - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1);
  const int32_t taps = (16 * k.words + TW_MORE_TAPS) * p->kernel_h;
  k.at = (uint8_t *)scratch + tw_core() * (4 * planes->plane + taps);
  k.taps = (uint32_t *)(void *)(k.at + 4 * planes->plane);
  k.first = p->in_h, k.end = 0;
  const int32_t quads = (p->groups + 3) >> 2, strips = (p->out_h + p->chunk - 1) / p->chunk;
  const tw_share share = tw_share_of(p->batch * strips * quads);
  if (share.first >= share.end) return;
  tw_fill_run(k.at, p->x_zero, 4 * planes->plane);
  int32_t strip = (int32_t)((uint32_t)share.first / (uint32_t)quads), quad = share.first - strip * quads, image = 0;
  for (; strip >= strips; strip -= strips) image++;
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t channel = tw_min(4 * quad, p->groups - 4), first = strip * p->chunk;
    const int32_t end = tw_min(first + p->chunk, p->out_h);
    load_planes(&k, image, channel, first, end);
    channels(&k, image, channel, first, end);
    if (++quad < quads) continue;
    quad = 0;
    if (++strip < strips) continue;
    strip = 0;
    image++;
  }
}

#endif
