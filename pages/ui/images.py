"""Pictures of factors and samples for pages: the library's, which exports draw as well."""

import re

from semf_core.drawing.overview import coefficients
from semf_core.drawing.pictures import WIDEST_MAP, Picture, Room, basis, columns_of, components, heat_map, samples

__all__ = ["WIDEST_MAP", "Picture", "Room", "basis", "coefficients", "columns_of", "components", "heat_map", "room", "samples"]
LARGEST_SCREEN = 4096


def room(text: str) -> Room:
    """What a view says of its place; whatever else it says means nothing."""
    found = re.fullmatch(r"(\d{2,4})x(\d{2,4})x(\d{1,6})", text, re.ASCII)
    if found is None:
        return None
    width, height = (min(int(side), LARGEST_SCREEN) for side in found.groups()[:2])
    return width, height, int(found[3])
