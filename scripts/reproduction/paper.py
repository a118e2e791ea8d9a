"""What the paper reports: its sets, and its Tables 1 and 2."""

from typing import NamedTuple


class PaperSet(NamedTuple):
    title: str
    n: int
    d: int
    m: int


SETS = {
    "silhouettes16": PaperSet("Caltech101 Silhouettes", 6339, 256, 102),
    # The paper's n is the training and validation parts of the file; this is the whole of it, for Table 1, if it is there.
    "silhouettes16_all": PaperSet("Caltech101 Silhouettes, whole file", 6339, 256, 102),
    "cub200": PaperSet("CUB200", 6033, 4096, 200),
    "flower102": PaperSet("Flower102", 2040, 4096, 102),
    "indoor67": PaperSet("Indoor67", 15607, 4096, 67),
    "news20": PaperSet("News20", 15935, 1024, 20),
}


PLACES = (1, 3, 5, 10)

FIGURE_SETS = [name for name in SETS if name != "silhouettes16_all"]

# set: method: (mean, standard deviation) at top-1, 3, 5, 10
TABLE_1 = {
    "silhouettes16": {
        "PG": ((0.469, 0.008), (0.307, 0.005), (0.257, 0.005), (0.183, 0.006)),
        "StdFW": ((0.481, 0.022), (0.317, 0.032), (0.266, 0.032), (0.192, 0.035)),
        "LSFW": ((0.467, 0.048), (0.300, 0.010), (0.244, 0.005), (0.169, 0.005)),
    },
    "cub200": {
        "PG": ((0.431, 0.008), (0.247, 0.007), (0.184, 0.004), (0.114, 0.003)),
        "StdFW": ((0.443, 0.022), (0.257, 0.026), (0.196, 0.026), (0.126, 0.026)),
        "LSFW": ((0.415, 0.006), (0.231, 0.007), (0.166, 0.006), (0.098, 0.004)),
    },
    "flower102": {
        "PG": ((0.219, 0.009), (0.107, 0.010), (0.075, 0.008), (0.041, 0.004)),
        "StdFW": ((0.220, 0.014), (0.108, 0.013), (0.076, 0.011), (0.041, 0.009)),
        "LSFW": ((0.211, 0.010), (0.104, 0.011), (0.071, 0.010), (0.037, 0.004)),
    },
    "indoor67": {
        "PG": ((0.319, 0.005), (0.139, 0.003), (0.092, 0.003), (0.051, 0.002)),
        "StdFW": ((0.323, 0.016), (0.141, 0.009), (0.098, 0.007), (0.058, 0.008)),
        "LSFW": ((0.303, 0.004), (0.119, 0.004), (0.071, 0.003), (0.033, 0.002)),
    },
    "news20": {
        "PG": ((0.348, 0.003), (0.142, 0.003), (0.083, 0.003), (0.031, 0.002)),
        "StdFW": ((0.348, 0.003), (0.143, 0.004), (0.084, 0.005), (0.052, 0.027)),
        "LSFW": ((0.339, 0.004), (0.136, 0.002), (0.080, 0.005), (0.028, 0.002)),
    },
}
TABLE_1["silhouettes16_all"] = TABLE_1["silhouettes16"]

# set: method: at which places the paper's test does not tell it from the best, which is always LSFW
NOT_TOLD_APART = {
    "silhouettes16": {"PG": (1,), "StdFW": (1,)},
    "flower102": {"StdFW": (1, 3, 5, 10)},
}
NOT_TOLD_APART["silhouettes16_all"] = NOT_TOLD_APART["silhouettes16"]

# set: seconds per iteration of PG, StdFW, LSFW
TABLE_2 = {
    "silhouettes16": (0.453, 0.589, 0.814),
    "cub200": (2.570, 2.458, 3.324),
    "flower102": (0.661, 0.649, 0.903),
    "indoor67": (3.040, 2.855, 3.919),
    "news20": (0.548, 0.436, 0.531),
}
