"""Spark's built-in functions, reviewed one by one: which a query may call, and why it may not call the others.

The list was made from the registry of Spark 4.3 (`SHOW ALL FUNCTIONS`). A function is allowed when it computes a value from
its arguments and nothing else: it reads no file, opens no connection, runs no code, and tells nothing of the machine, the
session or other users. Chance and the wall clock are allowed, once; they harm nobody. A continuous query may not ask for them:
its results follow from the rows in its windows (`not_deterministic`). `raise_error` and `assert_true` are allowed: they end
the query that calls them and no other.

Invariant: every name of the registry is in exactly one of ALLOWED, TABLE_FUNCTIONS and REFUSED; a test asks Spark. A name in
none of them is unknown, and is refused as well.
"""

from __future__ import annotations

from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_CONDITIONS: Final = words("""
    assert_true coalesce equal_null greatest ifnull isnan isnotnull isnull least nanvl nullif nullifzero nvl
    nvl2 raise_error zeroifnull
""")

_NUMBERS: Final = words("""
    abs acos acosh asin asinh atan atan2 atanh bin bit_count bit_get bround cbrt ceil ceiling conv cos cosh cot
    csc degrees e exp expm1 factorial floor getbit hypot ln log log10 log1p log2 mod negative pi pmod positive
    pow power radians rint round sec shiftleft shiftright shiftrightunsigned sign signum sin sinh sqrt tan tanh
    try_add try_divide try_mod try_multiply try_subtract width_bucket
""")

_TEXTS: Final = words("""
    ascii base64 bit_length btrim char char_length character_length chr collate collation concat concat_ws
    contains decode elt encode endswith find_in_set format_number format_string from_base32 hex initcap instr
    is_valid_utf8 jaro_winkler_similarity lcase left len length levenshtein locate lower lpad ltrim luhn_check
    make_valid_utf8 mask octet_length overlay parse_url position printf quote regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rpad
    rtrim sentences soundex space split split_part startswith substr substring substring_index to_base32
    to_binary to_char to_number to_varchar translate trim try_parse_url try_to_binary try_to_number
    try_url_decode try_validate_utf8 ucase unbase64 unhex upper url_decode url_encode validate_utf8
""")

_HASHES: Final = words("""
    aes_decrypt aes_encrypt crc32 hash hmac md5 sha sha1 sha2 try_aes_decrypt xxhash64
""")

_TIMES: Final = words("""
    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc
    dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract from_unixtime
    from_utc_timestamp hour last_day make_date make_dt_interval make_interval make_time make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month monthname months_between next_day
    quarter second session_window time_bucket time_diff time_from_micros time_from_millis time_from_seconds
    time_to_micros time_to_millis time_to_seconds time_trunc timestamp_micros timestamp_millis timestamp_nanos
    timestamp_seconds to_date to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp
    to_utc_timestamp trunc try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz
    try_to_date try_to_time try_to_timestamp unix_date unix_micros unix_millis unix_nanos unix_seconds weekday
    weekofyear window window_time year
""")

_CLOCK: Final = words("""
    curdate current_date current_time current_timestamp current_timezone localtime localtimestamp now
    unix_timestamp
""")

_CHANCE: Final = words("""
    monotonically_increasing_id rand randn random randstr shuffle uniform uuid
""")

# Options of from_json, from_csv and to_xml say how a text is read or written; none of them names a file.
_NESTED: Final = words("""
    aggregate array array_append array_compact array_contains array_distinct array_except array_insert
    array_intersect array_join array_max array_min array_position array_prepend array_remove array_repeat
    array_size array_sort array_union arrays_overlap arrays_zip cardinality element_at exists filter flatten
    forall from_csv from_json get get_json_object is_valid_variant is_variant_null json_array_length
    json_object_keys map map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries
    map_keys map_values map_zip_with named_struct parse_json reduce schema_of_csv schema_of_json
    schema_of_variant sequence size slice sort_array st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid
    st_srid str_to_map struct to_csv to_json to_variant_object to_xml transform transform_keys transform_values
    try_element_at try_parse_json try_variant_array_append try_variant_get try_variant_insert try_variant_set
    variant_array_append variant_delete variant_get variant_insert variant_set variant_strip_nulls
    vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm vector_normalize zip_with
""")

_AGGREGATES: Final = words("""
    any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bool_and bool_or
    collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop covar_samp every first
    first_value grouping grouping_id histogram_numeric kurtosis last last_value listagg max max_by mean median
    min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std stddev
    stddev_pop stddev_samp string_agg sum try_avg try_sum var_pop var_samp variance vector_avg vector_sum
""")

# Sketches are read from bytes by a library of pure Java.
_SKETCHES: Final = words("""
    approx_top_k approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate bitmap_and_agg
    bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg hll_sketch_agg
    hll_sketch_estimate hll_union hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kll_sketch_get_n_bigint
    kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
    kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
    kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float theta_difference
    theta_intersection theta_intersection_agg theta_sketch_agg theta_sketch_estimate theta_union theta_union_agg
    tuple_difference_double tuple_difference_integer tuple_difference_theta_double
    tuple_difference_theta_integer tuple_intersection_agg_double tuple_intersection_agg_integer
    tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
    tuple_intersection_theta_integer tuple_sketch_agg_double tuple_sketch_agg_integer
    tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_summary_double
    tuple_sketch_summary_integer tuple_sketch_theta_double tuple_sketch_theta_integer tuple_union_agg_double
    tuple_union_agg_integer tuple_union_double tuple_union_integer tuple_union_theta_double
    tuple_union_theta_integer
""")

_RANKING: Final = words("""
    counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number
""")

_TYPES: Final = words("""
    bigint binary boolean cast date decimal double float int smallint string time timestamp tinyint typeof
""")

# Operators that the registry lists as functions.
_OPERATORS: Final = words("""
    and between case div if ilike in like not or regexp rlike when
""")

# What the grammar reads as a call although the registry has no such function.
_GRAMMAR: Final = words("""
    timestampadd timestampdiff try_cast
""")

# Sketches whose compaction tosses coins: KLL of the DataSketches library takes an unseeded Random.
_TOSSED: Final = words("""
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
    kll_sketch_agg_float kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
""")

# `now` is the instant in a continuous query, and every session has the same time zone.
_TOLD_BY_THE_CLOCK: Final = _CLOCK - {"now", "current_timezone", "unix_timestamp"}


def not_deterministic(name: str, arguments: int, mode: str | None = None) -> str | None:
    """What the value of a function of Spark depends on besides its arguments and the rows it sees; None if on nothing.

    Called with so many arguments; `mode` is the third one, if it is a text. What depends on the order of rows, such as `first`,
    is deterministic where the order is.

    >>> not_deterministic("rand", 0), not_deterministic("current_date", 0), not_deterministic("first", 1)
    ('chance', 'the wall clock', None)
    >>> not_deterministic("unix_timestamp", 0), not_deterministic("unix_timestamp", 1)
    ('the wall clock', None)
    """
    if name in _CHANCE or name in _TOSSED:
        return "chance"
    if name in _TOLD_BY_THE_CLOCK or (name == "unix_timestamp" and not arguments):
        return "the wall clock"
    if name == "aes_encrypt" and arguments < 5 and (mode or "").upper() != "ECB":
        return "chance"  # which begins the text, unless it is given or the mode does without
    return None


ALLOWED: Final = (
    _CONDITIONS
    | _NUMBERS
    | _TEXTS
    | _HASHES
    | _TIMES
    | _CLOCK
    | _CHANCE
    | _NESTED
    | _AGGREGATES
    | _SKETCHES
    | _RANKING
    | _TYPES
    | _OPERATORS
    | _GRAMMAR
)
"""What may stand where a value is expected."""

TABLE_FUNCTIONS: Final = words("""
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer range stack variant_explode
    variant_explode_outer
""")
"""What may stand in FROM, and behind LATERAL VIEW. All but `range` may stand in SELECT too."""

_CODE: Final = "It runs code of the Java machine."
_FILES: Final = "It can be made to read files or to open connections."
_MACHINE: Final = "It tells about the machine or the session, not about the data."
_MEANINGLESS: Final = "It is for views of a kind that a pond does not have."

REFUSED: Final[dict[str, str]] = {
    **dict.fromkeys(words("java_method reflect try_reflect"), _CODE),
    # from_protobuf reads a descriptor file; Avro needs a module that is loaded by its class name; from_xml can check
    # against a schema file; an XML text can name a DTD anywhere.
    **dict.fromkeys(
        words("""
            from_avro from_protobuf from_xml schema_of_avro schema_of_xml to_avro to_protobuf xpath xpath_boolean
            xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
        """),
        _FILES,
    ),
    **dict.fromkeys(
        words("""
            collations current_catalog current_database current_path current_schema current_user input_file_block_length
            input_file_block_start input_file_name python_worker_logs session_user spark_partition_id sql_keywords user
            version
        """),
        _MACHINE,
    ),
    "measure": _MEANINGLESS,
}
"""Names of Spark's own functions that a query may not call, with the reason."""

BUILT_IN: Final = ALLOWED | TABLE_FUNCTIONS | frozenset(REFUSED)
"""Names that mean something to Spark."""
