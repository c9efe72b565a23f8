/* The network, and one call of it. */
#ifndef @macro@_LIBRARY_H
#define @macro@_LIBRARY_H

#include "network.h"
#include "network_call.h"

#endif
