PRAGMA application_id = 1936417904;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE accounts (name TEXT PRIMARY KEY, epsilon DOUBLE PRECISION,
    delta DOUBLE PRECISION);
INSERT INTO "accounts" VALUES('team',0.8,1.0e-05);
INSERT INTO "accounts" VALUES('team/inner',0.7,1.0e-05);
CREATE TABLE releases (id BIGINT PRIMARY KEY, time TEXT NOT NULL, content TEXT NOT NULL,
    hash TEXT NOT NULL);
INSERT INTO "releases" VALUES(1,'2026-11-24T15:51:59.299115+00:00','{"label": "\u00e9", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.01, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.01}, "process": 25960, "tag": "note", "part": "north", "account": "team", "slack": 0.0, "tv": 0.0, "zcdp_rho": 5e-05, "pure_epsilon": "inf", "renyi": []}','5244b740f232dea771be2eb00adf883d3a2801da66c7e09d898214e827fe3f22');
INSERT INTO "releases" VALUES(2,'2026-11-24T15:51:59.343117+00:00','{"label": "pure", "epsilon": 0.05, "delta": 0.0, "gdp_mu": 0.06266290554100337, "neighboring": "replace_one", "event": {"kind": "PureDPEvent", "version": 1, "epsilon": 0.05}, "process": 25960, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0012497396484210345, "pure_epsilon": 0.05, "renyi": []}','fb6245f8f8a61d68e569da7e39aa5ae6fdc1016f4734efa6702796a37be552c8');
INSERT INTO "releases" VALUES(3,'2026-11-24T15:51:59.359507+00:00','{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25960, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": []}','14d961a67d4150e76693acbcb502b3197a908ada191bee4d3653c0efe3911c15');
INSERT INTO "releases" VALUES(4,'2026-11-24T15:51:59.419538+00:00','{"label": "b", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.02, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.02}, "process": 25960, "tag": "", "part": "south", "account": "team/inner", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.0002, "pure_epsilon": "inf", "renyi": []}','e33397af5e0187fbdd8204a4a28432f9615a2e96b0310e444e85283fdbc9c3eb');
INSERT INTO "releases" VALUES(5,'2026-11-24T15:51:59.455049+00:00','{"label": "a", "epsilon": "inf", "delta": 0.0, "gdp_mu": 0.03, "neighboring": "replace_one", "event": {"kind": "GDPEvent", "version": 1, "mu": 0.03}, "process": 25960, "tag": "", "part": null, "account": "", "slack": 0.0, "tv": 0.0, "zcdp_rho": 0.00045, "pure_epsilon": "inf", "renyi": []}','d4d896716e2a82eaf6ac9b1dd6e498f4f50a7e2c66c7e608a5ea5c8af5658907');
CREATE TABLE terms (epsilon DOUBLE PRECISION, delta DOUBLE PRECISION, composition TEXT,
    neighboring TEXT, slack DOUBLE PRECISION, tv DOUBLE PRECISION, orders TEXT, identity TEXT,
    checksum TEXT);
INSERT INTO "terms" VALUES(1.0,1.0e-05,'gdp','replace_one',5.00000000000000083266e-07,0.0,'[]','c5fc4ae82996443dadab22baaae7acda','61f8ca4db4f8b73c77a765e1ab4332732aa81437b86ecbf5e0cca4bedcab8857');
CREATE TABLE totals (account TEXT, scope TEXT, amounts TEXT NOT NULL,
    PRIMARY KEY (account, scope));
INSERT INTO "totals" VALUES('','part north','33230699894622898206100982035225/332306998946228968225951765070086144 0 0 inf 0');
INSERT INTO "totals" VALUES('','largest part','33230699894622898206100982035225/83076749736557242056487941267521536 0 0 inf 0');
INSERT INTO "totals" VALUES('team','part north','33230699894622898206100982035225/332306998946228968225951765070086144 0 0 inf 0');
INSERT INTO "totals" VALUES('team','largest part','33230699894622898206100982035225/83076749736557242056487941267521536 0 0 inf 0');
INSERT INTO "totals" VALUES('','every part','7433603371101238594107936091451/1298074214633706907132624082305024 0 0 inf 0');
INSERT INTO "totals" VALUES('','part south','33230699894622898206100982035225/83076749736557242056487941267521536 0 0 inf 0');
INSERT INTO "totals" VALUES('team','part south','33230699894622898206100982035225/83076749736557242056487941267521536 0 0 inf 0');
INSERT INTO "totals" VALUES('team/inner','part south','33230699894622898206100982035225/83076749736557242056487941267521536 0 0 inf 0');
INSERT INTO "totals" VALUES('team/inner','largest part','33230699894622898206100982035225/83076749736557242056487941267521536 0 0 inf 0');
COMMIT;
