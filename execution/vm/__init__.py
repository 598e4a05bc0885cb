"""A virtual machine (QEMU) that boots a stock kernel on this machine's own root."""
