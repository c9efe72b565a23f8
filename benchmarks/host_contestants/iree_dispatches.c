/* Calls what IREE's compiler made of a network as a static library: the dispatches of its schedule in their order, so
 * many times as the argument says. dispatches.h, written by rvv_peers.py, has that schedule, and LIBRARY, the function
 * that gives the library. Buffers hold random floats between -1 and 1, or such bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIBRARY_VERSION = 6, LOCAL_BYTES = 1 << 20, LINE = 64 };

typedef struct {
    const uint32_t *constants;
    void *call_imports;
    const void **imports;
    uint64_t processor[8];
} Environment;

typedef struct {
    uint32_t size_x, size_y;
    uint16_t size_z, constant_count;
    uint32_t count_x, count_y;
    uint16_t count_z;
    uint8_t most_at_once, binding_count;
    const uint32_t *constants;
    void *const *bindings;
    const size_t *binding_bytes;
} Dispatch;

typedef struct {
    uint32_t x, y;
    uint16_t z, reserved;
    uint32_t processor;
    void *local;
    uint32_t local_bytes;
} Group;

typedef int (*Function)(const Environment *, const Dispatch *, const Group *);

typedef struct {
    const void *header;
    uint32_t import_count;
    const char *const *import_names;
    uint32_t count;
    const Function *functions;
    const void *attributes, *parameters, *occupancy;
    const char *const *names;
} Library;

typedef struct {
    int buffer;
    size_t offset, bytes;
} Binding;

typedef struct {
    const char *name;
    uint32_t groups[3];
    int constant_count, binding_count;
    const uint32_t *constants;
    const Binding *bindings;
} Step;

#include "dispatches.h"

const void *LIBRARY(uint32_t version, const Environment *environment);

enum { STEPS = sizeof steps / sizeof steps[0], BUFFERS = sizeof buffer_bytes / sizeof buffer_bytes[0], MOST = 64 };

static const Environment environment;
static uint8_t *buffers[BUFFERS];
static char local[LOCAL_BYTES] __attribute__((aligned(LINE)));

static _Noreturn void fail(const char *what, const char *name) {
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}

static Function function_of(const Library *library, const char *name) {
    for (uint32_t k = 0; k < library->count; k++)
        if (strcmp(library->names[k], name) == 0) return library->functions[k];
    fail("the library has no such function", name);
}

static void take(const Step *step, Function function) {
    void *bindings[MOST];
    size_t bytes[MOST];
    for (int k = 0; k < step->binding_count; k++) {
        bindings[k] = buffers[step->bindings[k].buffer] + step->bindings[k].offset;
        bytes[k] = step->bindings[k].bytes;
    }
    const uint32_t *n = step->groups;
    const Dispatch dispatch = {1, 1, 1, (uint16_t)step->constant_count, n[0], n[1], (uint16_t)n[2], 1,
                               (uint8_t)step->binding_count, step->constants, bindings, bytes};
    for (uint32_t z = 0; z < n[2]; z++)
        for (uint32_t y = 0; y < n[1]; y++)
            for (uint32_t x = 0; x < n[0]; x++) {
                const Group group = {x, y, (uint16_t)z, 0, 0, local, sizeof local};
                if (function(&environment, &dispatch, &group)) fail("a dispatch failed", step->name);
            }
}

static void fill(uint8_t *bytes, size_t count) {
    uint32_t state = 1;
    for (size_t k = 0; k < count; k++) {
        state = state * 1664525u + 1013904223u;
        bytes[k] = state >> 24;
        if (OF_FLOATS && k % 4 == 3) bytes[k] = (bytes[k] & 0x80) | 0x3e; /* the exponent of a number below 1 */
    }
}

int main(int argc, char **argv) {
    const Library *library = LIBRARY(LIBRARY_VERSION, &environment);
    if (!library || argc < 2) fail("usage: program CALLS", library ? "no argument" : "another version of the library");
    Function functions[STEPS];
    for (int k = 0; k < STEPS; k++) functions[k] = function_of(library, steps[k].name);
    for (int k = 0; k < BUFFERS; k++) {
        buffers[k] = aligned_alloc(LINE, (buffer_bytes[k] + LINE - 1) / LINE * LINE);
        if (!buffers[k]) fail("no memory", "buffers");
        fill(buffers[k], buffer_bytes[k]);
    }
    for (int calls = atoi(argv[1]); calls > 0; calls--)
        for (int k = 0; k < STEPS; k++) take(&steps[k], functions[k]);
    return 0;
}
