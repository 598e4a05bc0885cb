"""Checks of the doctor: functions decorated with `register`, in one module for each area of the machine."""
