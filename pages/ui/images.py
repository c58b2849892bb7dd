"""Pictures of factors and samples for pages: the library's, which exports draw as well."""

from semf_core.drawing.overview import coefficients
from semf_core.drawing.pictures import WIDEST_MAP, Picture, basis, columns_of, heat_map, samples

__all__ = ["WIDEST_MAP", "Picture", "basis", "coefficients", "columns_of", "heat_map", "samples"]
