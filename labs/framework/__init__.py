"""What all labs share: variants, work folders, experiments in virtual time, judging, pages."""
