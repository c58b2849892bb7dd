"""A small collection of titles as a term-document matrix, for latent semantic indexing."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from semf_core.common.parameters import param
from semf_core.datasets.axes import Axes, Axis
from semf_core.datasets.base import DATASETS, Dataset, DatasetSource

TITLES: dict[str, tuple[str, ...]] = {
    "garden": (
        "Pruning old apple trees in winter",
        "Garden soil and compost for roses",
        "Watering a dry garden in summer",
        "Roses that flower all summer",
        "Compost from kitchen peel and leaves",
        "Apple trees for a small garden",
        "Seeds to sow in spring soil",
        "Leaves and roots of healthy trees",
        "A spring calendar for the flower garden",
        "Sow herbs from seeds in spring",
        "Protecting roots and roses in winter",
        "Healthy soil grows healthy herbs",
    ),
    "sky": (
        "Watching the planets with a small telescope",
        "How stars are born in clouds of gas",
        "A telescope for the winter sky",
        "The moon and the planets in spring",
        "Light from distant stars and galaxies",
        "Galaxies through a large telescope",
        "Craters of the moon",
        "Gas planets and their moons",
        "Mapping the light of the night sky",
        "Stars of the summer night",
        "The orbit of the moon",
        "Distant galaxies in clouds of gas",
    ),
    "kitchen": (
        "Apple cake with butter and sugar",
        "Bread baked in a hot oven",
        "Soup from roots and herbs",
        "Butter cake for a winter evening",
        "Baking bread without sugar",
        "A hot soup for winter",
        "Herbs and salt in the summer kitchen",
        "Flour, butter and salt for good bread",
        "Oven baked apple with sugar",
        "Kitchen knives and how to use them",
        "Flour and water: baking simple bread",
        "Soup, salt and bread from one kitchen",
    ),
    "music": (
        "Playing the violin with a light bow",
        "Songs for an evening by the piano",
        "A night of piano music",
        "How the violin got its sound",
        "Rhythm and melody in simple songs",
        "Summer songs for choir and piano",
        "The sound of a large choir",
        "Violin and piano playing together",
        "Melody without words",
        "Learning rhythm by playing drums",
        "Choir music for a winter night",
        "Drums and the rhythm of old songs",
    ),
}
STOP_WORDS = frozenset(("a", "all", "an", "and", "are", "by", "for", "from", "got", "how", "in", "into")) | frozenset(
    ("its", "of", "old", "one", "that", "the", "their", "them", "to", "use", "with", "without")
)


def words(title: str) -> list[str]:
    """The words of a title that carry meaning, in lower case."""
    return [w for w in "".join(c if c.isalpha() else " " for c in title.lower()).split() if w not in STOP_WORDS]


@DATASETS.register
class Titles(DatasetSource):
    """Counts of terms (rows) in 48 short titles (columns) on four subjects; labels name the subject.

    Some words belong to two subjects (apple, herbs, night): a title is placed by the company its words keep.
    """

    name = "titles"
    title = "Titles of four shelves"
    summary = "A sparse term-document matrix: 48 short titles on gardens, the sky, cooking and music, written for this project."

    least: int = param("integer", 2, low=1, high=4, help="titles that a term must occur in to be counted")

    def load(self) -> Dataset:
        titles = [(subject, words(title)) for subject, shelf in TITLES.items() for title in shelf]
        holders: dict[str, set[int]] = {}
        for j, (_, found) in enumerate(titles):
            for word in found:
                holders.setdefault(word, set()).add(j)
        terms = [word for word, held in holders.items() if len(held) >= self.least]  # in order of appearance
        index = {word: i for i, word in enumerate(terms)}
        entries = [(index[word], j) for j, (_, found) in enumerate(titles) for word in found if word in index]
        rows, columns = zip(*entries, strict=True)
        counts = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(terms), len(titles)))
        names = Axis("title", names=tuple(title for shelf in TITLES.values() for title in shelf))
        return Dataset(
            counts.tocsc(),
            title=self.title,
            labels=np.array([subject for subject, _ in titles]),
            note="Written for this project.",
            axes=Axes(Axis("term", names=tuple(terms)), names),
        )
