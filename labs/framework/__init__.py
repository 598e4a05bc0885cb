"""The framework of all labs: variants, work folders, experiments in virtual time, judging, pages."""
