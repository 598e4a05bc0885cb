"""S3Proxy, a server of S3 that keeps buckets in folders: `python -m services.s3proxy` fetches it, once per machine."""
