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
    SET search_path TO 'pg_catalog', 'pg_temp'
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
    PERFORM FROM "old_gdp".terms FOR UPDATE;
    SELECT id, hash INTO last_id, last_hash FROM "old_gdp".releases ORDER BY id DESC LIMIT 1;
    IF new_id IS DISTINCT FROM coalesce(last_id, 0) + 1 THEN
        RAISE 'the ledger has gone on since the check of this release';
    END IF;
    IF EXISTS (SELECT FROM unnest(costs) cost WHERE (cost >= 0 AND cost <> 'NaN') IS NOT TRUE) THEN
        RAISE 'a cost is below zero or no number';
    END IF;
    IF costs IS NULL OR array_ndims(costs) > 1 OR cardinality(costs) <> (
            SELECT cardinality(string_to_array(amounts, ' ')) FROM "old_gdp".totals LIMIT 1) THEN
        RAISE 'these are not as many costs as the ledger adds up';
    END IF;
    FOR depth IN 0 .. cardinality(names) LOOP
        name := array_to_string(names[:depth], '/');
        INSERT INTO "old_gdp".totals AS old
            VALUES (name, coalesce('part ' || part, 'every part'), array_to_string(costs, ' '))
            ON CONFLICT (account, scope) DO UPDATE SET amounts = coalesce((
                SELECT string_agg(trim_scale(a + b)::text, ' ' ORDER BY i)
                FROM unnest(string_to_array(old.amounts, ' ')::numeric[], costs)
                    WITH ORDINALITY AS pairs(a, b, i)), '')
            RETURNING amounts INTO sums;
        IF part IS NOT NULL THEN
            INSERT INTO "old_gdp".totals AS old VALUES (name, 'largest part', sums)
                ON CONFLICT (account, scope) DO UPDATE SET amounts = coalesce((
                    SELECT string_agg(greatest(a, b)::text, ' ' ORDER BY i)
                    FROM unnest(string_to_array(old.amounts, ' ')::numeric[],
                                string_to_array(sums, ' ')::numeric[])
                        WITH ORDINALITY AS pairs(a, b, i)), '');
        END IF;
    END LOOP;
    new_hash := encode(sha256(convert_to(
        coalesce(last_hash, (SELECT hash FROM "old_gdp".origin))
            || E'\n' || stamp || E'\n' || new_content, 'UTF8')), 'hex');
    INSERT INTO "old_gdp".releases (id, time, content, hash, key)
        VALUES (new_id, stamp, new_content, new_hash, new_key);
    RETURN new_hash;
END $$;
CREATE FUNCTION old_gdp.lock_ledger() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM FROM "old_gdp".terms FOR UPDATE;
END $$;
CREATE FUNCTION old_gdp.open_account(new_name text, new_epsilon double precision, new_delta double precision) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    names text[] := string_to_array(new_name, '/');
    outer_name text := array_to_string(trim_array(names, least(1, cardinality(names))), '/');
BEGIN
    IF new_name IS NULL OR names = '{}' OR '' = ANY (names) THEN
        RAISE 'this is no name of a share';
    END IF;
    IF NOT EXISTS (
        SELECT FROM (SELECT name, epsilon, delta FROM "old_gdp".accounts
                     UNION ALL SELECT '', epsilon, delta FROM "old_gdp".terms) AS outer_ones
        WHERE name = outer_name AND new_epsilon <= epsilon AND new_delta <= delta
    ) THEN
        RAISE 'a share is above what it is a share of';
    END IF;
    INSERT INTO "old_gdp".accounts VALUES (new_name, new_epsilon, new_delta) ON CONFLICT DO NOTHING;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE old_gdp.accounts (
    name text NOT NULL,
    epsilon double precision NOT NULL,
    delta double precision NOT NULL,
    CONSTRAINT accounts_check CHECK (((epsilon > (0)::double precision) AND (epsilon < 'Infinity'::double precision) AND (delta >= (0)::double precision) AND (delta < (1)::double precision)))
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
INSERT INTO old_gdp.releases VALUES (1, '2026-11-24T15:52:23.250416+00:00', '{"label": "\u00e9", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.01, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.01}, "process": 25996, "tag": "note", "part": "north", "account": "team", "slack": 0.0, "tv": 0.0, "zcdp_rho": 5e-05, "pure_epsilon": "inf", "renyi": [], "theorem": "test", "version": "0.1.0"}', '9daf5602a78f823b1d9494e78bf0dca1c51b64df1eb9a1aed98a14eb26a2ead7', '7e436793d26c411e9ec7c7c62b0b66d7');
INSERT INTO old_gdp.releases VALUES (2, '2026-11-24T15:52:23.276865+00:00', '{"label": "pure", "epsilon": 0.05, "delta": 0.0, "gdp_mu": 0.06266290554100377, "neighboring": "replace_one", "event": {"kind": "PureDPEvent", "version": 1, "epsilon": 0.05}, "process": 25996, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0012497396484210345, "pure_epsilon": 0.05, "renyi": [], "theorem": "test", "version": "0.1.0"}', 'a602fa9e3b2b36ffbdf6977b1e13a68102be3a8c660ebcec4118e076e53e55ff', '40e8010770e94fa8a989d2e1a99ffba5');
INSERT INTO old_gdp.releases VALUES (3, '2026-11-24T15:52:23.279719+00:00', '{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25996, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [], "theorem": "test", "version": "0.1.0"}', '7b710374eec679daa7e1c7ef8b4d62790649186d888727741b5c0efe84b65803', 'b3678bfd5a244ea6838748081dc2dcd2');
INSERT INTO old_gdp.releases VALUES (4, '2026-11-24T15:52:23.306577+00:00', '{"label": "b", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.02, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.02}, "process": 25996, "tag": "", "part": "south", "account": "team/inner", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0002, "pure_epsilon": "inf", "renyi": [], "theorem": "test", "version": "0.1.0"}', 'e4153fd300468be3c8d170482baac0af75cbae582d3638f7bb7602d69f9a026f', '67e08f278379481bbba2d7036e5d7b02');
INSERT INTO old_gdp.releases VALUES (5, '2026-11-24T15:52:23.312683+00:00', '{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25996, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [], "theorem": "test", "version": "0.1.0"}', 'd88364537f3d94926d4d0f42b79ba2b0c2d503b296d20a1271e59cfc3da96372', 'dac54556fd8c48f5af390ecbbc348a6a');
INSERT INTO old_gdp.terms VALUES (1, 1e-05, 'gdp', 'replace_one', 5.000000000000001e-07, 0, '[]', 'c81d213f543049e68421d58c16e6001c', 'c4abfd3e7977f4a10dbdb8bdf80e2cdba940ac72d4157beded1a3c9d802f0537');
INSERT INTO old_gdp.totals VALUES ('', 'part north', '0.00010000000000000000416333634234433706992204250405338286563450370816086466710728708484623439289862290024757385253906250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team', 'part north', '0.00010000000000000000416333634234433706992204250405338286563450370816086466710728708484623439289862290024757385253906250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('', 'part south', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('', 'largest part', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team', 'part south', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team', 'largest part', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team/inner', 'part south', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('team/inner', 'largest part', '0.000400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250 0.0 0.0 Infinity 0.0');
INSERT INTO old_gdp.totals VALUES ('', 'every part', '0.0057266397308407614007330251460110211200566290777018855581829526345456239655451469161562272347509860992431640625 0 0 Infinity 0');
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
REVOKE ALL ON FUNCTION old_gdp.open_account(new_name text, new_epsilon double precision, new_delta double precision) FROM PUBLIC;
