"""Reads a dataset with pandas, with polars and with DuckDB, and compares what they find in each table.

    python3 readers.py DATASET
"""

import pathlib
import sys

import duckdb
import pandas
import polars

# Of each table, a column whose values are added up.
TABLES = {"transactions": "latency_ns", "messages": "frame", "findings": "frame"}


def with_duckdb(table, column):
    query = f"SELECT capture, COUNT(*), SUM({column})::BIGINT FROM read_parquet('{table}/*/*/*.parquet') GROUP BY capture"
    return duckdb.sql(query).fetchall()


def with_pandas(table, column):
    # All columns, as most people read a table: those in the path too.
    rows = pandas.read_parquet(table)
    groups = rows.groupby("capture", observed=True)[column].agg(["size", "sum"])
    return list(groups.itertuples(name=None))


def with_polars(table, column):
    rows = polars.scan_parquet(table, hive_partitioning=True)
    return rows.group_by("capture").agg(polars.len(), polars.sum(column).alias("sum")).collect().rows()


def numbers(rows):
    return sorted((str(capture), int(count), int(total or 0)) for capture, count, total in rows)


def main():
    dataset = pathlib.Path(sys.argv[1])
    for name, column in TABLES.items():
        table = str(dataset / name)
        expected = numbers(with_duckdb(table, column))
        assert expected, f"{name} has no rows"
        for read in (with_pandas, with_polars):
            found = numbers(read(table, column))
            assert found == expected, f"{name}, {read.__name__}: {found}, but DuckDB: {expected}"
    print("pandas, polars and DuckDB agree")


if __name__ == "__main__":
    main()
