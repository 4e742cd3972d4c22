"""Tables of records with numbers and categories, of which bounds and categories are public.

Bounds are knowledge about the quantity or are stated in the documentation of the table; where
neither is to be had, a round number that a reader would have named without seeing the data.
"""

from pathlib import Path

import numpy as np
import pandas as pd

ADULT_COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
]
ADULT_BOUNDS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4500),
    "hours-per-week": (1, 99),
}
ADULT_CATEGORIES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov "
    "Without-pay Never-worked",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th "
    "12th Masters 1st-4th 10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed "
    "Married-spouse-absent Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
    "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
    "Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany "
    "Outlying-US(Guam-USVI-etc) India Japan Greece South China Cuba Iran Honduras Philippines "
    "Italy Poland Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos Ecuador "
    "Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador "
    "Trinadad&Tobago Peru Hong Holand-Netherlands",
}
BANK_BOUNDS = {
    "age": (17, 100),
    "balance": (-5000, 50_000),
    "day": (1, 31),
    "campaign": (1, 20),
    "pdays": (-1, 999),
    "previous": (0, 20),
}
BANK_CATEGORIES = {
    "job": "admin. blue-collar entrepreneur housemaid management retired self-employed services "
    "student technician unemployed unknown",
    "marital": "married divorced single",
    "education": "unknown secondary primary tertiary",
    "default": "yes no",
    "housing": "yes no",
    "loan": "yes no",
    "contact": "unknown telephone cellular",
    "month": "jan feb mar apr may jun jul aug sep oct nov dec",
    "poutcome": "unknown other failure success",
}
BAND_BOUNDS = dict(
    zip(
        range(20, 39),
        [
            *((0, 100), (0, 100), (0, 1), (5, 30), (5, 120), (0, 2), (10, 75), (0, 100)),
            *((0, 4000), (0, 100), (0, 100), (0, 16), (0, 10), (0, 4), (0, 3), (15, 120)),
            *((20, 50), (70, 130), (80, 120)),
        ],
        strict=True,
    )
)
BAND_CATEGORIES = {
    4: "yes no",
    5: "key type",
    6: "yes no",
    7: "benton daetwyler uddeholm",
    8: "gallatin warsaw mattoon",
    9: "uncoated coated super",
    10: "uncoated coated cover",
    11: "yes no",
    12: "xylol lactol naptha line other",
    13: "yes no",
    14: "woodhoe70 motter70 albert70 motter94",
    15: "821 802 813 824 815 816 827 828",
    16: "1 2 3 4 5 6 7 8 9 10",
    17: "catalog spiegel tabloid",
    18: "northus southus canadian scandanavian mideuropean",
    19: "1910 1911 other",
}


def tables(folder):
    """Yield (name, X, y, bounds, categories) of the tables that lie in `folder`."""
    folder = Path(folder)
    adult = pd.read_csv(
        folder / "adult.data.csv.gz", names=ADULT_COLUMNS, skipinitialspace=True, dtype=str
    )
    yield "adult", *_table(adult, adult.income == ">50K", ADULT_BOUNDS, ADULT_CATEGORIES)
    bank = pd.read_csv(folder / "bank-full.csv.gz", sep=";", dtype=str)
    yield "bank", *_table(bank, bank.y == "yes", BANK_BOUNDS, BANK_CATEGORIES)
    bands = pd.read_csv(folder / "cylinder-bands.csv.gz", header=None, dtype=str)
    bands = bands.apply(lambda column: column.str.strip().str.lower())
    yield "bands", *_table(bands, bands[39] == "band", BAND_BOUNDS, BAND_CATEGORIES)


def made_up(n=300):
    """Yield one small table of the same form, made up: names and values of the bank's, no data."""
    rng = np.random.default_rng(0)
    bounds = {"age": BANK_BOUNDS["age"], "day": BANK_BOUNDS["day"]}
    categories = {name: BANK_CATEGORIES[name].split() for name in ("marital", "loan")}
    numbers = {name: rng.uniform(*pair, size=n) for name, pair in bounds.items()}
    texts = {name: rng.choice(values, size=n) for name, values in categories.items()}
    y = (numbers["age"] + 20.0 * rng.normal(size=n) > 55.0).astype(int)
    yield "made up", pd.DataFrame(numbers | texts), y, bounds, categories


def _table(frame, target, bounds, categories):
    """Return numbers as numbers, those that are missing in the middle of their bounds."""
    X = frame[[*bounds, *categories]].copy()
    for column, (low, high) in bounds.items():
        X[column] = pd.to_numeric(X[column], errors="coerce").fillna(0.5 * (low + high))
    X.columns = X.columns.astype(str)
    bounds, categories = ({str(k): v for k, v in d.items()} for d in (bounds, categories))
    categories = {column: values.split() for column, values in categories.items()}
    return X, target.to_numpy(int), bounds, categories
