"""Makes a dataset of a directory of captures with Apache Spark, one task per capture, and asks it the questions.

    spark-submit --py-files answers.py job.py --program PROGRAM CAPTURES DATASET [--answers OUT.json]

CAPTURES and DATASET are directories: paths, or URLs of whatever file system Spark has (file:, hdfs:, s3a:). Captures that the
dataset has already are left alone, so the job can run again when there are more. A capture that cannot be read does not stop
the others: it is named at the end, and the exit status is 1.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from pyspark import SparkFiles, StorageLevel
from pyspark.sql import SparkSession

import answers

# The command that writes each table.
COMMANDS = {"transactions": "transactions", "messages": "decode", "findings": "check"}
# Exit statuses after which the table is whole: 1 says that the capture is not, or that there are findings.
WRITTEN = (0, 1)


def convert(program, name, octets):
    """Runs the program, by its name among the files of the job, on a capture; returns the files of the dataset by their paths, and an error or none."""
    program = SparkFiles.get(program)
    with tempfile.TemporaryDirectory(prefix="rpcrdma-") as directory:
        capture = pathlib.Path(directory) / name
        dataset = pathlib.Path(directory) / "dataset"
        capture.write_bytes(octets)
        for command in COMMANDS.values():
            done = subprocess.run(
                [program, command, "--quiet", "--parquet", dataset, capture], capture_output=True, text=True, check=False
            )
            if done.returncode not in WRITTEN:
                return {}, f"{name}: {command}: {done.stderr.strip() or done.returncode}"
        files = sorted(path for path in dataset.rglob("*.parquet"))
        return {str(path.relative_to(dataset)): path.read_bytes() for path in files}, None


class Storage:
    """A directory on a file system of Hadoop."""

    def __init__(self, spark, url):
        self.jvm = spark._jvm
        self.path = self.jvm.org.apache.hadoop.fs.Path(url)
        self.files = self.path.getFileSystem(spark._jsc.hadoopConfiguration())
        self.path = self.files.makeQualified(self.path)

    def at(self, *names):
        path = self.path
        for name in names:
            # A path of one name only: a colon in it would make it a URL otherwise.
            path = self.jvm.org.apache.hadoop.fs.Path(path, "./" + name)
        return path

    def captures(self):
        """Returns the captures that the dataset has in all tables."""
        return set.intersection(*(self.listed(table) for table in COMMANDS))

    def listed(self, table):
        table = self.at(table)
        if not self.files.exists(table):
            return set()
        names = {status.getPath().getName() for status in self.files.listStatus(table)}
        # A name that is still in its staging directory too was not completely renamed.
        return {name for name in names if staging_of(name) not in names}

    def write(self, files):
        """Adds the files of one capture. Each directory gets its name when it is whole.

        Object storage cannot rename: a directory is copied, and deleted when all of it is. If that was interrupted, both are
        there.
        """
        for table, capture in sorted({tuple(path.split("/")[:2]) for path in files}):
            staging = staging_of(capture)
            if self.files.exists(self.at(table, staging)):
                self.files.delete(self.at(table, capture), True)
                self.files.delete(self.at(table, staging), True)
            elif self.files.exists(self.at(table, capture)):
                continue
            for path, octets in files.items():
                if path.startswith(f"{table}/{capture}/"):
                    stream = self.files.create(self.at(table, staging, *path.split("/")[2:]), True)
                    stream.write(bytearray(octets))
                    stream.close()
            if not self.files.rename(self.at(table, staging), self.at(table, capture)):
                raise OSError(f"{table}/{capture} cannot be renamed")


def staging_of(capture):
    """The name of a directory that is being written. Spark reads nothing whose name begins like this."""
    return "." + capture


def name_of(url, directory):
    """The name of a capture in the dataset: its path below the directory of the captures."""
    return url.removeprefix(directory.rstrip("/") + "/").replace("/", "~")


def literal(path):
    """A path that stands for itself, where patterns are understood."""
    return re.sub(r"[\\*?\[\]{}]", r"\\\g<0>", path)


def main():
    parser = argparse.ArgumentParser(description="Makes a dataset of captures with Apache Spark, and asks it questions.")
    parser.add_argument("captures", metavar="CAPTURES", help="a directory or URL")
    parser.add_argument("dataset", metavar="DATASET", help="a directory or URL")
    parser.add_argument("--program", default="rpcrdma", help="rpcrdma, built with the feature parquet")
    parser.add_argument("--pattern", default="*.pcap*", help="which names are captures")
    parser.add_argument("--answers", metavar="OUT.json", help="also write the answers here, on the driver")
    arguments = parser.parse_args()

    # Names of captures and hours are text, whatever they look like.
    spark = SparkSession.builder.config("spark.sql.sources.partitionColumnTypeInference.enabled", "false").getOrCreate()
    try:
        sys.exit(run(spark, arguments))
    finally:
        spark.stop()


def run(spark, arguments):
    # Executors get it from the driver.
    spark.sparkContext.addFile(arguments.program)
    captures, dataset = Storage(spark, arguments.captures), Storage(spark, arguments.dataset)
    program = pathlib.Path(arguments.program).name
    failed = add(spark, program, captures.path.toString(), dataset, arguments.pattern)
    for table in COMMANDS:
        spark.read.parquet(dataset.at(table).toString()).createOrReplaceTempView(table)
    found = {}
    for name, question in answers.questions().items():
        result = spark.sql(question)
        rows = [[answers.plain(value) for value in row] for row in result.collect()]
        found[name] = {"columns": result.columns, "rows": rows}
        answers.show(name, result.columns, rows)
    if arguments.answers:
        answers.write(arguments.answers, found)
    for error in failed:
        print(error, file=sys.stderr)
    return 1 if failed else 0


def add(spark, program, directory, dataset, pattern):
    """Adds the captures that the dataset does not have; returns what is wrong with those that cannot be read."""
    there = dataset.captures()
    files = spark.read.format("binaryFile").option("pathGlobFilter", pattern).option("recursiveFileLookup", "true")
    paths = [row.path for row in files.load(directory).select("path").collect()]
    wanted = [path for path in paths if f"capture={name_of(path, directory)}" not in there]
    if not wanted:
        return []
    # One task per capture: a task has one file at least, and no more than this many octets.
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1")
    chosen = spark.read.format("binaryFile").load([literal(path) for path in wanted]).select("path", "content").rdd
    # The results stay on the disks of the executors, and go through the driver one by one.
    made = chosen.map(lambda row: convert(program, name_of(row.path, directory), bytes(row.content))).persist(StorageLevel.DISK_ONLY)
    made.count()
    failed = []
    for files_of_capture, error in made.toLocalIterator():
        if error:
            failed.append(error)
        dataset.write(files_of_capture)
    made.unpersist()
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    return failed


if __name__ == "__main__":
    main()
