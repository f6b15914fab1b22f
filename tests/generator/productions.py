"""The grammar of expressions, as data: for each kind of value, texts with holes.

A hole `{int}` is filled with an expression of that kind, `{int!}` with a literal of it, `{T}` with one of the kind that is
asked for, and all `{U}` of a text with expressions of one kind. `{num}` is any kind of number, `{any}` any kind at all.

CORE is what DuckDB is proved for, as far as a grammar can say it: most statements are made of it, so that most differences have a
chance to be seen. WIDE has the rest of what Spark knows (functions of chance, of the clock and sketches excepted, see
`tests/generator/not_generated.py`); such statements are the same text on both sides.
"""

from __future__ import annotations

INTEGERS = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*INTEGERS, "double", "float", "decimal")
KINDS = (*NUMBERS, "string", "boolean", "date", "timestamp")

LITERALS: dict[str, tuple[str, ...]] = {
    "tinyint": ("5Y", "CAST(0 AS TINYINT)", "CAST(-3 AS TINYINT)", "127Y"),
    "smallint": ("7S", "CAST(-300 AS SMALLINT)", "0S", "32767S"),
    "int": ("0", "1", "2", "3", "-1", "10", "7", "2147483647", "-2147483648", "100"),
    "bigint": ("0L", "1L", "-5L", "10000000000", "CAST(3 AS BIGINT)", "9223372036854775807"),
    "double": ("0.5D", "1.5D", "-2.25D", "0D", "1e3", "1e-3", "CAST('NaN' AS DOUBLE)", "double('Infinity')", "100D"),
    "float": ("1.5F", "CAST(0.25 AS FLOAT)", "0F"),
    "decimal": ("1.50", "0.05", "-2.5", "100.00", "0.0", "99999999.99", "3.", "CAST(7 AS DECIMAL(5,1))", "1.5BD"),
    "string": ("'x'", "''", "'Zed'", "' pad '", "'10'", "'x%y'", "'é'", "'2024-02-29'", "'-1'", '"q"', "'it''s'", "r'a\\d'"),
    "boolean": ("TRUE", "FALSE", "true"),
    "date": ("DATE '2024-02-29'", "DATE '1970-01-01'", "date'9999-12-31'", "to_date('2024-03-31')", "DATE '0001-01-01'"),
    "timestamp": (
        "TIMESTAMP '2024-02-29 12:34:56.789'", "TIMESTAMP '1970-01-01 00:00:00'", "timestamp'1969-12-31 23:59:59.5'",
        "CAST('2024-01-01 00:00:00' AS TIMESTAMP)", "TIMESTAMP '2024-03-31'",
    ),
    "binary": ("X'ff00'", "CAST('abc' AS BINARY)", "X''"),
    "digits": ("'10'", "'-1'", "'0'", "'7'"),
    "days": ("'2024-02-29'", "'1970-01-01'"),
    "size": ("0", "1", "2", "3", "5"),
    "place": ("0", "1", "2", "-1", "-3", "10"),
    "pattern": ("'x%'", "'%'", "'_'", "'%e%'", "''", "'x\\\\%y'", "'Z_d'"),
    "regex": ("'^x'", "'[a-z]+'", "'.$'", "'a|b'", "'\\\\d'", "'^$'", "'(x|y).?'"),
}  # fmt: skip

_COMPARED = ("=", "<>", "!=", "<", "<=", ">", ">=", "<=>")

# For any kind T.
CHOICES = (
    "coalesce({T}, {T})", "coalesce({T}, {T}, {T})", "CASE WHEN {boolean} THEN {T} ELSE {T} END",
    "CASE WHEN {boolean} THEN {T} WHEN {boolean} THEN {T} END", "CASE {U} WHEN {U} THEN {T} WHEN {U} THEN {T} ELSE {T} END",
    "if({boolean}, {T}, {T})", "nullif({T}, {T})", "nvl({T}, {T})", "ifnull({T}, {T})", "nvl2({any}, {T}, {T})",
    "greatest({T}, {T})", "least({T}, {T}, {T})", "({T})", "coalesce({T}, NULL)", "CASE WHEN {boolean} THEN {T} ELSE NULL END",
    "nullif({T}, {T!})",
)  # fmt: skip

_DATE_UNITS = ("YEAR", "MONTH", "WEEK", "DAY")
_CLOCK_UNITS = ("HOUR", "MINUTE", "SECOND")

CORE: dict[str, tuple[str, ...]] = {
    "tinyint": ("CAST({int!} AS TINYINT)", "(- {tinyint})", "abs({tinyint})", "({tinyint} % {tinyint})", "({tinyint} & {tinyint})", "(~ {tinyint})"),
    "smallint": (
        "({smallint} + {tinyint})", "CAST({tinyint} AS SMALLINT)", "({smallint} | {smallint})", "({smallint} % 7S)",
        "CAST({int!} AS SMALLINT)", "({smallint} * {tinyint})",
    ),
    "int": (
        "({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} % {int})", "(- {int})", "({int} + {smallint})",
        "({int} & {int})", "({int} | {int})", "({int} ^ {int})", "(~ {int})", "abs({int})", "pmod({int}, 3)", "mod({int}, 2)",
        "CAST({double} AS INT)", "CAST({decimal} AS INT)", "CAST({boolean} AS INT)", "CAST({digits!} AS INT)", "int({bigint})",
        "length({string})", "char_length({string})", "instr({string}, {string})", "position({string} IN {string})",
        "locate({string}, {string})", "year({date})", "quarter({date})", "month({timestamp})", "day({date})",
        "dayofmonth({timestamp})", "dayofyear({date})", "dayofweek({date})", "weekday({date})", "weekofyear({date})",
        "hour({timestamp})", "minute({timestamp})", "second({timestamp})", "datediff({date}, {date})", "unix_date({date})",
        "extract(YEAR FROM {date})", "extract(DOW FROM {date})", "extract(HOUR FROM {timestamp})", "extract(WEEK FROM {date})",
        "round({int}, 1)", "date_diff({date}, {date})", "CAST({string} AS INT)",
        "len({string})", "CAST({bigint} AS INT)", "hour({date})", "extract(MONTH FROM {timestamp})", "extract(DOY FROM {date})",
    ),
    "bigint": (
        "({bigint} + {int})", "({bigint} - {bigint})", "({bigint} * {int})", "({int} div {int})", "({bigint} div {int})",
        "({bigint} % 10)", "floor({double})", "ceil({double})", "ceiling({int})", "CAST({int} AS BIGINT)", "CAST({double} AS BIGINT)",
        "CAST({timestamp} AS BIGINT)", "unix_timestamp({timestamp})", "abs({bigint})", "({bigint} ^ {int})", "({bigint} & {bigint})",
        "CAST({digits!} AS BIGINT)", "CAST({decimal} AS BIGINT)", "floor({int})", "(- {bigint})", "pmod({bigint}, 7)",
        "(~ {bigint})", "CAST({string} AS BIGINT)", "CAST({boolean} AS BIGINT)",
    ),
    "double": (
        "({double} + {num})", "({double} - {double})", "({double} * {double})", "({int} / {int})", "({double} / {num})",
        "({double} % {double})", "(- {double})", "abs({double})", "sqrt({num})", "sign({num})", "signum({double})", "round({double}, 2)",
        "round({double})", "CAST({int} AS DOUBLE)", "CAST({decimal} AS DOUBLE)", "double({digits!})", "({bigint} / 4)",
        "({double} * {int})", "CAST({string} AS DOUBLE)", "nullif({double}, 0)", "({double} + {decimal})", "round({double}, 1)",
    ),
    "float": ("CAST({double} AS FLOAT)", "float({int})"),
    "decimal": (
        "({decimal} + {decimal})", "({decimal} - {decimal})", "({decimal} * {decimal})", "({decimal} + {int})", "({decimal} * 2)",
        "(- {decimal})", "abs({decimal})", "round({decimal}, 1)", "round({decimal})", "floor({decimal})", "ceil({decimal})",
        "CAST({int} AS DECIMAL(12,2))", "CAST({decimal} AS DECIMAL(20,3))", "CAST({decimal} AS DECIMAL(8,1))", "({decimal} + {decimal!})",
        "CAST({bigint} AS DECIMAL(20,0))", "({bigint} * {decimal!})",
    ),
    "string": (
        "upper({string})", "lower({string})", "concat({string}, {string})", "({string} || {string})", "concat({any}, {string})",
        "concat_ws(',', {string}, {string})", "substring({string}, {place!})", "substring({string}, {place!}, {size!})",
        "substr({string}, {size!}, {size!})", "left({string}, {size!})", "right({string}, {size!})", "trim({string})", "ltrim({string})",
        "rtrim({string})", "trim(LEADING 'x' FROM {string})", "trim(BOTH 'xy' FROM {string})", "btrim({string})", "btrim({string}, 'x')",
        "lpad({string}, {size!}, '*')", "rpad({string}, {size!})", "rpad({string}, {size!}, 'ab')", "replace({string}, 'x', 'yy')",
        "replace({string}, {string}, {string})", "repeat({string}, {size!})", "CAST({int} AS STRING)", "CAST({decimal} AS STRING)",
        "CAST({boolean} AS STRING)", "string({date})", "CAST({timestamp} AS STRING)", "CAST({bigint} AS STRING)", "concat({string}, {int})",
        "ucase({string})", "lcase({string})", "trim(TRAILING FROM {string})", "concat_ws('-', {string}, {int}, {date})",
    ),
    "boolean": (
        *(f"({{U}} {symbol} {{U}})" for symbol in _COMPARED), *(f"({{num}} {symbol} {{num}})" for symbol in _COMPARED),
        "({date} < {timestamp})", "({boolean} AND {boolean})", "({boolean} OR {boolean})", "(NOT {boolean})", "({any} IS NULL)",
        "({any} IS NOT NULL)", "({boolean} IS TRUE)", "({boolean} IS NOT FALSE)", "({U} IN ({U}, {U!}))", "({U} NOT IN ({U!}, {U!}, NULL))",
        "({U} BETWEEN {U} AND {U})", "({U} NOT BETWEEN {U!} AND {U})", "({string} LIKE {pattern!})", "({string} NOT LIKE {pattern!})",
        "({string} ILIKE 'X%')", "({string} RLIKE {regex!})", "({string} LIKE 'x#%%' ESCAPE '#')", "startswith({string}, {string})",
        "endswith({string}, 'x')", "contains({string}, {string})", "isnull({any})", "isnotnull({any})", "isnan({double})",
        "({U} IS DISTINCT FROM {U})", "({U} IS NOT DISTINCT FROM {U})", "CAST({int} AS BOOLEAN)", "({int} = {digits!})",
        "({date} >= '2024-01-01')", "({boolean} = {boolean})", "({num} BETWEEN {num} AND {num})", "({boolean} AND {boolean} OR {boolean})",
        "({int} IN (1, 2, 3))", "regexp_like({string}, {regex!})", "({string} REGEXP {regex!})", "({num} IN ({num!}, {num!}))",
    ),
    "date": (
        "date_add({date}, {size!})", "date_sub({date}, {int!})", "({date} + {size!})", "add_months({date}, {place!})", "last_day({date})",
        "CAST({timestamp} AS DATE)", "to_date({timestamp})", "trunc({date}, 'MONTH')", "trunc({date}, 'YEAR')", "trunc({date}, 'WEEK')",
        "make_date(2024, {size!}, 1)", *(f"({{date}} + INTERVAL '1' {unit})" for unit in _DATE_UNITS), "({date} - INTERVAL 2 DAYS)",
        "date({days!})", "CAST('2024-02-29' AS DATE)", "trunc({date}, 'quarter')", "date_add({date}, {int})", "({date} - {tinyint})",
    ),
    "timestamp": (
        *(f"date_trunc('{unit}', {{timestamp}})" for unit in ("YEAR", "QUARTER", *_DATE_UNITS[1:], *_CLOCK_UNITS)),
        *(f"({{timestamp}} + INTERVAL '1' {unit})" for unit in (*_DATE_UNITS, *_CLOCK_UNITS)), "({timestamp} - INTERVAL 30 MINUTES)",
        "CAST({date} AS TIMESTAMP)", "timestamp_seconds({int})", "timestamp({date})", "(INTERVAL '3' HOUR + {timestamp})",
        "to_timestamp('2024-03-01 01:02:03')", "({date} + INTERVAL '5' HOUR)",
    ),
}  # fmt: skip

WIDE: dict[str, tuple[str, ...]] = {
    "tinyint": ("getbit({int}, 1)", "bit_get({bigint}, 0)", "try_cast({string} AS TINYINT)", "tinyint({int!})"),
    "smallint": ("CAST({decimal} AS SMALLINT)", "smallint({int})"),
    "int": (
        "ascii({string})", "positive({int})", "negative({int})", "bit_count({int})", "bit_length({string})", "octet_length({string})", "shiftleft({int}, 2)", "({int} << 1)",
        "({int} >> 1)", "shiftright({int}, 1)", "shiftrightunsigned({int}, 1)", "levenshtein({string}, {string})",
        "find_in_set({string}, 'x,y')", "regexp_count({string}, {regex!})", "regexp_instr({string}, {regex!})", "hash({any})",
        "size({array})", "cardinality({array})", "array_size({array})", "element_at({array}, 1)", "{array}[0]", "get({array}, 1)",
        "array_max({array})", "array_min({array})", "try_element_at({array}, 9)", "aggregate({array}, 0, (s, x) -> s + x)",
        "reduce({array}, 1, (s, x) -> s * x)", "bround({int}, -1)", "try_add({int}, {int})", "try_subtract({int}, {int})",
        "try_multiply({int}, {int})", "try_mod({int}, {int})", "width_bucket({double}, 0, 10, 5)", "date_part('MONTH', {date})",
        "datepart('YEAR', {date})", "json_array_length('[1,2]')", "character_length({string})", "try_cast({string} AS INT)",
        "element_at({map}, 'k')", "{map}['k']", "named_struct('p', {int}, 'q', 2).p", "struct({int} AS p).p", "json_array_length({string})",
        "vector_norm(array(1F, 2F))::int", "zeroifnull({int})", "nullifzero({int})", "{int}::int", "date_diff(DAY, {timestamp}, {timestamp})",
        "try_variant_get(parse_json('{{\"p\": 1}}'), '$.p', 'int')", "variant_get(parse_json('[3]'), '$[0]', 'int')",
    ),
    "bigint": (
        "factorial({size!})", "bigint({double})", "crc32({string})", "xxhash64({any})", "unix_micros({timestamp})", "unix_millis({timestamp})",
        "unix_seconds({timestamp})", "to_unix_timestamp({timestamp})", "array_position({array}, 1)", "bitmap_bit_position({bigint})",
        "bitmap_bucket_number({bigint})", "conv('ff', 16, 10)::bigint", "timestampdiff(HOUR, {timestamp}, {timestamp})", "mod({bigint}, {int})",
    ),
    "double": (
        "acos({double})", "acosh({double})", "asin({double})", "asinh({double})", "atan({double})", "atan2({double}, {double})",
        "atanh({double})", "cbrt({double})", "cos({double})", "cosh({double})", "cot({double})", "csc({double})", "degrees({double})", "e()",
        "exp({double})", "expm1({double})", "hypot({double}, {double})", "ln({num})", "log({num})", "log(2, {num})", "log10({num})",
        "log1p({double})", "log2({num})", "pi()", "pow({num}, 2)", "power({double}, {double})", "radians({double})", "rint({double})",
        "sec({double})", "sin({double})", "sinh({double})", "tan({double})", "tanh({double})", "nanvl({double}, {double})",
        "try_divide({num}, {num})", "bround({double}, 1)", "months_between({date}, {date})", "jaro_winkler_similarity({string}, {string})",
        "round({double}, -1)", "try_cast({string} AS DOUBLE)",
    ),
    "decimal": ("({decimal} / {decimal})", "({decimal} % {decimal})", "CAST({double} AS DECIMAL(20,4))", "CAST({string} AS DECIMAL(10,2))",
        "bround({decimal}, 1)", "ceil({decimal}, 1)", "floor({double}, 1)", "to_number('12', '99')", "try_to_number({string}, '99')",
        "try_add({decimal}, {decimal})", "extract(SECOND FROM {timestamp})"),
    "string": (
        "base64({binary})", "bin({bigint})", "char({int})", "chr({int})", "conv({string}, 10, 2)", "decode({binary}, 'UTF-8')", "elt(1, {string}, {string})",
        "format_number({double}, 2)", "format_string('%s-%d', {string}, {int})", "hex({int})", "hex({string})", "initcap({string})", "mask({string})",
        "overlay({string} PLACING '_' FROM 2)", "parse_url('http://a.b/c?d=e', 'HOST')", "printf('%d', {int})", "quote({string})",
        "regexp_extract({string}, '(x)', 1)", "regexp_replace({string}, {regex!}, 'z')", "regexp_substr({string}, {regex!})", "reverse({string})",
        "soundex({string})", "space({size!})", "split_part({string}, ' ', 1)", "split({string}, ' ')[0]", "substring_index({string}, 'x', 1)",
        "to_char({int}, '999')", "to_varchar({decimal}, '9999.99')", "translate({string}, 'xy', 'ab')", "try_url_decode({string})", "url_decode('a%20b')",
        "url_encode({string})", "md5({string})", "sha({string})", "sha1({string})", "sha2({string}, 256)", "date_format({timestamp}, 'yyyy-MM')",
        "date_format({date}, 'EEE')", "dayname({date})", "monthname({date})", "from_unixtime({int})", "get_json_object('{{\"p\": 1}}', '$.p')",
        "to_json(named_struct('p', {any}))", "to_csv(named_struct('p', {int}))", "typeof({any})", "array_join({sarray}, ',')", "CAST({double} AS STRING)",
        "concat_ws(',', {sarray})", "try_parse_url({string}, 'HOST')", "try_validate_utf8({string})", "validate_utf8({string})", "make_valid_utf8({string})",
        "schema_of_json('[1]')", "schema_of_csv('1,a')", "collation({string})", "hmac({string}, 'key')", "to_base32({string})::string", "{string}[0]",
        "aes_encrypt({string}, 'abcdefghijklmnop', 'ECB')::string", "to_json({map})", "to_xml(named_struct('p', {int}))",
        "schema_of_variant(parse_json('[1]'))", "element_at({sarray}, -1)", "elt(2, 'p', {string})", "CAST({binary} AS STRING)", "collate({string}, 'UTF8_BINARY')",
    ),
    "boolean": (
        "equal_null({any}, {any})", "array_contains({array}, {int})", "arrays_overlap({array}, {array})", "exists({array}, x -> x > 1)",
        "forall({array}, x -> x IS NOT NULL)", "map_contains_key({map}, 'k')", "luhn_check({string})", "is_valid_utf8({string})",
        "({string} LIKE ANY ('x%', '%y'))", "({string} LIKE ALL ('x%', '%y'))", "({string} LIKE {string})", "is_variant_null(parse_json('null'))",
        "is_valid_variant(parse_json('1'))", "(({int}, {string}) IN ((1, 'x'), (2, 'y')))", "({boolean} <=> NULL)", "CAST({string} AS BOOLEAN)",
        "regexp({string}, {regex!})", "rlike({string}, {regex!})", "ilike({string}, 'x%')", "like({string}, 'x%')", "(named_struct('p', {int}) = named_struct('p', {int}))",
        "({binary} = {binary})", "(! {boolean})", "boolean({string})", "boolean({int})",
    ),
    "date": (
        "next_day({date}, 'MON')", "date_from_unix_date({int})", "try_to_date({string})", "dateadd(MONTH, 1, {date})::date", "to_date({days!}, 'yyyy-MM-dd')",
        "try_cast({string} AS DATE)", "make_date({int}, 1, 1)", "dateadd({date}, {size!})", "CAST({string} AS DATE)",
    ),
    "timestamp": (
        "from_utc_timestamp({timestamp}, 'Asia/Tokyo')", "to_utc_timestamp({timestamp}, 'UTC')", "make_timestamp(2024, 1, 2, 3, 4, 5.5)",
        "timestamp_micros({bigint})", "timestamp_millis({bigint})", "to_timestamp({days!})", "try_to_timestamp({string})",
        "timestampadd(HOUR, 2, {timestamp})", "try_make_timestamp(2024, 13, 1, 0, 0, 0)", "make_timestamp_ltz(2024, 1, 1, 0, 0, 0)",
        "to_timestamp_ltz('2024-01-01')", "({timestamp} + make_dt_interval(1, 2))", "({timestamp} + make_interval(0, 1))",
        "({date} + make_ym_interval(1, 2))::timestamp", "convert_timezone('UTC', 'Asia/Tokyo', {timestamp}::timestamp_ntz)::timestamp",
        "({timestamp} + INTERVAL '1 02:03:04' DAY TO SECOND)", "time_bucket(INTERVAL '1' HOUR, {timestamp})", "try_make_timestamp_ltz(2024, 1, 1, 0, 0, 0)",
        "timestamp_seconds({decimal})", "to_timestamp_ntz('2024-01-01')::timestamp", "make_timestamp_ntz(2024, 1, 1, 0, 0, 0)::timestamp",
        "try_make_timestamp_ntz(2024, 1, 1, 0, 0, 0)::timestamp", "({timestamp} + try_make_interval(0, 1))",
    ),
    "float": ("vector_inner_product(array(1F), array({float}))", "vector_cosine_similarity(array(1F), array(2F))",
        "vector_l2_distance(array(1F), array(2F))", "({float} + {float})", "({float} * {int})"),
    "binary": (
        "encode({string}, 'UTF-8')", "unbase64('YWJj')", "unhex('FF')", "to_binary('FF', 'hex')", "try_to_binary({string}, 'hex')", "CAST({string} AS BINARY)",
        "unhex(hex({string}))", "from_base32(to_base32({string}))", "concat({binary}, {binary})", "bitmap_count({binary})::string::binary", "reverse({binary}::string)::binary",
        "lpad({binary}, 2, X'00')", "substring({binary}, 1, 1)", "try_aes_decrypt({binary}, 'abcdefghijklmnop')",
        "aes_decrypt(aes_encrypt({binary}, 'abcdefghijklmnop', 'ECB'), 'abcdefghijklmnop', 'ECB')", "left({binary}, 1)", "binary({string})",
    ),
    "array": (
        "array({int}, {int})", "array({int!})", "sequence(1, {size!})", "array_append({array}, {int})", "array_compact({array})", "array_distinct({array})",
        "array_except({array}, {array})", "array_insert({array}, 1, {int})", "array_intersect({array}, {array})", "array_prepend({array}, {int})",
        "array_remove({array}, 1)", "array_repeat({int}, 2)", "array_sort({array})", "array_union({array}, {array})", "filter({array}, x -> x > 0)",
        "flatten(array({array}, {array}))", "slice({array}, 1, 1)", "sort_array({array}, false)", "transform({array}, x -> x + 1)",
        "zip_with({array}, {array}, (x, y) -> x)", "map_values({map})", "concat({array}, {array})", "reverse({array})",
        "from_json('[1,2]', 'array<int>')", "transform({array}, (x, i) -> i)",
    ),
    "sarray": (
        "split({string}, ' ')", "array({string}, {string})", "map_keys({map})", "regexp_extract_all({string}, '([a-z])', 1)", "json_object_keys('{{\"p\": 1}}')",
        "sentences({string})[0]", "array_sort(array({string}, 'b'))",
    ),
    "map": (
        "map('k', {int})", "map_concat(map('k', {int}), map('l', 2))", "map_filter({map}, (k, v) -> v > 0)", "map_from_arrays(array('k'), array({int}))",
        "map_from_entries(array(struct('k', {int})))", "transform_values({map}, (k, v) -> v)", "transform_keys({map}, (k, v) -> concat(k, 'x'))",
        "map_zip_with({map}, {map}, (k, v, w) -> v)", "from_json('{{\"k\": 1}}', 'map<string,int>')", "map_from_entries(map_entries({map}))",
    ),
    "struct": (
        "named_struct('p', {any}, 'q', {int})", "struct({any}, {any})", "struct({int} AS p)", "from_csv('1,a', 'p INT, q STRING')",
        "arrays_zip({array}, {array})", "str_to_map('a:1,b:2')", "make_interval(1, 2)::string", "(DATE '2024-01-02' - {date})", "({timestamp} - {timestamp})",
        "(INTERVAL '1' DAY * {int})", "to_time('12:30:00')", "make_time(1, 2, 3.5)", "time_trunc('HOUR', TIME '12:34:56')", "try_to_time({string})",
        "time_diff('HOUR', TIME '01:00:00', TIME '03:00:00')", "assert_true({int} IS NULL OR TRUE)", "vector_normalize(array(3F, 4F))",
        "st_srid(st_geomfromwkb(X'0101000000000000000000F03F0000000000000040'))", "time_from_seconds(1)", "time_to_seconds(TIME '00:00:01')",
        "time_from_micros(1)", "time_from_millis(1)", "time_to_micros(TIME '00:00:01')", "time_to_millis(TIME '00:00:01')", "unix_nanos({timestamp})",
        "timestamp_nanos({bigint})", "variant_array_append(parse_json('[1]'), '$', 2)::string", "variant_set(parse_json('{{}}'), '$.p', 1)::string",
        "variant_insert(parse_json('{{}}'), '$.p', 1)::string", "variant_delete(parse_json('{{\"p\": 1}}'), '$.p')::string",
        "variant_strip_nulls(parse_json('{{\"p\": null}}'))::string", "try_variant_array_append(parse_json('1'), '$', 2)::string",
        "try_variant_set(parse_json('1'), '$.p', 1)::string", "try_variant_insert(parse_json('1'), '$.p', 1)::string", "try_parse_json({string})::string",
        "to_variant_object(named_struct('p', {int}))::string", "st_asbinary(st_geomfromwkb(X'0101000000000000000000F03F0000000000000040'))",
        "st_srid(st_setsrid(st_geomfromwkb(X'0101000000000000000000F03F0000000000000040'), 4326))",
        "st_asbinary(st_geogfromwkb(X'0101000000000000000000F03F0000000000000040'))",
    ),
}  # fmt: skip

# Aggregates: the kind they give, and the text. What depends on the order of rows is not among them.
AGGREGATES: dict[str, tuple[str, ...]] = {
    "bigint": (
        "count(*)", "count(1)", "count({any})", "count(DISTINCT {any})", "count(DISTINCT {any}, {any})", "sum({int})", "sum({bigint})", "sum({smallint})",
        "sum(DISTINCT {int})", "count_if({boolean})", "count(ALL {any})",
    ),
    "double": (
        "sum({double})", "avg({int})", "avg({double})", "avg({bigint})", "avg(DISTINCT {int})", "mean({int})", "stddev({double})", "stddev_samp({int})",
        "stddev_pop({double})", "variance({double})", "var_samp({int})", "var_pop({double})", "std({int})", "corr({double}, {int})",
        "covar_pop({double}, {double})", "covar_samp({int}, {double})",
    ),
    "decimal": ("sum({decimal})", "min({decimal})", "max({decimal})", "sum(DISTINCT {decimal})"),
    "int": ("min({int})", "max({int})", "max(DISTINCT {int})"),
    "string": ("min({string})", "max({string})"),
    "boolean": ("bool_and({boolean})", "bool_or({boolean})", "every({boolean})", "some({boolean})", "any({boolean})", "min({boolean})"),
    "date": ("min({date})", "max({date})"),
    "timestamp": ("min({timestamp})", "max({timestamp})"),
    "tinyint": ("min({tinyint})", "max({tinyint})"),
    "smallint": ("min({smallint})", "max({smallint})"),
}  # fmt: skip
WIDE_AGGREGATES: dict[str, tuple[str, ...]] = {
    "bigint": ("approx_count_distinct({any})", "regr_count({double}, {double})", "try_sum({int})", "bit_and({bigint})", "sum({tinyint})"),
    "double": (
        "percentile({double}, 0.5)", "median({int})", "percentile_cont(0.25) WITHIN GROUP (ORDER BY {double})", "kurtosis({double})", "skewness({double})",
        "percentile_disc(0.5) WITHIN GROUP (ORDER BY {double} DESC)", "regr_avgx({double}, {double})", "regr_avgy({double}, {double})", "regr_intercept({double}, {double})",
        "regr_r2({double}, {double})", "regr_slope({double}, {double})", "regr_sxx({double}, {double})", "regr_sxy({double}, {double})",
        "regr_syy({double}, {double})", "try_avg({int})", "sum({float})", "avg({float})",
    ),
    "decimal": ("avg({decimal})", "try_sum({decimal})"),
    "int": ("bit_or({int})", "bit_xor({int})", "mode({int}, true)", "percentile_approx({int}, 0.5)", "approx_percentile({int}, 0.9)", "size(collect_set({int}))"),
    "string": (
        "listagg({string}, ',') WITHIN GROUP (ORDER BY {string})", "string_agg(DISTINCT {string}, ',') WITHIN GROUP (ORDER BY 1)", "to_json(sort_array(collect_list({int})))",
        "to_json(array_sort(collect_set({string})))", "to_json(sort_array(array_agg({int})))",
        "hex(bitmap_construct_agg({size!}))", "max_by({string}, {unique})", "min_by({string}, {unique})", "any_value({string!})", "first({string!})", "first_value({string!})",
        "last({string!})", "last_value({string!})", "schema_of_variant_agg(parse_json('1'))", "to_json(vector_sum(array(1F, 2F)))", "to_json(vector_avg(array(1F, 2F)))",
        "to_json(array_sort(collect_union(array({int}))))",
    ),
}  # fmt: skip
