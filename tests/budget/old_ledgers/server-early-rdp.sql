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
    SET search_path TO 'old_rdp', 'pg_temp'
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
CREATE FUNCTION old_rdp.lock_ledger() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'old_rdp', 'pg_temp'
    AS $$
BEGIN
    PERFORM FROM terms FOR UPDATE;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE old_rdp.accounts (
    name text NOT NULL,
    epsilon double precision,
    delta double precision
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
INSERT INTO old_rdp.releases VALUES (1, '2026-11-24T15:52:17.133993+00:00', '{"label": "\u00e9", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.01, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.01}, "process": 25987, "tag": "note", "part": "north", "account": "team", "slack": 0.0, "tv": 0.0, "zcdp_rho": 5e-05, "pure_epsilon": "inf", "renyi": [0.0008904718259999083]}', '6018e696f65d15069ad0213e2c91e0fdc1dd736bbbe480bf829253b7e99196c3', '437352a07a434e0884bc02edfa26c397');
INSERT INTO old_rdp.releases VALUES (2, '2026-11-24T15:52:17.162740+00:00', '{"label": "pure", "epsilon": 0.05, "delta": 0.0, "gdp_mu": 0.06266290554100337, "neighboring": "replace_one", "event": {"kind": "PureDPEvent", "version": 1, "epsilon": 0.05}, "process": 25987, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0012497396484210345, "pure_epsilon": 0.05, "renyi": [0.019934075189464513]}', '5f9812645047d76f9ec1c552e87edc121d285fc64197f9dddc85dcdbb7171ae5', 'a4576ba04adb427992ab60b868c6e00b');
INSERT INTO old_rdp.releases VALUES (3, '2026-11-24T15:52:17.178184+00:00', '{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25987, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [0.008014246433999174]}', '57d7c83d7d8dd1ce1153707982831469130ed9dac39e870d40bd57ff0c680a2b', '3418b6251bd24e7ea3471d2cd28747ff');
INSERT INTO old_rdp.releases VALUES (4, '2026-11-24T15:52:17.198800+00:00', '{"label": "b", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.02, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.02}, "process": 25987, "tag": "", "part": "south", "account": "team/inner", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0002, "pure_epsilon": "inf", "renyi": [0.0035618873039996333]}', '87951901dc5609746022ac7825d93da41efadcb0e7b8e4e42b7da63424d5da69', '8d450250997647db8e536badb34f2d4f');
INSERT INTO old_rdp.releases VALUES (5, '2026-11-24T15:52:17.211936+00:00', '{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25987, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [0.008014246433999174]}', 'bd8c31dd4f51a0732d6a9bc1eb2879a284168f0dbbf1e8eb36e20ae63bf98ca1', 'a7b28d1f947a49aba10515dac4400a5c');
INSERT INTO old_rdp.terms VALUES (1, 1e-05, 'rdp', 'replace_one', 0, 0, '[17.809436519998165]', '818895920b8c4c8eb368c0f8d5ca553a', '7e47ceba49053bfc23565aab60083578a2b2818a753aef5f3bed57e373e68e73');
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
