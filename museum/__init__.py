"""The museum: public reports of this field as experiment files, with what is measured here, and why."""
