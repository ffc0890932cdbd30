"""Tables of a Markdown document, each found by its first line."""
import sys


def cells_of(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def row_of(cells):
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def table_at(lines, head, document="the document"):
    """The first and last line of the rows of the table with this head."""
    if head[0] not in lines:
        sys.exit(f"{document}: no line \"{head[0]}\", with which the table begins")
    begin = lines.index(head[0]) + len(head)
    end = begin
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return begin, end


def rows_in(document, head):
    lines = document.read_text().splitlines()
    begin, end = table_at(lines, head, document)
    return lines[begin:end]


def replace_table(document, head, rows):
    """Replaces all rows of the table with this head."""
    lines = document.read_text().splitlines()
    begin, end = table_at(lines, head, document)
    lines[begin:end] = rows
    document.write_text("\n".join(lines) + "\n")


def first_cell(row):
    return cells_of(row)[0]


def merge_table(document, head, rows, order=(), key_of=first_cell):
    """Replaces the rows that have the key of one of `rows`; the others stay. `order`: first cells, in
    which the table's rows are put; rows of others follow."""
    asked = {key_of(row) for row in rows}
    table = {}
    for row in [row for row in rows_in(document, head) if key_of(row) not in asked] + rows:
        table.setdefault(first_cell(row), []).append(row)
    names = [name for name in order if name in table] + [name for name in table if name not in order]
    replace_table(document, head, [row for name in names for row in table[name]])
