"""The transfer of one iteration: stream processes, SFTP downloads and uploads, and their bytes over time."""
