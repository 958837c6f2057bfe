"""Compares two files of answers, row by row.

    python3 agree.py ONE.json OTHER.json
"""

import json
import sys


def main():
    one, other = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
    wrong = 0
    if list(one) != list(other) or not one:
        sys.exit(f"not the same questions: {list(one)}, {list(other)}")
    for name in one:
        (columns, rows), (other_columns, other_rows) = (
            (answer[name]["columns"], answer[name]["rows"]) for answer in (one, other)
        )
        if columns != other_columns or len(rows) != len(other_rows):
            wrong += 1
            print(f"{name}: {len(rows)} rows of {columns}, {len(other_rows)} rows of {other_columns}")
            continue
        for number, (row, other_row) in enumerate(zip(rows, other_rows)):
            if row != other_row:
                wrong += 1
                print(f"{name}, row {number}: {row}, {other_row}")
        print(f"{name}: {len(rows)} rows agree" if rows == other_rows else f"{name}: they differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
