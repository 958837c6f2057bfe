"""Serves a directory as a bucket of object storage that speaks S3, on this machine, until its standard input ends.

    python3 bucket.py DIRECTORY BUCKET

Prints the URL of the server when the bucket holds all files of the directory.
"""

import pathlib
import sys

import boto3
from moto.server import ThreadedMotoServer


def main():
    directory, bucket = pathlib.Path(sys.argv[1]), sys.argv[2]
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        url = "http://{}:{}".format(*server.get_host_and_port())
        # The server takes any name and key.
        client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        client.create_bucket(Bucket=bucket)
        for path in sorted(path for path in directory.rglob("*") if path.is_file()):
            client.upload_file(str(path), bucket, str(path.relative_to(directory)))
        print(url, flush=True)
        sys.stdin.read()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
