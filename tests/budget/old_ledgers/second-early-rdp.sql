PRAGMA application_id = 1936417904;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE accounts (name TEXT PRIMARY KEY, epsilon DOUBLE PRECISION,
    delta DOUBLE PRECISION);
INSERT INTO "accounts" VALUES('team',0.8,1.0e-05);
INSERT INTO "accounts" VALUES('team/inner',0.7,1.0e-05);
CREATE TABLE releases (id BIGINT PRIMARY KEY, time TEXT NOT NULL, content TEXT NOT NULL,
    hash TEXT NOT NULL);
INSERT INTO "releases" VALUES(1,'2026-11-24T15:51:59.623682+00:00','{"label": "\u00e9", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.01, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.01}, "process": 25960, "tag": "note", "part": "north", "account": "team", "slack": 0.0, "tv": 0.0, "zcdp_rho": 5e-05, "pure_epsilon": "inf", "renyi": [0.0008904718259999083]}','059500a6285a76bf930d51ff99a01a100dc2f48d840797b55d867c7a9782e237');
INSERT INTO "releases" VALUES(2,'2026-11-24T15:51:59.656769+00:00','{"label": "pure", "epsilon": 0.05, "delta": 0.0, "gdp_mu": 0.06266290554100337, "neighboring": "replace_one", "event": {"kind": "PureDPEvent", "version": 1, "epsilon": 0.05}, "process": 25960, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0012497396484210345, "pure_epsilon": 0.05, "renyi": [0.019934075189464513]}','398e6ceb777a928a700d9c53862dafa897f049865f91627cc1edcb04b2a588bf');
INSERT INTO "releases" VALUES(3,'2026-11-24T15:51:59.691831+00:00','{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25960, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [0.008014246433999174]}','b80a1f928ae8273540f2d5e7294142954777717b9b8bb4a42a35a011c8aec1a7');
INSERT INTO "releases" VALUES(4,'2026-11-24T15:51:59.747189+00:00','{"label": "b", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.02, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.02}, "process": 25960, "tag": "", "part": "south", "account": "team/inner", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0002, "pure_epsilon": "inf", "renyi": [0.0035618873039996333]}','479f1f7e56e273e65c0501c87709b2954b7bdb26496bd8976225b1e0f97f6a98');
INSERT INTO "releases" VALUES(5,'2026-11-24T15:51:59.787161+00:00','{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25960, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [0.008014246433999174]}','7a9e1a21ac04e8e2c5a27cccc6e0d0e758799699af04eb256337d7903a69b115');
CREATE TABLE terms (epsilon DOUBLE PRECISION, delta DOUBLE PRECISION, composition TEXT,
    neighboring TEXT, slack DOUBLE PRECISION, tv DOUBLE PRECISION, orders TEXT, identity TEXT,
    checksum TEXT);
INSERT INTO "terms" VALUES(1.0,1.0e-05,'rdp','replace_one',0.0,0.0,'[17.809436519998165]','b522f884b3eb4e04bdc4ae0a8f20cad4','0ad97e396e88de2a20a0a872d7648bb63ea3f7019202f39b36c36332c8305ec0');
CREATE TABLE totals (account TEXT, scope TEXT, amounts TEXT NOT NULL,
    PRIMARY KEY (account, scope));
INSERT INTO "totals" VALUES('','part north','4106576469767283/4611686018427387904 inf 0');
INSERT INTO "totals" VALUES('','largest part','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('team','part north','4106576469767283/4611686018427387904 inf 0');
INSERT INTO "totals" VALUES('team','largest part','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('','every part','5182752259292027/144115188075855872 inf 0');
INSERT INTO "totals" VALUES('','part south','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('team','part south','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('team/inner','part south','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('team/inner','largest part','4106576469767283/1152921504606846976 inf 0');
COMMIT;
