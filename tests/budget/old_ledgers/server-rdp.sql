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
CREATE SCHEMA old_rdp;
CREATE FUNCTION old_rdp.append(new_key text, new_id bigint, new_content text, account_of text, part text, costs numeric[]) RETURNS text
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
    PERFORM FROM "old_rdp".terms FOR UPDATE;
    SELECT id, hash INTO last_id, last_hash FROM "old_rdp".releases ORDER BY id DESC LIMIT 1;
    IF new_id IS DISTINCT FROM coalesce(last_id, 0) + 1 THEN
        RAISE 'the ledger has gone on since the check of this release';
    END IF;
    IF EXISTS (SELECT FROM unnest(costs) cost WHERE (cost >= 0 AND cost <> 'NaN') IS NOT TRUE) THEN
        RAISE 'a cost is below zero or no number';
    END IF;
    IF costs IS NULL OR array_ndims(costs) > 1 OR cardinality(costs) <> (
            SELECT cardinality(string_to_array(amounts, ' ')) FROM "old_rdp".totals LIMIT 1) THEN
        RAISE 'these are not as many costs as the ledger adds up';
    END IF;
    FOR depth IN 0 .. cardinality(names) LOOP
        name := array_to_string(names[:depth], '/');
        INSERT INTO "old_rdp".totals AS old
            VALUES (name, coalesce('part ' || part, 'every part'), array_to_string(costs, ' '))
            ON CONFLICT (account, scope) DO UPDATE SET amounts = coalesce((
                SELECT string_agg(trim_scale(a + b)::text, ' ' ORDER BY i)
                FROM unnest(string_to_array(old.amounts, ' ')::numeric[], costs)
                    WITH ORDINALITY AS pairs(a, b, i)), '')
            RETURNING amounts INTO sums;
        IF part IS NOT NULL THEN
            INSERT INTO "old_rdp".totals AS old VALUES (name, 'largest part', sums)
                ON CONFLICT (account, scope) DO UPDATE SET amounts = coalesce((
                    SELECT string_agg(greatest(a, b)::text, ' ' ORDER BY i)
                    FROM unnest(string_to_array(old.amounts, ' ')::numeric[],
                                string_to_array(sums, ' ')::numeric[])
                        WITH ORDINALITY AS pairs(a, b, i)), '');
        END IF;
    END LOOP;
    new_hash := encode(sha256(convert_to(
        coalesce(last_hash, (SELECT hash FROM "old_rdp".origin))
            || E'\n' || stamp || E'\n' || new_content, 'UTF8')), 'hex');
    INSERT INTO "old_rdp".releases (id, time, content, hash, key)
        VALUES (new_id, stamp, new_content, new_hash, new_key);
    RETURN new_hash;
END $$;
CREATE FUNCTION old_rdp.lock_ledger() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM FROM "old_rdp".terms FOR UPDATE;
END $$;
CREATE FUNCTION old_rdp.open_account(new_name text, new_epsilon double precision, new_delta double precision) RETURNS void
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
        SELECT FROM (SELECT name, epsilon, delta FROM "old_rdp".accounts
                     UNION ALL SELECT '', epsilon, delta FROM "old_rdp".terms) AS outer_ones
        WHERE name = outer_name AND new_epsilon <= epsilon AND new_delta <= delta
    ) THEN
        RAISE 'a share is above what it is a share of';
    END IF;
    INSERT INTO "old_rdp".accounts VALUES (new_name, new_epsilon, new_delta) ON CONFLICT DO NOTHING;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE old_rdp.accounts (
    name text NOT NULL,
    epsilon double precision NOT NULL,
    delta double precision NOT NULL,
    CONSTRAINT accounts_check CHECK (((epsilon > (0)::double precision) AND (epsilon < 'Infinity'::double precision) AND (delta >= (0)::double precision) AND (delta < (1)::double precision)))
);
CREATE TABLE old_rdp.origin (
    format integer,
    hash text
);
CREATE TABLE old_rdp.releases (
    id bigint NOT NULL,
    "time" text NOT NULL,
    content text NOT NULL,
    hash text NOT NULL,
    key text
);
CREATE TABLE old_rdp.terms (
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
CREATE TABLE old_rdp.totals (
    account text NOT NULL,
    scope text NOT NULL,
    amounts text NOT NULL
);
INSERT INTO old_rdp.accounts VALUES ('team', 0.8, 1e-05);
INSERT INTO old_rdp.accounts VALUES ('team/inner', 0.7, 1e-05);
INSERT INTO old_rdp.origin VALUES (2, 'ad757857056aec3fd2390fe5a281c548dfe36272f5e323f3c3f4379e4105cf5e');
INSERT INTO old_rdp.releases VALUES (1, '2026-11-24T15:52:23.503948+00:00', '{"label": "\u00e9", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.01, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.01}, "process": 25996, "tag": "note", "part": "north", "account": "team", "slack": 0.0, "tv": 0.0, "zcdp_rho": 5e-05, "pure_epsilon": "inf", "renyi": [0.0008904718259999083], "theorem": "test", "version": "0.1.0"}', 'b427c98525fac85c1ef245e6abe4da4dc4a71337d39a86135fffc29d0f1eefe5', 'c730e20b10d04409a47d4a92430c0dd2');
INSERT INTO old_rdp.releases VALUES (2, '2026-11-24T15:52:23.531357+00:00', '{"label": "pure", "epsilon": 0.05, "delta": 0.0, "gdp_mu": 0.06266290554100377, "neighboring": "replace_one", "event": {"kind": "PureDPEvent", "version": 1, "epsilon": 0.05}, "process": 25996, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0012497396484210345, "pure_epsilon": 0.05, "renyi": [0.019934075189464513], "theorem": "test", "version": "0.1.0"}', '584db4798071d4343aca25a421464027a1e28a9df1a0bf36ca124ce88709e18b', '9a5db19f3ff44ee89563e3e2ea9a9df6');
INSERT INTO old_rdp.releases VALUES (3, '2026-11-24T15:52:23.546786+00:00', '{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25996, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [0.008014246433999174], "theorem": "test", "version": "0.1.0"}', 'b20ec198ebdb1e8e3684725690eabe9e08c5cd392c9758782ba36d84f5ca07c2', 'f9333bb048264f77a97a88896c9f9ffc');
INSERT INTO old_rdp.releases VALUES (4, '2026-11-24T15:52:23.563563+00:00', '{"label": "b", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.02, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.02}, "process": 25996, "tag": "", "part": "south", "account": "team/inner", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0002, "pure_epsilon": "inf", "renyi": [0.0035618873039996333], "theorem": "test", "version": "0.1.0"}', '6e2de097149c967298f54fad15ae8e5c164dd31bd8f9242d08d4630d685993b4', '26023d8d08b245e7af060dbadef5d452');
INSERT INTO old_rdp.releases VALUES (5, '2026-11-24T15:52:23.578796+00:00', '{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25996, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [0.008014246433999174], "theorem": "test", "version": "0.1.0"}', '74e816787d6dfe2d9774c1bd68c419c5bf43d45be9f163ac584909ae6945c3fd', '40304feff2664106bff3a9930b0efbfe');
INSERT INTO old_rdp.terms VALUES (1, 1e-05, 'rdp', 'replace_one', 0, 0, '[17.809436519998165]', '92b44a59604e450395a65c5173baeb93', 'd8fc80dd2952009a4f354e10c36c68f115e4c8f4c5e17b5941ce441dbbaf2430');
INSERT INTO old_rdp.totals VALUES ('', 'part north', '0.000890471825999908329560272868263837153790518641471862792968750 Infinity 0.0');
INSERT INTO old_rdp.totals VALUES ('team', 'part north', '0.000890471825999908329560272868263837153790518641471862792968750 Infinity 0.0');
INSERT INTO old_rdp.totals VALUES ('', 'part south', '0.0035618873039996333182410914730553486151620745658874511718750 Infinity 0.0');
INSERT INTO old_rdp.totals VALUES ('', 'largest part', '0.0035618873039996333182410914730553486151620745658874511718750 Infinity 0.0');
INSERT INTO old_rdp.totals VALUES ('team', 'part south', '0.0035618873039996333182410914730553486151620745658874511718750 Infinity 0.0');
INSERT INTO old_rdp.totals VALUES ('team', 'largest part', '0.0035618873039996333182410914730553486151620745658874511718750 Infinity 0.0');
INSERT INTO old_rdp.totals VALUES ('team/inner', 'part south', '0.0035618873039996333182410914730553486151620745658874511718750 Infinity 0.0');
INSERT INTO old_rdp.totals VALUES ('team/inner', 'largest part', '0.0035618873039996333182410914730553486151620745658874511718750 Infinity 0.0');
INSERT INTO old_rdp.totals VALUES ('', 'every part', '0.035962568057462861170758827711324556730687618255615234375 Infinity 0');
ALTER TABLE ONLY old_rdp.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY old_rdp.releases
    ADD CONSTRAINT releases_key_key UNIQUE (key);
ALTER TABLE ONLY old_rdp.releases
    ADD CONSTRAINT releases_pkey PRIMARY KEY (id);
ALTER TABLE ONLY old_rdp.totals
    ADD CONSTRAINT totals_pkey PRIMARY KEY (account, scope);
REVOKE ALL ON FUNCTION old_rdp.append(new_key text, new_id bigint, new_content text, account_of text, part text, costs numeric[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION old_rdp.lock_ledger() FROM PUBLIC;
REVOKE ALL ON FUNCTION old_rdp.open_account(new_name text, new_epsilon double precision, new_delta double precision) FROM PUBLIC;
