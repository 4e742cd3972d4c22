"""The functions by which spenders write to a ledger in PostgreSQL, and the rights on them."""

from __future__ import annotations

_LARGEST = 1_000_000  # bytes of a release

# The search path holds only the server's own names: otherwise a function that another user makes
# in the ledger's schema would run as the owner.
_DEFINER = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp"

_LOCK = f"""
CREATE OR REPLACE FUNCTION ledger.lock_ledger() RETURNS void LANGUAGE plpgsql {_DEFINER} AS $$
BEGIN
    PERFORM FROM ledger.terms FOR UPDATE;
END $$
"""
# What is accepted here can be read by `release_from`. Numbers are bounded so that their squares are
# exact, here as in Python.
_CHECK = f"""
CREATE OR REPLACE FUNCTION ledger.check_release(content text) RETURNS jsonb LANGUAGE plpgsql
{_DEFINER} AS $$
DECLARE
    fields jsonb;
    costs jsonb;
BEGIN
    IF content IS NULL OR octet_length(content) > {_LARGEST} OR strpos(content, E'\\n') > 0 THEN
        RAISE 'a release is one line of at most {_LARGEST} bytes';
    END IF;
    fields := content::jsonb;
    IF jsonb_typeof(fields) <> 'object'
        OR ARRAY(SELECT jsonb_object_keys(fields) COLLATE "C" ORDER BY 1) <> ARRAY[
            'account', 'delta', 'epsilon', 'event', 'exact', 'gdp_mu', 'label', 'n', 'neighboring',
            'part', 'pure_epsilon', 'renyi', 'slack', 'theorem', 'tv', 'version', 'zcdp_rho']
        OR EXISTS (SELECT FROM unnest(ARRAY['account', 'label', 'neighboring', 'theorem',
            'version']) AS name WHERE jsonb_typeof(fields -> name) <> 'string')
        OR jsonb_typeof(fields -> 'exact') <> 'boolean'
        OR jsonb_typeof(fields -> 'n') NOT IN ('number', 'null')
        OR (fields ->> 'n') !~ '^[0-9]{{1,15}}$'
        OR (fields ->> 'n' IS NOT NULL AND fields ->> 'neighboring' <> 'replace_one')
        OR jsonb_typeof(fields -> 'part') NOT IN ('string', 'null')
        OR jsonb_typeof(fields -> 'event') <> 'object'
        OR jsonb_typeof(fields -> 'renyi') <> 'array'
        OR jsonb_path_exists(fields, '$.**{{50}}')
    THEN
        RAISE 'this is not a release';
    END IF;
    costs := (fields -> 'renyi') || jsonb_build_array(fields -> 'epsilon', fields -> 'gdp_mu',
        fields -> 'slack', fields -> 'tv', fields -> 'zcdp_rho', fields -> 'pure_epsilon',
        fields -> 'delta');
    IF EXISTS (SELECT FROM jsonb_array_elements(costs) AS cost
        WHERE CASE jsonb_typeof(cost)
            WHEN 'number' THEN cost::numeric NOT BETWEEN 0 AND 1e300 OR scale(cost::numeric) > 400
            ELSE cost <> '"inf"' END)
    THEN
        RAISE 'a cost is below zero or no number';
    END IF;
    IF fields -> 'delta' = '"inf"' OR (fields -> 'delta')::numeric >= 1 THEN
        RAISE 'delta is not below 1';
    END IF;
    RETURN fields;
END $$
"""
_PAIRS = """
CREATE OR REPLACE FUNCTION ledger.added(one numeric[], other numeric[]) RETURNS numeric[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY(SELECT trim_scale(a + b)
        FROM unnest(one, other) WITH ORDINALITY AS pairs(a, b, i) ORDER BY i)
$$;
CREATE OR REPLACE FUNCTION ledger.within(sums numeric[], limits numeric[]) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT NOT EXISTS (SELECT FROM unnest(sums, limits) AS pairs(a, b) WHERE a > b)
$$;
CREATE OR REPLACE FUNCTION ledger.sums_of(name text, wanted text, size integer)
RETURNS numeric[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce((SELECT string_to_array(amounts, ' ')::numeric[] FROM ledger.totals
        WHERE account = name AND scope = wanted), array_fill(0::numeric, ARRAY[size]))
$$
"""
# The rule is `Filter.admits_next`: inside of the box, or a first release within ε and δ.
_ADMITS = """
CREATE OR REPLACE FUNCTION ledger.admits(every numeric[], sums numeric[], costs numeric[],
    ceilings numeric[], on_all boolean, is_strict boolean)
RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    size integer := greatest(cardinality(ceilings) - 2, 0);
    limits numeric[] := ceilings[:size];
    together numeric[] := ledger.added(sums, costs);
    has_begun boolean := 0 < ANY (sums);
BEGIN
    IF (has_begun OR is_strict) AND ledger.within(sums[:size], limits) THEN
        RETURN ledger.within(together[:size], limits);
    ELSIF ledger.within(together[:size], limits) THEN
        RETURN true;
    ELSIF on_all AND has_begun AND ledger.within(every[:size], limits) THEN
        RETURN false;
    END IF;
    RETURN ledger.within(together[size + 1 :], ceilings[size + 1 :]);
END $$
"""
# Sums have the exact type numeric and only grow.
_APPEND = f"""
CREATE OR REPLACE FUNCTION ledger.append(ledger_identity text, new_key text, new_id bigint,
    new_content text, new_process bigint, new_tag text)
RETURNS text LANGUAGE plpgsql {_DEFINER} AS $$
DECLARE
    fields jsonb := ledger.check_release(new_content);
    part text := fields ->> 'part';
    names text[] := string_to_array(fields ->> 'account', '/');
    own_scope text := coalesce('part ' || part, 'every part');
    stamp text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US+00:00');
    own record;
    rules jsonb;
    costs numeric[];
    ceilings numeric[];
    every numeric[];
    sums numeric[];
    peak numeric[];
    size integer;
    owner_name text;
    changed jsonb;
    sealed jsonb := '{{}}';
    new_seal text;
    last_id bigint;
    last_hash text;
    new_hash text;
BEGIN
    IF length(new_key) NOT BETWEEN 1 AND 64 OR length(new_tag) > 10000
        OR length(part) > 1000 OR (new_key || new_tag || new_process) IS NULL THEN
        RAISE 'a key, a tag or a part is missing or too long';
    END IF;
    SELECT * INTO own FROM ledger.terms FOR UPDATE;
    rules := own.terms::jsonb;
    IF own.identity IS DISTINCT FROM ledger_identity THEN
        RAISE 'this is another ledger';
    ELSIF own.closed IS NOT NULL THEN
        RAISE 'this ledger is closed';
    ELSIF fields -> 'neighboring' <> rules -> 'neighboring' THEN
        RAISE 'a release has another neighboring relation';
    ELSIF (rules -> 'exact')::boolean AND NOT (fields -> 'exact')::boolean THEN
        RAISE 'this ledger admits exact releases only';
    END IF;
    SELECT id, hash INTO last_id, last_hash FROM ledger.entries ORDER BY id DESC LIMIT 1;
    IF new_id IS DISTINCT FROM coalesce(last_id, 0) + 1 THEN
        RAISE 'the ledger has gone on since the check of this release';
    END IF;
    costs := ARRAY(
        SELECT CASE WHEN measure LIKE 'square %' THEN cost * cost ELSE cost END
        FROM (SELECT measure, place, coalesce(nullif(fields #>> string_to_array(
                  replace(measure, 'square ', ''), '.'), 'inf'), 'Infinity')::numeric AS cost
              FROM jsonb_array_elements_text(own.measures::jsonb)
                  WITH ORDINALITY AS measures(measure, place)) AS named
        ORDER BY place);
    size := cardinality(costs);
    FOR depth IN 0 .. cardinality(names) LOOP
        owner_name := array_to_string(names[:depth], '/');
        SELECT string_to_array(limits, ' ')::numeric[] INTO ceilings
            FROM ledger.accounts WHERE accounts.name = owner_name;
        IF NOT FOUND OR cardinality(ceilings) IS DISTINCT FROM size THEN
            RAISE 'there is no such share';
        END IF;
        every := ledger.sums_of(owner_name, 'every part', size);
        peak := ledger.sums_of(owner_name, 'largest part', size);
        sums := ledger.sums_of(owner_name, own_scope, size);
        IF NOT ledger.admits(every, ledger.added(every, CASE WHEN part IS NULL THEN peak
                ELSE sums END), costs, ceilings, part IS NULL, (rules -> 'strict')::boolean) THEN
            RAISE 'the ledger does not admit this release';
        END IF;
        sums := ledger.added(sums, costs);
        changed := jsonb_build_object(own_scope, array_to_string(sums, ' '));
        IF part IS NOT NULL THEN
            peak := ARRAY(SELECT greatest(a, b)
                FROM unnest(peak, sums) WITH ORDINALITY AS pairs(a, b, i) ORDER BY i);
            changed := changed || jsonb_build_object('largest part', array_to_string(peak, ' '));
        END IF;
        INSERT INTO ledger.totals AS old
            SELECT owner_name, key, value FROM jsonb_each_text(changed)
            ON CONFLICT (account, scope) DO UPDATE SET amounts = excluded.amounts;
        sealed := sealed || jsonb_build_object(owner_name, changed);
    END LOOP;
    new_seal := jsonb_build_object('key', new_key, 'process', new_process, 'tag', new_tag,
        'role', session_user, 'totals', sealed)::text;
    new_hash := encode(sha256(convert_to(
        coalesce(last_hash, encode(sha256(convert_to(own.terms, 'UTF8')), 'hex')) || E'\\n'
            || stamp || E'\\n' || new_content || E'\\n' || new_seal, 'UTF8')), 'hex');
    INSERT INTO ledger.entries (id, time, content, seal, hash, key)
        VALUES (new_id, stamp, new_content, new_seal, new_hash, new_key);
    RETURN new_hash;
END $$
"""
FUNCTIONS = (_LOCK, _CHECK, *_PAIRS.split(";\n"), _ADMITS, _APPEND)
"""Statements that make the functions, of a schema called ledger."""
SIGNATURES = ("lock_ledger()", "append(text, text, bigint, text, bigint, text)")
"""The functions that a spender calls. The server cannot compute the limits of a share, so only the
owner writes them, and whom the owner trusts with an INSERT."""


def grants(ledger: str, spend: str, audit: str) -> str:
    """Return the SQL by which the owner of a ledger gives two roles their rights.

    The role `spend` may read, and append through a function. The role `audit` may read. Neither may
    change, delete or create anything.
    """
    quoted = (name.replace('"', '""') for name in (ledger, spend, audit))
    schema, spender, auditor = (f'"{name}"' for name in quoted)
    functions = ", ".join(f"{schema}.{name}" for name in SIGNATURES)
    return (
        f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC;\n"
        f"GRANT USAGE ON SCHEMA {schema} TO {spender}, {auditor};\n"
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {spender}, {auditor};\n"
        f"GRANT EXECUTE ON FUNCTION {functions} TO {spender};\n"
    )
