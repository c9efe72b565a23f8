/* A plugin of QEMU's: how often each block of instructions ran, in a file that whoever started QEMU maps as well; and
 * all of these counts again wherever the core comes to a place that is noted. QEMU's functions are looked up by name:
 * their declarations are those of its plugin interface, versions 1 and 2. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum { MOST_PLACES = 4092, MOST_BLOCKS = 1 << 18, NOTED = 1, FAULT = 2, CALLBACK_WITHOUT_REGISTERS = 0 };

typedef struct {
  uint64_t executed;
  uint64_t left; /* how often the core went on elsewhere than behind it */
  uint32_t address, bytes, instructions, kind;
} block;

typedef struct {
  uint32_t used, place_count, fault, current;
  uint32_t places[MOST_PLACES], kinds[MOST_PLACES];
  block blocks[MOST_BLOCKS];
} table;

typedef void (*translated_cb)(uint64_t id, void *tb);
typedef void (*executed_cb)(unsigned core, void *data);

static table *shared;
static FILE *events;
static block *before;
static size_t (*count_of)(const void *tb);
static uint64_t (*address_of)(const void *tb);
static void *(*instruction_of)(const void *tb, size_t number);
static size_t (*size_of)(const void *instruction);
static void (*on_execution)(void *tb, executed_cb called, int flags, void *data);

static void note(const block *found) {
  const uint32_t head[2] = {found->address, shared->used};
  fwrite(head, sizeof head, 1, events);
  for (uint32_t i = 0; i < shared->used; i++) fwrite(&shared->blocks[i], 2 * sizeof(uint64_t), 1, events);
  fflush(events);
}

static void executed(unsigned core, void *data) {
  block *found = data;
  (void)core;
  if (before != NULL && found->address != before->address + before->bytes) before->left++;
  if (found->kind == NOTED) note(found);
  if (found->kind == FAULT) shared->fault = found->address;
  shared->current = found->address;
  found->executed++;
  before = found;
}

static uint32_t kind_of(uint32_t address) {
  for (uint32_t i = 0; i < shared->place_count; i++)
    if (shared->places[i] == address) return shared->kinds[i];
  return 0;
}

/* Called again for a block that QEMU has forgotten: it is counted as another then. */
static void translated(uint64_t id, void *tb) {
  (void)id;
  if (shared->used == MOST_BLOCKS) {
    fprintf(stderr, "there are more than %d blocks\n", MOST_BLOCKS);
    exit(1);
  }
  block *made = &shared->blocks[shared->used++];
  made->address = (uint32_t)address_of(tb);
  made->instructions = (uint32_t)count_of(tb);
  for (uint32_t i = 0; i < made->instructions; i++) made->bytes += (uint32_t)size_of(instruction_of(tb, i));
  made->kind = kind_of(made->address);
  on_execution(tb, executed, CALLBACK_WITHOUT_REGISTERS, made);
}

/* Whoever started QEMU holds the other end of its standard input: where that is closed, nobody waits any more. */
static void *end_with_parent(void *unused) {
  char byte;
  while (read(0, &byte, 1) > 0) {
  }
  _exit(1);
  return unused;
}

static void *map(const char *path) {
  struct stat status;
  const int file = open(path, O_RDWR);
  if (file < 0 || fstat(file, &status) != 0 || status.st_size != sizeof(table)) return NULL;
  void *found = mmap(NULL, sizeof(table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return found == MAP_FAILED ? NULL : found;
}

static const char *value(int count, char **arguments, const char *name) {
  for (int i = 0; i < count; i++)
    if (strncmp(arguments[i], name, strlen(name)) == 0) return arguments[i] + strlen(name);
  return "";
}

EXPORTED int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
  void (*on_translation)(uint64_t, translated_cb);
  pthread_t watching;
  (void)info;
  *(void **)&on_translation = dlsym(RTLD_DEFAULT, "qemu_plugin_register_vcpu_tb_trans_cb");
  *(void **)&on_execution = dlsym(RTLD_DEFAULT, "qemu_plugin_register_vcpu_tb_exec_cb");
  *(void **)&count_of = dlsym(RTLD_DEFAULT, "qemu_plugin_tb_n_insns");
  *(void **)&address_of = dlsym(RTLD_DEFAULT, "qemu_plugin_tb_vaddr");
  *(void **)&instruction_of = dlsym(RTLD_DEFAULT, "qemu_plugin_tb_get_insn");
  *(void **)&size_of = dlsym(RTLD_DEFAULT, "qemu_plugin_insn_size");
  if (!on_translation || !on_execution || !count_of || !address_of || !instruction_of || !size_of) return 1;
  shared = map(value(argc, argv, "table="));
  events = fopen(value(argc, argv, "events="), "wb");
  if (shared == NULL || events == NULL) return 1;
  if (pthread_create(&watching, NULL, end_with_parent, NULL) != 0) return 1;
  on_translation(id, translated);
  return 0;
}
