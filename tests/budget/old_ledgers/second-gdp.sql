PRAGMA application_id = 1936417904;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE accounts (name TEXT PRIMARY KEY, epsilon DOUBLE PRECISION,
    delta DOUBLE PRECISION);
INSERT INTO "accounts" VALUES('team',0.8,1.0e-05);
INSERT INTO "accounts" VALUES('team/inner',0.7,1.0e-05);
CREATE TABLE releases (id BIGINT PRIMARY KEY, time TEXT NOT NULL, content TEXT NOT NULL,
    hash TEXT NOT NULL);
INSERT INTO "releases" VALUES(1,'2026-11-24T15:52:04.907517+00:00','{"label": "\u00e9", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.01, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.01}, "process": 25963, "tag": "note", "part": "north", "account": "team", "slack": 0.0, "tv": 0.0, "zcdp_rho": 5e-05, "pure_epsilon": "inf", "renyi": [], "theorem": "test", "version": "0.1.0"}','016bb2e88db5f305b4146991f4e1f07526ec8809cf72ba83b6c381570da6109b');
INSERT INTO "releases" VALUES(2,'2026-11-24T15:52:04.946307+00:00','{"label": "pure", "epsilon": 0.05, "delta": 0.0, "gdp_mu": 0.06266290554100377, "neighboring": "replace_one", "event": {"kind": "PureDPEvent", "version": 1, "epsilon": 0.05}, "process": 25963, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0012497396484210345, "pure_epsilon": 0.05, "renyi": [], "theorem": "test", "version": "0.1.0"}','212cad9518fc93ad58310c2d51647bcfae3f503df182cc1f50fa0f936acac2cb');
INSERT INTO "releases" VALUES(3,'2026-11-24T15:52:04.979067+00:00','{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25963, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [], "theorem": "test", "version": "0.1.0"}','eec06f75196c3626ddda912ed39970146a91505863a0554656e1fec2bbd02bd1');
INSERT INTO "releases" VALUES(4,'2026-11-24T15:52:05.063196+00:00','{"label": "b", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.02, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.02}, "process": 25963, "tag": "", "part": "south", "account": "team/inner", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0002, "pure_epsilon": "inf", "renyi": [], "theorem": "test", "version": "0.1.0"}','d7512db4a6a2e5f14218dc0b1f6f5603969314403aa75a9fceea45843eff2f3c');
INSERT INTO "releases" VALUES(5,'2026-11-24T15:52:05.115180+00:00','{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25963, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": [], "theorem": "test", "version": "0.1.0"}','2fa0b5360e2ba80ccd17f6a4eeb738d23c85e20fd5f6de496a87c63d29ee46c8');
CREATE TABLE terms (epsilon DOUBLE PRECISION, delta DOUBLE PRECISION, composition TEXT,
    neighboring TEXT, slack DOUBLE PRECISION, tv DOUBLE PRECISION, orders TEXT, identity TEXT,
    checksum TEXT);
INSERT INTO "terms" VALUES(1.0,1.0e-05,'gdp','replace_one',5.00000000000000083266e-07,0.0,'[]','eb713e511d0241cdb970f75ffe7c3530','6f80e13791cbbaffeb7f3a39e6c18a4a73948e07df9977c72ffddc6ebb57d39f');
CREATE TABLE totals (account TEXT, scope TEXT, amounts TEXT NOT NULL,
    PRIMARY KEY (account, scope));
INSERT INTO "totals" VALUES('','part north','10000000000000000416333634234433706992204250405338286563450370816086466710728708484623439289862290024757385253906250e-119 0e-1 0e-1 Infinity 0e-1');
INSERT INTO "totals" VALUES('','largest part','400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250e-117 0e-1 0e-1 Infinity 0e-1');
INSERT INTO "totals" VALUES('team','part north','10000000000000000416333634234433706992204250405338286563450370816086466710728708484623439289862290024757385253906250e-119 0e-1 0e-1 Infinity 0e-1');
INSERT INTO "totals" VALUES('team','largest part','400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250e-117 0e-1 0e-1 Infinity 0e-1');
INSERT INTO "totals" VALUES('','every part','572663973084076140073302514601102112005662907770188555818295263454562396554514691615622723475098609924316406250e-113 0e-1 0e-1 Infinity 0e-1');
INSERT INTO "totals" VALUES('','part south','400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250e-117 0e-1 0e-1 Infinity 0e-1');
INSERT INTO "totals" VALUES('team','part south','400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250e-117 0e-1 0e-1 Infinity 0e-1');
INSERT INTO "totals" VALUES('team/inner','part south','400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250e-117 0e-1 0e-1 Infinity 0e-1');
INSERT INTO "totals" VALUES('team/inner','largest part','400000000000000016653345369377348279688170016213531462538014832643458668429148339384937571594491600990295410156250e-117 0e-1 0e-1 Infinity 0e-1');
COMMIT;
