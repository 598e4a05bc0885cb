"""The lab: a User-Mode Linux kernel of ours, whose clock can stand still while it computes."""
