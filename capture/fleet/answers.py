"""The questions about a dataset, and their answers."""

import json
import pathlib
import sys

QUESTIONS = pathlib.Path(__file__).parent / "questions"
TABLES = ("transactions", "messages", "findings")


def questions():
    """The SQL of each question by its name."""
    return {path.stem: path.read_text() for path in sorted(QUESTIONS.glob("*.sql"))}


def show(name, columns, rows, out=sys.stdout):
    """Prints an answer as a table."""
    cells = [columns] + [["" if value is None else shown(value) for value in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(columns))]
    print(f"# {name}", file=out)
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), file=out)
    print(file=out)


def shown(value):
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def plain(value):
    """A value as JSON has it: sums come as integers of any width from one engine, and as decimals from another."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if value == int(value):
        return int(value)
    raise TypeError(f"not a value that both engines have: {value!r}")


def write(path, answers):
    """Writes answers, for agree.py: a column list and rows by the name of the question."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(answers, file, indent=1)
