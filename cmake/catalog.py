#!/usr/bin/env python3
"""Makes C and Go out of src/temporal/catalog.txt, which says what its words mean.

    catalog DIR     writes DIR/dsql/temporal_ops.h, DIR/temporal/catalog.h and DIR/temporal/catalog.c
    catalog --go    prints integrations/temporal/dsql/catalog.go
"""
import os
import re
import sys

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "temporal", "catalog.txt")
SCHEMA = os.path.join(os.path.dirname(SOURCE), "..", "..", "schema", "dsql", "v12", "temporal", "schema.sql")
SIZES = 6  # a statement of many inputs is made for 1, 2, 4, ... 32 of them
C_TYPES = {"I4": "int32_t", "I8": "int64_t", "BOOL": "bool", "TIME": "int64_t", "UUID": "struct dsql_id"}
OIDS = {"I4": 23, "I8": 20, "BOOL": 16, "TIME": 1114, "TEXT": 25, "BYTES": 17, "KEY": 25, "ID": 25, "UUID": 2950}
ARRAYS = {"I8": 1016, "TEXT": 1009, "KEY": 1009, "ID": 1009, "UUID": 2951}
KINDS = ("exec", "one", "many", "expect", "refuse")
FLAGS = ("multi", "queued", "counted", "special", "packs", "unpacks", "gathers")
FENCES = ("locks", "checks", "expects")


class Wrong(Exception):
    pass


class Field:
    def __init__(self, text):
        self.name, kind = text.split()
        self.nullable = kind.endswith("N")
        kind = kind.removesuffix("N")
        self.full = kind.endswith("+")
        self.type = kind.removesuffix("+")
        if self.full and self.type not in ("ID", "KEY"):
            raise Wrong(f"{text}: only ids have a whole form")
        if self.type not in OIDS or (self.nullable and self.type in ("I4", "BOOL")):
            raise Wrong(f"{kind} is no type")

    def whole(self):
        """The parameter that the store adds: the whole id where the field itself is sent in its short form."""
        return Field(f"{self.name}_full TEXTN")

    def c_type(self):
        if self.type == "UUID" and self.nullable:
            return "struct dsql_slice"
        return C_TYPES.get(self.type, "struct dsql_slice")


def fields_of(text):
    return [Field(part) for part in text.split(",")] if text else []


FORMS = {
    "names": (", ", "{0}", "{0}_full"),
    "values": (", ", "${0}", "${0}_full"),
    "is": (" AND ", "{0} = ${0}", "{0}_full IS NOT DISTINCT FROM ${0}_full"),
    "set": (", ", "{0} = ${0}", "{0}_full = ${0}_full"),
    "excluded": (", ", "{0} = excluded.{0}", "{0}_full = excluded.{0}_full"),
}


def listed_as(name, form, fields):
    """Fields in one of the forms, what has a whole form with it; what a query returns is the whole form."""
    between, own, whole = FORMS[form]
    if (name, form) == ("out", "names"):
        return ", ".join(f"COALESCE({f.name}_full, {f.name})" if f.full else f.name for f in fields)
    return between.join(text.format(f.name) for f in fields for text in ([own, whole] if f.full else [own]))


def expanded(text, words):
    """[NAME] and [NAME.form], innermost first; [a|b] stays."""
    def one(match):
        name, _, form = match[1].partition(".")
        if name not in words:
            raise Wrong(f"[{match[1]}] is nothing")
        if not form:
            return words[name]
        return listed_as(name, form, fields_of(expanded(words[name], words)))
    while True:
        more = re.sub(r"\[([A-Za-z_0-9.]+)\]", one, text)
        if more == text:
            return text
        text = more


def lines_of(text):
    """The lines of a text with [a|b] in it: one for each choice."""
    choices = re.findall(r"\[([^\[\]]*\|[^\[\]]*)\]", text)
    count = len(choices[0].split("|")) if choices else 1
    return [re.sub(r"\[([^\[\]]*\|[^\[\]]*)\]", lambda m, i=i: m[1].split("|")[i], text) for i in range(count)]


def values_of(path):
    """The columns of each table that may hold a large value, with those of their encodings."""
    out = {}
    with open(path, encoding="utf-8") as file:
        for table, body in re.findall(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*?)\n\);", file.read(), re.S):
            out[table] = re.findall(r"(\w+) BYTEA[^\n]*\n +(\w+_encoding) ", body)
    return out


class Statement:
    def __init__(self, op, text, condition="", extra=()):
        self.op, self.extra = op, list(extra)
        self.one = condition.endswith(", one")
        self.when = [part.strip() for part in condition.removesuffix(", one").split(" and ")] if condition else []
        outside = re.sub(r"\{.*?\}", "", text)
        names = [field.name for field in op.params]
        self.shared = sum(1 << i for i, name in enumerate(names) if re.search(rf"\${name}\b(?!\.)", outside))
        self.text = text
        if "[" in text:
            raise Wrong(f"{op.name}: what is [ in {text}?")
        if not op.has("multi"):
            self.shared = 0

    def number(self, name, add=0):
        names = [field.name for field in self.op.params]
        if name in names:
            return names.index(name) + 1 + add
        extra = [extra_name for extra_name, _ in self.extra]
        if name not in extra:
            raise Wrong(f"{self.op.name}: ${name} is no parameter")
        return len(names) + extra.index(name) + 1

    def changed(self):
        """The table whose rows the statement replaces or deletes, and which rows: none if it only adds some."""
        verb, table = re.match(r"(INSERT INTO|UPDATE|DELETE FROM|SELECT) ?(\w*)", self.text).groups()
        if verb in ("UPDATE", "DELETE FROM"):
            return table, self.text.split(" WHERE ", 1)[1]
        found = re.search(r"\((.*?)\) VALUES \{?\((.*?)\)\}? ON CONFLICT \((.*?)\) DO UPDATE", self.text)
        if verb != "INSERT INTO" or not found:
            return table, None
        values = dict(zip(found[1].split(", "), found[2].split(", ")))
        return table, " AND ".join(f"{key} = {values[key]}" for key in found[3].split(", "))

    def large(self, values):
        """What the statement is if it must not leave the parts of a large value behind: one that fails where
        there is such a value, and one that deletes the parts first. None where no such value can be."""
        table, rows = self.changed()
        if not values.get(table):
            return None
        self.check_large(values[table], rows)
        if rows is None:
            return None
        # A mark is no number: what looks at it fails. As a constant the cast would fail while it is planned.
        small = " AND ".join(f"CASE WHEN {table}.{encoding} LIKE '+%' THEN CAST({table}.{encoding} AS INTEGER) = 0 ELSE TRUE END"
                             for _, encoding in values[table])
        tickets = " UNION ALL ".join(f"SELECT CAST(encode(substring({value} FROM 1 FOR 16), 'hex') AS UUID) FROM {table} "
                                   f"WHERE {rows} AND {encoding} LIKE '+%'" for value, encoding in values[table])
        between = " WHERE " if self.text.startswith("INSERT") and " WHERE " not in self.text else " AND "
        return (Statement(self.op, self.text + between + small, extra=self.extra),
                Statement(self.op, f"DELETE FROM large_values WHERE id IN ({tickets})", extra=self.extra))

    def check_large(self, values, rows):
        """No statement may leave parts behind, or take them from a value that stays."""
        verb, _, sets = self.text.partition(" SET ")
        for value, encoding in values:
            if sets and not (re.search(rf"\b{value} = ", sets) and re.search(rf"\b{encoding} = ", sets)):
                raise Wrong(f"{self.op.name}: {value} stays, and its parts would not")
        if rows is None and "ON CONFLICT" in self.text:
            raise Wrong(f"{self.op.name}: parts would be added without their row")
        if verb.count("(SELECT") and "LIMIT" in verb and "ORDER BY" not in verb:
            raise Wrong(f"{self.op.name}: two statements with a limit need an order to mean the same rows")

    def sql(self, inputs=1):
        def numbered(text, add=0):
            return re.sub(r"\$([a-z_0-9]+(?:\.[a-z_0-9]+)?)", lambda m: f"${self.number(m[1], add)}", text)
        pieces = re.split(r"\{(.*?)\}", self.text)
        repeated = [", ".join(numbered(piece, i * len(self.op.params)) for i in range(inputs)) if at % 2 else
                    numbered(piece) for at, piece in enumerate(pieces)]
        return "".join(repeated)


class Op:
    def __init__(self, kind, name, flags):
        self.kind, self.name, self.flags = kind, name, flags
        self.fields, self.params, self.columns, self.fence = [], [], [], None
        self.statements, self.portion, self.then, self.otherwise = [], None, None, None
        if any(flag not in FLAGS for flag in flags):
            raise Wrong(f"{name}: unknown flag among {flags}")

    def has(self, flag):
        return flag in self.flags

    def is_query(self):
        return self.kind in ("one", "many")

    def all_statements(self):
        return self.statements + [made for made in (self.portion, self.then) if made]

    def before(self):
        """The parameters that a statement takes behind the fields: the tokens that must stand there."""
        if not self.fence or self.fence[0] != "checks":
            return []
        types = {field.name: field.type for field in self.fields}
        return [(f"before.{token}", types[token]) for token in self.fence[3]]

    def types(self):
        """Of the parameters of one input; the last field of `gathers` is an array."""
        types = [field.type for field in self.params]
        return types[:-1] + [types[-1] + "[]"] if self.has("gathers") else types

    def comparing(self, text):
        """The text with the whole ids compared where it finds rows by lists of ids, or meets rows that are there."""
        for name in (field.name for field in self.fields if field.full):
            text = text.replace(f"{name} IN ({{${name}}})", f"{name} IN ({{${name}}}) "
                                f"AND COALESCE({name}_full, '') IN ({{COALESCE(${name}_full, '')}})")
            met = re.match(rf"INSERT INTO (\w+) .* ON CONFLICT \([^)]*\b{name}\) DO (NOTHING|UPDATE)", text)
            if not met:
                continue
            # The words are no date, and so the server's error: as a constant they would be one while it is planned.
            other = f"{met[1]}.{name}_full IS DISTINCT FROM excluded.{name}_full"
            words = f"CAST('two ids have the same hash: ' || {met[1]}.{name} AS DATE) IS NULL"
            text = text.replace(" DO NOTHING", f" DO UPDATE SET {name}_full = excluded.{name}_full")
            text += f" WHERE CASE WHEN {other} THEN {words} ELSE {'TRUE' if met[2] == 'UPDATE' else 'FALSE'} END"
        return text

    def read(self, word, rest, words):
        own = dict(words, **{"in": self.text_in, "out": self.text_out}) if word not in ("in", "out") else words
        if word in FENCES:  # their keys are fields, not columns
            own = {name: text.replace("+", "") for name, text in own.items()}
        rest = expanded(rest, own)
        if word == "in":
            rest = rest.replace("+", "") if self.has("gathers") else rest  # the array has no place for whole ids
            self.text_in, self.fields = rest, fields_of(rest)
            self.params = self.fields + [field.whole() for field in self.fields if field.full]
        elif word == "out":
            self.text_out, self.columns = rest, fields_of(rest)
        elif word in FENCES:
            entity, keys, tokens = re.fullmatch(r"(\w+)\((.*)\): (.*)", rest).groups()
            self.fence = (word, entity, keys.split(", "), tokens.split(", "))
        elif word == "or":
            self.otherwise = rest.removeprefix("else ")
        elif word == "portion:":
            self.portion = Statement(self, self.comparing(rest), extra=[("portion", "I8")])
        elif word == "then:":
            self.then = Statement(self, self.comparing(rest), extra=[(f"found.{c.name}", c.type) for c in self.columns[:1]])
        elif word in ("sql:", "otherwise:"):
            self.statements.append(Statement(self, self.comparing(rest), extra=self.before()))
        elif word == "when":
            for line in lines_of(rest):
                condition, text = line.split(": ", 1)
                self.statements.append(Statement(self, self.comparing(text), condition, self.before()))
        else:
            raise Wrong(f"{self.name}: {word} is nothing")

    text_in = text_out = ""

    def check(self, entities):
        names = [field.name for field in self.fields]
        if self.is_query() != bool(self.columns):
            raise Wrong(f"{self.name}: columns are for queries")
        if (self.kind in ("expect", "refuse")) and (not self.fence or self.fence[0] != "expects"):
            raise Wrong(f"{self.name}: it expects nothing")
        if not self.fence:
            return
        mode, entity, keys, tokens = self.fence
        tokens_in = [column.name for column in self.columns] if mode == "locks" else names[len(keys):]
        if entity not in entities or names[:len(keys)] != keys or tokens_in[:len(tokens)] != tokens:
            raise Wrong(f"{self.name}: {mode} {entity}: the keys are not its first fields, or the tokens not behind them")


class Catalog:
    def __init__(self, path):
        self.ops, self.entities, self.words, self.templates = [], {}, {}, {}
        with open(path, encoding="utf-8") as file:
            self.read(joined(file.read().splitlines()), self.words)
        for op in self.ops:
            op.check(self.entities)

    def read(self, lines, words):
        lines = iter(lines)
        for line in lines:
            if line.startswith("  "):
                self.ops[-1].read(*line.split(None, 1), words)
                continue
            word, *rest = line.split()
            if word == "let":
                words[rest[0]] = expanded(line.split(" = ", 1)[1], words)
            elif word == "entity":
                self.entities[rest[0]] = (line.split('"')[1], rest[-1])
            elif word == "template":
                body = []
                for inner in lines:
                    if inner == "end":
                        break
                    body.append(inner)
                self.templates[rest[0]] = (rest[1:], body)
            elif word == "use":
                name, *given = expanded(" ".join(rest), words).split()
                wanted, body = self.templates[name]
                given += [""] * (len(wanted) - len(given))
                self.read(body, dict(words, **dict(zip(wanted, given))))
            elif word in KINDS:
                name, *flags = expanded(" ".join(rest), words).split()
                self.ops.append(Op(word, name, flags))
            else:
                raise Wrong(f"{line}: what is {word}?")


def joined(lines):
    """Without comments and empty lines; what stands far to the right continues its line."""
    out = []
    for line in lines:
        if line.startswith("      "):
            out[-1] += " " + line.strip()
        elif line.strip() and not line.startswith("#"):
            out.append(line.rstrip())
    return out


# -- C.

MADE = "/* Made by cmake/catalog.py out of src/temporal/catalog.txt: change that. */\n"


def header(catalog):
    out = [MADE, "#ifndef DSQL_TEMPORAL_OPS_H", "#define DSQL_TEMPORAL_OPS_H", "", '#include "dsql/slice.h"', "",
           "enum dsql_op {"]
    out += [f"    DSQL_OP_{op.name}," for op in catalog.ops] + ["    DSQL_OP_COUNT", "};", ""]
    for op in catalog.ops:
        out += struct(f"dsql_{op.name}", op.fields)
        if op.is_query():
            out += struct(f"dsql_{op.name}_row", op.columns)
    for name, queries in (("DSQL_EACH_EXEC", False), ("DSQL_EACH_QUERY", True)):
        out += ["", f"#define {name}(X) \\"]
        out += [" \\\n".join(f"    X({op.name})" for op in catalog.ops if op.is_query() == queries)]
    return "\n".join(out + ["", "#endif", ""])


def struct(name, fields):
    return [f"struct {name} {{"] + [f"    {f.c_type()} {f.name};" for f in fields] + ["};"]


def places(catalog):
    out = [MADE, "#ifndef DSQL_TEMPORAL_CATALOG_H", "#define DSQL_TEMPORAL_CATALOG_H", "",
           "/* What a fence protects. */", "enum dsql_fence_what {", "    DSQL_FENCED_NOTHING,"]
    out += [f"    DSQL_FENCED_{entity.upper()}," for entity in catalog.entities] + ["};", "",
            f"enum {{ DSQL_OP_FIELDS_MAX = {max(len(op.params) for op in catalog.ops)},",
            f"       DSQL_OP_STATEMENTS_MAX = {max(len(op.all_statements()) for op in catalog.ops)} }};", "",
            "/* Where the fields and columns of special operations are. */", "enum {"]
    for op in catalog.ops:
        if op.has("special"):
            out += [f"    DSQL_IN_{op.name}_{f.name} = {i}," for i, f in enumerate(op.fields)]
            out += [f"    DSQL_OUT_{op.name}_{f.name} = {i}," for i, f in enumerate(op.columns)]
    return "\n".join(out + ["};", "", "#endif", ""])


def stmt(op, name, sql, types, flags):
    numbers = ", ".join(str(ARRAYS[kind[:-2]] if kind.endswith("[]") else OIDS[kind]) for kind in types)
    return f'{{"{op.name}_{name}", {sql}, (const uint32_t[]){{{numbers}}}, {" | ".join(["DSQL_STMT_PREPARE"] + flags)}}}'


def quoted(sql):
    return '"' + sql + '"'


def condition(op, text):
    names = [field.name for field in op.fields]
    if text == "key share":
        return "{DSQL_WHEN_KEY_SHARE, 0, 0}"
    found = re.fullmatch(r"(\w+) (is null|is set|is true|is not 0|= (\d+))", text)
    if not found or found[1] not in names:
        raise Wrong(f"{op.name}: {text} is no condition")
    test = "EQUALS" if found[3] else {"is null": "NULL", "is set": "SET", "is true": "TRUE", "is not 0": "TRUE"}[found[2]]
    return f"{{DSQL_WHEN_{test}, {names.index(found[1])}, {found[3] or 0}}}"


def sized(op, made, name, flags):
    own, extra = op.types(), [kind for _, kind in made.extra]
    sizes = []
    for size in range(SIZES if op.has("multi") and not op.has("gathers") else 1):
        sql = quoted(made.sql(1 << size))
        if op.kind == "expect":
            sql = f"DSQL_EXPECTING({sql})"
        elif op.kind == "refuse":
            sql = f"DSQL_REFUSING({sql})"
        raises = ["DSQL_STMT_RAISES"] if op.kind in ("expect", "refuse") else []
        sizes.append("\n          " + stmt(op, f"{name}_{1 << size}", sql, own * (1 << size) + extra, flags + raises))
    return ",".join(sizes)


def raised(op, made, name):
    types = op.types() + [kind for _, kind in made.extra]
    return stmt(op, name, f"DSQL_RAISING({quoted(made.sql())})", types, ["DSQL_STMT_RAISES"])


def statement(op, made, at, values):
    flags = ["DSQL_STMT_READ"] if op.kind != "exec" else []
    forms = made.large(values) if op.kind == "exec" else None
    common = forms[0] if forms else made
    out = [f"    {{.by_size = {{{sized(op, common, at, flags)}}},"]
    if forms:
        types = op.types() + [kind for _, kind in made.extra]
        out.append(f"     .plain = {{{sized(op, made, f'{at}_plain', flags)}}},")
        out.append(f"     .clear = {stmt(op, f'{at}_clear', quoted(forms[1].sql()), types, [])},")
    if op.kind == "exec" and op.fence:
        out.append(f"     .raising = {raised(op, common, f'{at}_raising')},")
        if forms:
            out.append(f"     .plain_raising = {raised(op, made, f'{at}_plain_raising')},")
    out.append(f"     .extra = {len(made.extra)}, .shared = {made.shared:#x}, .one = {str(made.one or op.kind == 'one').lower()},")
    out.append(f"     .when = {{{', '.join(condition(op, text) for text in made.when) or '{DSQL_WHEN_ALWAYS, 0, 0}'}}}}},")
    return out


def listed(name, struct_name, fields, params=()):
    """Fields or columns. A column that holds an id is text; behind the fields stand the parameters of whole ids."""
    wholes = [param.name for param in params]
    out = [f"static const struct dsql_op_field {name}[] = {{"]
    for f in fields:
        kind = f.type if params or f.type != "ID" else "TEXT"
        full = wholes.index(f.name + "_full") if params and f.full else 0
        out.append(f'    {{"{f.name}", DSQL_COLUMN_{kind}, {str(f.nullable).lower()}, {full}, '
                   f'offsetof(struct {struct_name}, {f.name})}},')
    out += [f'    {{"{p.name}", DSQL_COLUMN_{p.type}, true, 0, 0}},' for p in params[len(fields):]]
    return out + ["};"]


def table(catalog, values):
    out = [MADE, '#include "temporal/ops.h"', "", "#include <stddef.h>", ""]
    infos = []
    for op in catalog.ops:
        out += listed(f"in_{op.name}", f"dsql_{op.name}", op.fields, op.params)
        if op.columns:
            out += listed(f"out_{op.name}", f"dsql_{op.name}_row", op.columns)
        all_of = op.all_statements()
        out.append(f"static const struct dsql_op_statement sql_{op.name}[] = {{")
        for at, made in enumerate(all_of):
            out += statement(op, made, at, values)
        out.append("};")
        info = [f'.name = "{op.name}"', f".kind = DSQL_KIND_{op.kind.upper() if op.kind != 'refuse' else 'EXPECT'}",
                ".flags = " + (" | ".join(f"DSQL_FLAG_{flag.upper()}" for flag in op.flags) or "0"),
                f".fields = in_{op.name}", f".field_count = {len(op.params)}", f".given_count = {len(op.fields)}",
                f".statements = sql_{op.name}", f".statement_count = {len(op.statements)}",
                f".input_size = sizeof(struct dsql_{op.name})"]
        if op.columns:
            info += [f".columns = out_{op.name}", f".column_count = {len(op.columns)}",
                     f".row_size = sizeof(struct dsql_{op.name}_row)"]
        if op.fence:
            mode, entity, keys, tokens = op.fence
            info.append(f".fence = {{DSQL_FENCE_{mode.upper()}, DSQL_FENCED_{entity.upper()}, {len(keys)}, {len(tokens)}}}")
        for name in ("portion", "then"):
            if getattr(op, name):
                info.append(f".{name} = &sql_{op.name}[{all_of.index(getattr(op, name))}]")
        if op.otherwise:
            info.append(f'.otherwise = "{op.otherwise}"')
        infos.append(f"    [DSQL_OP_{op.name}] = {{" + ",\n        ".join(info) + "},")
    out += ["", "const struct dsql_op_info dsql_ops[DSQL_OP_COUNT] = {"] + infos + ["};", "",
            "const struct dsql_entity dsql_entities[] = {", '    [DSQL_FENCED_NOTHING] = {"", DSQL_OP_COUNT},']
    out += [f'    [DSQL_FENCED_{entity.upper()}] = {{"{name}", DSQL_OP_{read}}},'
            for entity, (name, read) in catalog.entities.items()]
    return "\n".join(out + ["};", ""])


# -- Go.

GO_TYPES = {"I4": "int32", "I8": "int64", "BOOL": "bool", "TIME": "time.Time", "TEXT": "string", "BYTES": "[]byte",
            "KEY": "[]byte", "ID": "string", "UUID": "primitives.UUID"}


def go_name(name):
    first, *rest = name.split("_")
    return first + "".join(word.upper() if word == "id" else word.capitalize() for word in rest)


def go(catalog):
    """One method of args for each operation, with its fields as parameters; what may be NULL is of any type."""
    out = ["// Code generated by cmake/catalog.py out of src/temporal/catalog.txt. DO NOT EDIT.", "", "package dsql", "",
           "/*", '#include "bridge.h"', "*/", 'import "C"', "", "import (", '\t"time"', "",
           '\t"go.temporal.io/server/common/primitives"', ")"]
    keys = {f"key_{op.fence[1]}_{key}": at for op in catalog.ops if op.fence for at, key in enumerate(op.fence[2])}
    width = max(len(go_name(key)) for key in keys)
    out += ["", "// Where the keys of what fences protect are among the fields.", "const ("]
    out += [f"\t{go_name(key):{width}} = {at}" for key, at in keys.items()] + [")"]
    for op in catalog.ops:
        names = [go_name(field.name) for field in op.fields]
        types = ["any" if field.nullable else GO_TYPES[field.type] for field in op.fields]
        given = [name if types[i + 1:i + 2] == types[i:i + 1] else f"{name} {types[i]}" for i, name in enumerate(names)]
        out += ["", f"func (a *args) {op.name}({', '.join(given)}) *args {{",
                f"\treturn a.row(C.DSQL_OP_{op.name}, {', '.join(names)})", "}"]
    return "\n".join(out + [""])


def write(path, text):
    """Leaves a file alone that is as it should be, so that nothing is compiled anew."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(arguments):
    catalog = Catalog(SOURCE)
    target = arguments[0]
    if target == "--go":
        print(go(catalog), end="")
        return
    write(os.path.join(target, "dsql", "temporal_ops.h"), header(catalog))
    write(os.path.join(target, "temporal", "catalog.h"), places(catalog))
    write(os.path.join(target, "temporal", "catalog.c"), table(catalog, values_of(SCHEMA)))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Wrong as wrong:
        sys.exit(f"catalog: {wrong}")
