"""Asks a dataset the questions in SQL, with DuckDB.

    python3 query.py DATASET [QUESTION...] [--answers OUT.json]
"""

import argparse
import pathlib

import duckdb

import answers


def open_dataset(dataset):
    """A connection in which each table of the dataset is a view."""
    connection = duckdb.connect()
    for table in answers.TABLES:
        # A directory that is still written has another name.
        files = str(pathlib.Path(dataset) / table / "capture=*" / "hour=*" / "*.parquet").replace("'", "''")
        # Names of captures and hours are text, whatever they look like.
        options = "hive_partitioning = true, hive_types_autocast = false, union_by_name = true"
        connection.sql(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}', {options})")
    return connection


def main():
    parser = argparse.ArgumentParser(description="Asks a dataset the questions in SQL, with DuckDB.")
    parser.add_argument("dataset", metavar="DATASET", help="the directory that 'rpcrdma --parquet' wrote")
    parser.add_argument("questions", metavar="QUESTION", nargs="*", help="such as slow-operations; all by default")
    parser.add_argument("--answers", metavar="OUT.json", help="also write the answers here")
    arguments = parser.parse_args()
    known = answers.questions()
    for name in arguments.questions:
        if name not in known:
            parser.error(f"no question {name}: there are {', '.join(known)}")
    connection = open_dataset(arguments.dataset)
    found = {}
    for name in arguments.questions or known:
        result = connection.sql(known[name])
        rows = [[answers.plain(value) for value in row] for row in result.fetchall()]
        found[name] = {"columns": result.columns, "rows": rows}
        answers.show(name, result.columns, rows)
    if arguments.answers:
        answers.write(arguments.answers, found)


if __name__ == "__main__":
    main()
