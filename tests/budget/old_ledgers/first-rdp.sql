PRAGMA application_id = 1936417904;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE accounts (name TEXT PRIMARY KEY, epsilon REAL, delta REAL);
INSERT INTO "accounts" VALUES('team',0.8,1.0e-05);
INSERT INTO "accounts" VALUES('team/inner',0.7,1.0e-05);
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, time TEXT, label TEXT, epsilon REAL, delta REAL, gdp_mu REAL,
    neighboring TEXT, event TEXT, process INTEGER, tag TEXT, part TEXT, account TEXT, slack REAL,
    tv REAL, zcdp_rho REAL, pure_epsilon REAL, renyi TEXT);
INSERT INTO "releases" VALUES(1,'2026-11-24T15:51:54.611626+00:00','é',9e999,0.0,0.01,'replace_one','{"kind": "GDPEvent", "version": 1, "mu": 0.01}',25958,'note','north','team',0.0,0.0,5.0e-05,9e999,'[0.0008904718259999083]');
INSERT INTO "releases" VALUES(2,'2026-11-24T15:51:54.643974+00:00','pure',0.05,0.0,6.26629055410033719564e-02,'replace_one','{"kind": "PureDPEvent", "version": 1, "epsilon": 0.05}',25958,'',NULL,'',0.0,0.0,1.24973964842103445888e-03,0.05,'[0.019934075189464513]');
INSERT INTO "releases" VALUES(3,'2026-11-24T15:51:54.669317+00:00','a',9e999,0.0,0.03,'replace_one','{"kind": "GDPEvent", "version": 1, "mu": 0.03}',25958,'',NULL,'',0.0,0.0,0.00045,9e999,'[0.008014246433999174]');
INSERT INTO "releases" VALUES(4,'2026-11-24T15:51:54.739067+00:00','b',9e999,0.0,0.02,'replace_one','{"kind": "GDPEvent", "version": 1, "mu": 0.02}',25958,'','south','team/inner',0.0,0.0,0.0002,9e999,'[0.0035618873039996333]');
INSERT INTO "releases" VALUES(5,'2026-11-24T15:51:54.769440+00:00','a',9e999,0.0,0.03,'replace_one','{"kind": "GDPEvent", "version": 1, "mu": 0.03}',25958,'',NULL,'',0.0,0.0,0.00045,9e999,'[0.008014246433999174]');
CREATE TABLE terms (epsilon REAL, delta REAL, composition TEXT, neighboring TEXT, slack REAL,
    tv REAL, orders TEXT, identity TEXT, checksum TEXT);
INSERT INTO "terms" VALUES(1.0,1.0e-05,'rdp','replace_one',0.0,0.0,'[17.809436519998165]','e358539407154535b471fba5c653a663','3adb62121ae7754fbd5b214666352475bf67d8504983f7f825d2c8e27e147516');
CREATE TABLE totals (account TEXT, scope TEXT, amounts TEXT, PRIMARY KEY (account, scope))
    WITHOUT ROWID
;
INSERT INTO "totals" VALUES('','every part','5182752259292027/144115188075855872 inf 0');
INSERT INTO "totals" VALUES('','largest part','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('','part north','4106576469767283/4611686018427387904 inf 0');
INSERT INTO "totals" VALUES('','part south','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('team','largest part','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('team','part north','4106576469767283/4611686018427387904 inf 0');
INSERT INTO "totals" VALUES('team','part south','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('team/inner','largest part','4106576469767283/1152921504606846976 inf 0');
INSERT INTO "totals" VALUES('team/inner','part south','4106576469767283/1152921504606846976 inf 0');
COMMIT;
