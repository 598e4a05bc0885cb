"""Networks that other tools' files describe, as experiment files."""
