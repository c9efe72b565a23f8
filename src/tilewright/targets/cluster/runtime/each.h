/* Called around work that each core does on its own. Nothing to do here: each core has its own DMA port. */
#ifndef TW_EACH_H
#define TW_EACH_H

#define tw_each_begin() ((void)0)
#define tw_each_end() ((void)0)

#endif
