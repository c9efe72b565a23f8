/* What a network that learns returns: 0, or one of these. */
#ifndef TW_LEARNER_H
#define TW_LEARNER_H

/* A label is not one of the classes; nothing was computed. */
#define TW_LEARNER_LABEL (-1)
/* The loss is infinite or not a number: the gradients since the last update were dropped. */
#define TW_LEARNER_NOT_FINITE (-2)
/* Gradients of no step wait for an update. */
#define TW_LEARNER_NOTHING_LEARNED (-3)
/* Nothing whole was saved there. */
#define TW_LEARNER_NOTHING_SAVED (-4)
/* What was saved is of another network, or of another version of this one; nothing was loaded. */
#define TW_LEARNER_OTHER_NETWORK (-5)
/* A write to the memory that keeps weights was refused; what was saved before is still there. */
#define TW_LEARNER_NOT_WRITTEN (-6)
/* A network refused its arguments. */
#define TW_LEARNER_FAILED (-7)

#endif
