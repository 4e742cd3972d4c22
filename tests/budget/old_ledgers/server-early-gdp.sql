SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA old_gdp;
CREATE FUNCTION old_gdp.append(new_key text, new_id bigint, new_content text, account_of text, part text, costs numeric[]) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'old_gdp', 'pg_temp'
    AS $$
DECLARE
    names text[] := string_to_array(account_of, '/');
    stamp text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US+00:00');
    last_id bigint;
    last_hash text;
    new_hash text;
    name text;
    sums text;
BEGIN
    PERFORM FROM terms FOR UPDATE;
    SELECT id, hash INTO last_id, last_hash FROM releases ORDER BY id DESC LIMIT 1;
    IF new_id IS DISTINCT FROM coalesce(last_id, 0) + 1 THEN
        RAISE 'the ledger has gone on since the check of this release';
    END IF;
    IF EXISTS (SELECT FROM unnest(costs) cost WHERE (cost >= 0 AND cost <> 'NaN') IS NOT TRUE) THEN
        RAISE 'a cost is below zero or no number';
    END IF;
    FOR depth IN 0 .. cardinality(names) LOOP
        name := array_to_string(names[:depth], '/');
        INSERT INTO totals AS old
            VALUES (name, coalesce('part ' || part, 'every part'), array_to_string(costs, ' '))
            ON CONFLICT (account, scope) DO UPDATE SET amounts = coalesce((
                SELECT string_agg(trim_scale(a + b)::text, ' ' ORDER BY i)
                FROM unnest(string_to_array(old.amounts, ' ')::numeric[], costs)
                    WITH ORDINALITY AS pairs(a, b, i)), '')
            RETURNING amounts INTO sums;
        IF part IS NOT NULL THEN
            INSERT INTO totals AS old VALUES (name, 'largest part', sums)
                ON CONFLICT (account, scope) DO UPDATE SET amounts = coalesce((
                    SELECT string_agg(greatest(a, b)::text, ' ' ORDER BY i)
                    FROM unnest(string_to_array(old.amounts, ' ')::numeric[],
                                string_to_array(sums, ' ')::numeric[])
                        WITH ORDINALITY AS pairs(a, b, i)), '');
        END IF;
    END LOOP;
    new_hash := encode(sha256(convert_to(
        coalesce(last_hash, (SELECT hash FROM origin)) || E'\n' || stamp || E'\n' || new_content,
        'UTF8')), 'hex');
    INSERT INTO releases (id, time, content, hash, key)
        VALUES (new_id, stamp, new_content, new_hash, new_key);
    RETURN new_hash;
END $$;
CREATE FUNCTION old_gdp.lock_ledger() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'old_gdp', 'pg_temp'
    AS $$
BEGIN
    PERFORM FROM terms FOR UPDATE;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE old_gdp.accounts (
    name text NOT NULL,
    epsilon double precision,
    delta double precision
);
CREATE TABLE old_gdp.origin (
    format integer,
    hash text
);
CREATE TABLE old_gdp.releases (
    id bigint NOT NULL,
    "time" text NOT NULL,
    content text NOT NULL,
    hash text NOT NULL,
    key text
);
CREATE TABLE old_gdp.terms (
    epsilon double precision,
    delta double precision,
    composition text,
    neighboring text,
    slack double precision,
    tv double precision,
    orders text,
    identity text,
    checksum text
);
CREATE TABLE old_gdp.totals (
    account text NOT NULL,
    scope text NOT NULL,
    amounts text NOT NULL
);
INSERT INTO old_gdp.accounts VALUES ('team', 0.8, 1e-05);
INSERT INTO old_gdp.accounts VALUES ('team/inner', 0.7, 1e-05);
INSERT INTO old_gdp.origin VALUES (2, '394def9cdfbcbc1b2a1156744a0c50fef0e84853dc4cc46f6421b289d9eb9a1c');
INSERT INTO old_gdp.releases VALUES (1, '2026-11-24T15:52:16.902306+00:00', '{"label": "\u00e9", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.01, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.01}, "process": 25987, "tag": "note", "part": "north", "account": "team", "slack": 0.0, "tv": 0.0, "zcdp_rho": 5e-05, "pure_epsilon": "inf", "renyi": []}', '5834e0ef8c7da5b1cdee8f6ab95ab21d50a06e4b2343d59873e56e8be7b3821b', '54fbc82ccf5b4ad89eaec537178156c6');
INSERT INTO old_gdp.releases VALUES (2, '2026-11-24T15:52:16.919582+00:00', '{"label": "pure", "epsilon": 0.05, "delta": 0.0, "gdp_mu": 0.06266290554100337, "neighboring": "replace_one", "event": {"kind": "PureDPEvent", "version": 1, "epsilon": 0.05}, "process": 25987, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0012497396484210345, "pure_epsilon": 0.05, "renyi": []}', 'd720f0953a63929f007fde19d4ebb41dc20fd128e1e88267b31e67a06c055d68', '2cd672eb0da24e6795cec995af3c2729');
INSERT INTO old_gdp.releases VALUES (3, '2026-11-24T15:52:16.939919+00:00', '{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25987, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": []}', 'c25e7885bad9b11ae08edeb8381aad91a5a71e16470d2f6e57f8e87b0cf3844d', 'ff43044c62ab4f209dc430f855ccea0e');
INSERT INTO old_gdp.releases VALUES (4, '2026-11-24T15:52:16.958903+00:00', '{"label": "b", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.02, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.02}, "process": 25987, "tag": "", "part": "south", "account": "team/inner", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0002, "pure_epsilon": "inf", "renyi": []}', '96f5578e9f9ed1d3192cfe0e4440538eebe5d5e39183268cf46269949398c541', '6d3db450b1d14944ab701a17c6edf6c0');
INSERT INTO old_gdp.releases VALUES (5, '2026-11-24T15:52:16.968830+00:00', '{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25987, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": []}', 'f4883b85a14dcae4873b975efb2a332b46d9daff1ce6b0761dc838ebe45718e7', 'e2c41ba3492b45f6bdaca71780f6127f');
INSERT INTO old_gdp.terms VALUES (1, 1e-05, 'gdp', 'replace_one', 5.000000000000001e-07, 0, '[]', '688bad672bc64556aeb2f96020422f5e', 'd94a581a06da21cb443e05e3945559cf6431b52c3f20f9aee7b60c536efeace7');
INSERT INTO old_gdp.totals VALUES ('', 'part north', '0.00010000000000000000416333634234433706992204250405338286563450370816086466710728708484623439289862290024757385253906250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team', 'part north', '0.00010000000000000000416333634234433706992204250405338286563450370816086466710728708484623439289862290024757385253906250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('', 'part south', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('', 'largest part', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team', 'part south', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team', 'largest part', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team/inner', 'part south', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team/inner', 'largest part', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('', 'every part', '0.00572663973084071096262764703424653520490787600178745556435661617669490019988387530247564427554607391357421875 0 0 Infinity 0');
ALTER TABLE ONLY old_gdp.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY old_gdp.releases
    ADD CONSTRAINT releases_key_key UNIQUE (key);
ALTER TABLE ONLY old_gdp.releases
    ADD CONSTRAINT releases_pkey PRIMARY KEY (id);
ALTER TABLE ONLY old_gdp.totals
    ADD CONSTRAINT totals_pkey PRIMARY KEY (account, scope);
REVOKE ALL ON FUNCTION old_gdp.append(new_key text, new_id bigint, new_content text, account_of text, part text, costs numeric[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION old_gdp.lock_ledger() FROM PUBLIC;
