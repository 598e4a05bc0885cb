"""The checks of the doctor: functions decorated with `register`, in a module for each area of the machine."""
