"""The virtual-time kernel: a User-Mode Linux of ours, whose clock can stand still while it computes."""
