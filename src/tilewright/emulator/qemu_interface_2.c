/* From QEMU 9 on. */
__attribute__((visibility("default"))) int qemu_plugin_version = 2;
