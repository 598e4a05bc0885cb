"""One transfer: the stream processes, uploads and downloads over SFTP, and their progress over time."""
