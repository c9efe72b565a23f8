/* ITA as the layers of a network share it: the core that moves data gives its jobs, and the runtime waits for their end. */
#ifndef TW_ITA_JOBS_H
#define TW_ITA_JOBS_H

/* Before the first job of one of ITA's layers: what the one before left open is forgotten. */
void tw_accelerator_begin(void);

/* Returns when there is room for one more job. */
void tw_accelerator_room(void);

/* The registers of a job are written: it runs when those before it have ended. */
void tw_accelerator_commit(void);

/* ITA has got fewer jobs of a layer than it expects. */
void tw_accelerator_leave_open(void);

#define TW_ITA_COMMIT() tw_accelerator_commit()
#define TW_ITA_ROOM() tw_accelerator_room()

#include "ita.h"

#endif
