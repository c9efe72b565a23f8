/* Before QEMU 9. */
__attribute__((visibility("default"))) int qemu_plugin_version = 1;
