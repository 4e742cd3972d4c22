PRAGMA application_id = 1936417904;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE accounts (name TEXT PRIMARY KEY, epsilon DOUBLE PRECISION,
    delta DOUBLE PRECISION);
INSERT INTO "accounts" VALUES('team',0.8,1.0e-05);
INSERT INTO "accounts" VALUES('team/inner',0.7,1.0e-05);
CREATE TABLE releases (id BIGINT PRIMARY KEY, time TEXT NOT NULL, content TEXT NOT NULL,
    hash TEXT NOT NULL);
INSERT INTO "releases" VALUES(1,'2026-11-24T15:52:05.291200+00:00','{"label": "\u00e9", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.01, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.01}, "process": 25963, "tag": "note", "part": "north", "account": "team", "slack": 0.0, "tv": 0.0, "zcdp_rho": 5e-05, "pure_epsilon": "inf", "renyi": [0.0008904718259999083], "theorem": "test", "version": "0.1.0"}','8ebdba2e160334a323f920614529639e125efda696ec647e8f27f41f715a8e5a');
INSERT INTO "releases" VALUES(2,'2026-11-24T15:52:05.319121+00:00','{"label": "pure", "epsilon": 0.05, "delta": 0.0, "gdp_mu": 0.06266290554100377, "neighboring": "replace_one", "event": {"kind": "PureDPEvent", "version": 1, "epsilon": 0.05}, "process": 25963, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0012497396484210345, "pure_epsilon": 0.05, "renyi": [0.019934075189464513], "theorem": "test", "version": "0.1.0"}','a528d5a64dd25b480ecd5608700679b59f6ee45039e29c82622c4d3bfaf9f7e0');
INSERT INTO "releases" VALUES(3,'2026-11-24T15:52:05.355147+00:00','{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25963, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [0.008014246433999174], "theorem": "test", "version": "0.1.0"}','5f69871b660d0e8d268de62cc7bfb0a12f4258a5cdd96eb648dd5c8715c5767e');
INSERT INTO "releases" VALUES(4,'2026-11-24T15:52:05.415145+00:00','{"label": "b", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.02, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.02}, "process": 25963, "tag": "", "part": "south", "account": "team/inner", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0002, "pure_epsilon": "inf", "renyi": [0.0035618873039996333], "theorem": "test", "version": "0.1.0"}','d7af55d09c05cb2372959402ec18f6579d49a23bfc1b6ddf18f19b297baacbf0');
INSERT INTO "releases" VALUES(5,'2026-11-24T15:52:05.451235+00:00','{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25963, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [0.008014246433999174], "theorem": "test", "version": "0.1.0"}','b92145fcf852d3171f30b7d0078ff8e8a558db4ae184dcec891d0f58d9043168');
CREATE TABLE terms (epsilon DOUBLE PRECISION, delta DOUBLE PRECISION, composition TEXT,
    neighboring TEXT, slack DOUBLE PRECISION, tv DOUBLE PRECISION, orders TEXT, identity TEXT,
    checksum TEXT);
INSERT INTO "terms" VALUES(1.0,1.0e-05,'rdp','replace_one',0.0,0.0,'[17.809436519998165]','8138a01cd0654c699a4204ce46fce80f','1208d92de83d4484813fea1332c59bd934bca49f7286449d26ad120303f47d70');
CREATE TABLE totals (account TEXT, scope TEXT, amounts TEXT NOT NULL,
    PRIMARY KEY (account, scope));
INSERT INTO "totals" VALUES('','part north','890471825999908329560272868263837153790518641471862792968750e-63 Infinity 0e-1');
INSERT INTO "totals" VALUES('','largest part','35618873039996333182410914730553486151620745658874511718750e-61 Infinity 0e-1');
INSERT INTO "totals" VALUES('team','part north','890471825999908329560272868263837153790518641471862792968750e-63 Infinity 0e-1');
INSERT INTO "totals" VALUES('team','largest part','35618873039996333182410914730553486151620745658874511718750e-61 Infinity 0e-1');
INSERT INTO "totals" VALUES('','every part','359625680574628611707588277113245567306876182556152343750e-58 Infinity 0e-1');
INSERT INTO "totals" VALUES('','part south','35618873039996333182410914730553486151620745658874511718750e-61 Infinity 0e-1');
INSERT INTO "totals" VALUES('team','part south','35618873039996333182410914730553486151620745658874511718750e-61 Infinity 0e-1');
INSERT INTO "totals" VALUES('team/inner','part south','35618873039996333182410914730553486151620745658874511718750e-61 Infinity 0e-1');
INSERT INTO "totals" VALUES('team/inner','largest part','35618873039996333182410914730553486151620745658874511718750e-61 Infinity 0e-1');
COMMIT;
