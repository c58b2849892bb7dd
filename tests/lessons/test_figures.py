"""The drawings of lessons are right: projections are nearest points, tangent steps are feasible and never worse."""

from __future__ import annotations

import numpy as np
import pytest

from pages.ui.figure_charts import drawn
from semf_core.lessons.figures import (
    ACROSS,
    CENTRE,
    FIRST,
    PLANE,
    STARTS,
    UP,
    VECTOR,
    in_plane,
    projected,
    sparseness_radius,
    tangent_steps,
)
from semf_core.mathematics import metrics
from semf_core.sets import combine


def nearest_distance(point, sets, reach=3.0, count=61):
    """To the nearest of many sampled members of the set, the projections of a grid that is refined once around the best."""
    centre, width = np.zeros(2), reach
    for _ in range(2):
        axis = np.linspace(-width, width, count)
        members = projected(centre + np.array([(x, y) for x in axis for y in axis]), sets)
        gaps = np.linalg.norm(members - point, axis=1)
        centre, width = members[gaps.argmin()], 4 * width / count
    return float(gaps.min())


@pytest.mark.parametrize("name", PLANE)
def test_no_sampled_member_is_nearer_than_an_exact_projection(name):
    sets, point = PLANE[name], np.array([0.6, 1.4])
    distance = float(np.linalg.norm(projected(point[None], sets)[0] - point))
    nearest = nearest_distance(point, sets)
    assert distance <= nearest + 1e-9 if combine(sets).exact else nearest <= distance + 1e-9


@pytest.mark.parametrize("s", [0.3, 0.45, 0.6, 0.8])
@pytest.mark.parametrize("start", STARTS)
def test_tangent_steps_are_sparse_enough_and_never_worse(s, start):
    found = tangent_steps(s, in_plane(np.array(STARTS[start])))
    assert found.steps, "the best fit is not sparse enough"
    following = np.array([step.following for step in found.steps])
    points = CENTRE + np.outer(following[:, 0], ACROSS) + np.outer(following[:, 1], UP)
    assert np.allclose(points.sum(axis=1), 1) and points.min() >= -1e-12
    assert metrics.hoyer_sparseness(points.T).min() >= s - 1e-9
    assert (np.diff([step.value for step in found.steps]) <= 1e-12).all()


def test_the_disc_reaches_the_sides_where_the_lesson_says():
    inner = np.linalg.norm(in_plane(np.array([0.5, 0.5, 0.0])))
    assert sparseness_radius(0.43) < inner < sparseness_radius(0.44)


def test_what_is_left_of_a_zero_is_said_to_be_one():
    """Projections in turn end near their limit, within 1e-10 of it."""
    for name in VECTOR:
        said = drawn("vector", (name, *FIRST)).words
        assert "e-" not in said and "-0," not in said, said
