/* Numbers of commands. */
#ifndef ETHOS_U_CODES_H
#define ETHOS_U_CODES_H

enum {
#define OPERATION(name, code, zeros) NPU_OP_##name = code,
#define PARAMETER(name, code, zeros) NPU_SET_##name = code,
#define PAYLOAD(name, code) NPU_SET_##name = code,
#include "ethos_u/commands.def"
#undef OPERATION
#undef PARAMETER
#undef PAYLOAD
};

#endif
